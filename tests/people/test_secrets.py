"""A secret goes from a person's keyboard into the pane that waits for it, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from shutil import which

import pytest

from tests.rigs.asking import (
    READER,
    Asking,
    refusal_of,
    reply_of,
    see_popup,
    start_asking,
    start_reader,
    wait_for_prompt,
)
from tests.rigs.engine import wait_until

# Programs that ask for a secret, and print its length.
READERS = {
    "bash": """bash -c 'read -rsp "Password: " x; echo; echo got ${#x}'""",
    "zsh": """zsh -c 'read -rs "x?Password: "; echo; echo got ${#x}'""",
    "fish": """fish -c 'read -sP "Password: " x; echo got (string length -- $x)'""",
    "getpass": """python3 -c 'import getpass; print("got", len(getpass.getpass()))'""",
    "openssl": "openssl passwd -6 -salt x >/dev/null && echo got 7",
    "whiptail": "whiptail --passwordbox Password: 8 40 2>/dev/null && echo got 7",
}


@pytest.mark.parametrize("program", READERS)
async def test_a_command_that_waits_for_a_password_gets_it(asking: Asking, program: str) -> None:
    if which(program) is None and program != "getpass":
        pytest.skip(f"{program} is not installed")
    answer = await asking.wire.call("execute-command", command=READERS[program])
    assert answer["status"] == "running"
    pane = answer["paneId"]
    session = asking.place.tmux("display-message", "-p", "-t", pane, "#{session_name}")
    async with asking.person("attach", "-t", session) as person:
        pending = await asking.ask(question="The password?", paneId="main", secret=True)
        await see_popup(person)
        person.press("hunter2\r")
        assert await reply_of(pending) == {"answered": True, "how": "popup", "answer": None}
    wait = {"commandId": answer["commandId"], "waitMs": 20_000}
    result = await asking.wire.call("get-command-result", **wait)
    assert (result["status"], "got 7" in result["output"]) == ("completed", True)
    assert "hunter2" not in result["output"]


async def test_a_pane_that_would_show_or_run_the_secret_is_refused(asking: Asking) -> None:
    shell = (await asking.wire.call("create-session", name="shell"))["paneId"]
    for pane, words in ((shell, "would run the secret"), ("dev:", "shows what is typed")):
        text = await refusal_of(await asking.ask(question="x?", paneId=pane, secret=True))
        assert words in text
    asking.place.tmux("split-window", "-d", "-t", "dev", READER)
    pane = asking.place.tmux("list-panes", "-t", "dev", "-F", "#{pane_id}").splitlines()[-1]
    await wait_for_prompt(asking.place, pane)
    asking.place.tmux("set-option", "-w", "-t", "dev", "synchronize-panes", "on")
    text = await refusal_of(await asking.ask(question="x?", paneId=pane, secret=True))
    assert "synchronized" in text


async def test_a_secret_is_not_typed_where_the_program_no_longer_waits(asking: Asking) -> None:
    pane = await start_reader(asking)
    async with asking.person("attach", "-t", "work") as person:
        pending = await asking.ask(question="x?", paneId=pane, secret=True)
        await see_popup(person)
        asking.place.tmux("send-keys", "-t", pane, "by hand", "Enter")
        await wait_until(lambda: "got 7" in asking.place.tmux("capture-pane", "-p", "-t", pane))
        person.press("hunter2\r")
        reply = await reply_of(pending)
        assert reply["answered"] is False
        assert "nothing was typed" in reply["how"]
        assert "hunter2" not in asking.place.tmux("capture-pane", "-p", "-t", pane)


async def test_tools_do_not_type_into_the_pane_while_a_person_is_asked_for_its_secret(asking: Asking) -> None:
    pane = await start_reader(asking)
    async with asking.person("attach", "-t", "work") as person:
        pending = await asking.ask(question="x?", paneId=pane, secret=True)
        await see_popup(person)
        for tool, arguments in (
            ("send-keys", {"keys": "guess", "enter": True}),
            ("paste-text", {"content": "guess"}),
            ("send-enter", {}),
            ("execute-command", {"command": "true"}),
        ):
            text = await refusal_of(await asking.wire.start_call(tool, paneId=pane, **arguments))
            assert "A person is asked for a secret" in text, tool
        await asking.wire.call("send-keys", paneId="dev:", keys="elsewhere")
        person.press("hunter22\r")
        assert (await reply_of(pending))["answered"] is True
        await wait_until(lambda: "got 8" in asking.place.tmux("capture-pane", "-p", "-t", pane))


async def test_typing_that_began_before_stops_when_a_person_is_asked_for_a_secret(asking: Asking) -> None:
    """One call types slowly, and the other one waits for it."""
    pane = await start_reader(asking)
    async with asking.person("attach", "-t", "work") as person:
        slow = await asking.wire.start_call("send-keys", paneId=pane, keys="x" * 10, delayMs=2000)
        waiting = await asking.wire.start_call("send-keys", paneId=pane, keys="guess")
        pending = await asking.ask(question="x?", paneId=pane, secret=True)
        await see_popup(person)
        assert "A person is asked for a secret" in await refusal_of(slow)
        assert "Nothing was typed." in await refusal_of(waiting)
        assert not pending.done()
        person.press("\x1b")
        assert (await reply_of(pending))["answered"] is False


async def test_panes_that_are_synchronized_while_a_person_is_asked_get_no_secret(asking: Asking) -> None:
    pane = await start_reader(asking)
    other = asking.place.tmux("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", pane, "exec cat")
    async with asking.person("attach", "-t", "work") as person:
        pending = await asking.ask(question="x?", paneId=pane, secret=True)
        await see_popup(person)
        asking.place.tmux("set-option", "-w", "-t", pane, "synchronize-panes", "on")
        typed = await refusal_of(await asking.wire.start_call("send-keys", paneId=other, keys="guess"))
        assert "A person is asked for a secret" in typed
        person.press("hunter2\r")
        reply = await reply_of(pending)
    assert (reply["answered"], "nothing was typed" in reply["how"]) == (False, True)
    shown = asking.place.tmux("capture-pane", "-p", "-t", other)
    assert "hunter2" not in shown
    assert "guess" not in shown
    assert "got" not in asking.place.tmux("capture-pane", "-p", "-t", pane)


async def test_policy_that_forbids_typing_forbids_secrets(tmp_path: Path) -> None:
    config = tmp_path / "muxpilot.toml"
    config.write_text("[security]\nallow_send_keys = false\n")
    async with start_asking("--config", str(config)) as asking:
        text = await refusal_of(await asking.ask(question="x?", paneId="dev:", secret=True))
        assert "security.allow_send_keys" in text
        assert (await reply_of(await asking.ask(question="x?")))["answered"] is False
