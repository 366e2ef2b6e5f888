"""A secret goes from a person's keyboard into the pane that waits for it, and nowhere else."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from shutil import which
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from muxpilot.people.other_processes import list_open_questions
from tests.rigs.asking import READER, Asking, refusal_of, reply_of, see_popup, start_asking, use_home
from tests.rigs.engine import wait_until
from tests.rigs.page_answers import AskingPage
from tests.rigs.traces import find_in_processes, find_traces
from tests.rigs.view_page import run_view
from tests.rigs.waiting import is_running
from tests.rigs.wire import LIMIT_S, Place, environment, private_place


async def wait_for_prompt(asking: Asking, pane: str) -> None:
    await wait_until(lambda: "Password:" in asking.place.tmux("capture-pane", "-p", "-t", pane))


async def start_reader(asking: Asking, program: str = READER) -> str:
    """Start a program that asks for a secret in a pane of muxpilot, which has a journal."""
    made = await asking.wire.call("create-session", name="work", command=program)
    pane = str(made["paneId"])
    await wait_for_prompt(asking, pane)
    return pane


def read_message_log(place: Place) -> str:
    """Return the last commands that tmux remembers, with their arguments. A client must be attached."""
    client = place.tmux("list-clients", "-F", "#{client_name}").splitlines()[0]
    log = place.tmux("show-messages", "-t", client)
    assert "show-messages" in log, "it remembers commands"
    return log


@contextmanager
def no_process_gets(secret: str) -> Iterator[None]:
    """Look at the arguments and environments of all processes again and again: some run for a moment only."""
    stopped, found = threading.Event(), list[str]()

    def look() -> None:
        while not stopped.is_set():
            found.extend(find_in_processes(secret.encode()))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        stopped.set()
        looking.join()
    assert found == []


@asynccontextmanager
async def open_answer_page(place: Place, wire: Any) -> AsyncIterator[AskingPage]:
    """Run the view page for a place, and give its code in a browser."""
    codes: list[str] = []
    async with (
        run_view(place.socket, codes=codes) as address,
        httpx2.AsyncClient(verify=False, timeout=LIMIT_S) as client,
    ):
        page = AskingPage(place, wire, address, codes, client)
        await page.unlock()
        yield page


@pytest.mark.parametrize("way", ["popup", "view"])
async def test_a_secret_reaches_the_pane_and_leaves_no_trace(way: str, tmp_path: Path) -> None:
    core = secrets.token_hex(12)  # looked for alone: a file may have the rest in another encoding
    secret = f"s3cret-{core} é#(x);"
    audit, captures = tmp_path / "audit.log", tmp_path / "captures"
    flags = ("--audit", str(audit), "--audit-full", str(captures), "--log-level", "debug")
    async with start_asking(*flags) as asking:
        pane = await start_reader(asking)
        cast = asking.place.home / "pane.cast"
        await asking.wire.call("record-pane", paneId=pane, action="start", path=str(cast))
        async with asking.person("attach", "-t", "work") as person:
            pending = await asking.ask(question="The password?", paneId=pane, secret=True)
            await see_popup(person)
            with no_process_gets(core):
                if way == "popup":
                    person.press(f"{secret}\r")
                else:
                    async with open_answer_page(asking.place, asking.wire) as page:
                        question = await page.wait_for_question()
                        answer = await page.post("answer", {"id": question["id"], "answer": secret})
                    assert answer.json() == {"problem": ""}
                assert await reply_of(pending) == {"answered": True, "how": way, "answer": None}
                expected = f"got {len(secret.encode())}"  # dash counts bytes
                await wait_until(lambda: expected in asking.place.tmux("capture-pane", "-p", "-t", pane))
            shown = bytes(person.seen)
            assert core not in read_message_log(asking.place)
        told = [
            await asking.wire.call("read-pane", paneId=pane, maxLines=1000),
            await asking.wire.call("capture-pane", paneId=pane, lines=1000),
            await asking.wire.call("list-commands"),
            await asking.wire.call("list-buffers"),
        ]
        await asking.wire.call("record-pane", paneId=pane, action="stop")
        assert core not in repr(told)
        assert core.encode() not in shown
        assert "The password?" in audit.read_text()
        folders = (asking.place.home, asking.place.passing, tmp_path, Path(f"/tmp/muxpilot-{os.getuid()}"))
        assert find_traces(core, *folders) == []
        environment = asking.place.tmux("show-environment", "-g") + asking.place.tmux("show-options", "-g")
        assert core not in environment
        await asking.wire.close_stdin()
        log = await asking.wire.stderr()
        assert "question phase changed" in log
        assert core not in log
        assert find_traces(core, *folders) == []


async def test_a_secret_by_a_link_of_the_client_leaves_no_trace(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The SDK's client is asked in URL mode, and the person answers on the page that it links to."""
    core, links = secrets.token_hex(12), list[str]()
    secret = f"s3cret-{core} é#(x);"
    audit, captures, log_file = tmp_path / "audit.log", tmp_path / "captures", tmp_path / "log"

    async def open_link(context: Any, params: Any) -> types.ElicitResult:
        links.append(params.url)
        return types.ElicitResult(action="accept")

    with private_place() as place, use_home(place), log_file.open("w") as log:
        place.tmux("new-session", "-d", "-s", "dev", "exec cat")
        flags = ("--audit", str(audit), "--audit-full", str(captures), "--log-level", "debug")
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "muxpilot", "--scope", "all", "--socket", place.socket, *flags],
            env=environment(place.home),
            cwd=place.home,
        )
        async with (
            stdio_client(parameters, errlog=log) as (reader, writer),
            ClientSession(reader, writer, elicitation_callback=open_link) as client,
            open_answer_page(place, None) as page,
        ):
            await client.initialize()

            async def call(tool: str, **arguments: Any) -> Any:
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, result.content
                return result

            made = await call("create-session", name="work", command=READER)
            pane = made.structured_content["paneId"]
            await wait_until(lambda: "Password:" in place.tmux("capture-pane", "-p", "-t", pane))
            cast = str(place.home / "pane.cast")
            await call("record-pane", paneId=pane, action="start", path=cast)
            with no_process_gets(core):
                pending = asyncio.create_task(call("ask-person", question="It?", paneId=pane, secret=True))
                question = await page.wait_for_question()
                await wait_until(lambda: bool(links))
                given = await page.post("answer", {"id": question["id"], "answer": secret})
                assert given.json() == {"problem": ""}
                told = [await pending]
                expected = f"got {len(secret.encode())}"
                await wait_until(lambda: expected in place.tmux("capture-pane", "-p", "-t", pane))
            told += [
                await call("read-pane", paneId=pane, maxLines=1000),
                await call("capture-pane", paneId=pane, lines=1000),
                await call("record-pane", paneId=pane, action="stop"),
            ]
            assert links == [page.ask]
        assert told[0].structured_content == {"answered": True, "how": "view", "answer": None}
        assert core not in repr(told)
        line = next(line for line in audit.read_text().splitlines() if '"ask-person"' in line)
        assert '"asked": ["MCP client mcp"], "by": "browser 1 of the view page at 127.0.0.1:' in line
        assert "question phase changed" in log_file.read_text()
        folders = (place.home, place.passing, tmp_path, Path(f"/tmp/muxpilot-{os.getuid()}"))
        assert find_traces(core, *folders) == []
    assert core not in "".join(capfd.readouterr())


TYPING: dict[str, Callable[[str], dict[str, Any]]] = {
    "send-keys": lambda secret: {"keys": secret, "enter": True},
    "paste-text": lambda secret: {"content": secret, "enter": True},
    "run-in-repl": lambda secret: {"input": secret},
    "send-hex": lambda secret: {"hex": f"{secret.encode().hex(' ')} 0d"},
}


@pytest.mark.parametrize("tool", TYPING)
async def test_what_an_agent_types_where_a_password_is_asked_for_leaves_no_trace(
    tool: str, tmp_path: Path
) -> None:
    core = secrets.token_hex(12)
    audit, captures = tmp_path / "audit.log", tmp_path / "captures"
    flags = ("--audit", str(audit), "--audit-full", str(captures), "--log-level", "debug")
    async with start_asking(*flags) as asking:
        pane = await start_reader(asking)
        cast = asking.place.home / "pane.cast"
        await asking.wire.call("record-pane", paneId=pane, action="start", path=str(cast))
        with no_process_gets(core):
            await asking.wire.call(tool, paneId=pane, **TYPING[tool](core))
            await wait_until(lambda: "got 24" in asking.place.tmux("capture-pane", "-p", "-t", pane))
        told = [
            await asking.wire.call("read-pane", paneId=pane, maxLines=1000),
            await asking.wire.call("list-commands"),
            await asking.wire.call("list-buffers"),
        ]
        await asking.wire.call("record-pane", paneId=pane, action="stop")
        assert core not in repr(told)
        assert tool in audit.read_text()
        folders = (asking.place.home, asking.place.passing, tmp_path, Path(f"/tmp/muxpilot-{os.getuid()}"))
        assert find_traces(core, *folders) == []
        assert find_traces(core.encode().hex(" "), *folders) == []
        await asking.wire.close_stdin()
        assert core not in await asking.wire.stderr()
        assert find_traces(core, *folders) == []


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
    await wait_for_prompt(asking, pane)
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


async def test_an_agent_cannot_answer_through_a_pane_that_shows_the_popup(asking: Asking) -> None:
    """The person's client runs in a pane of another server that the agent can type into."""
    with private_place() as outer:
        pane = asking.attach_in(outer)
        pending = await asking.ask(question="Approve?")
        await wait_until(lambda: "Escape: no answer" in outer.tmux("capture-pane", "-p", "-t", pane))
        for tool, arguments in (("send-keys", {"keys": "yes"}), ("paste-text", {"content": "yes"})):
            text = await refusal_of(
                await asking.wire.start_call(tool, paneId=pane, socket=outer.socket, **arguments)
            )
            assert "An agent cannot answer its own question" in text
        assert not pending.done()
        outer.tmux("kill-session", "-t", "outer")
        assert (await reply_of(pending))["answered"] is False


async def test_an_agent_cannot_answer_through_the_socket_from_its_own_pane(asking: Asking) -> None:
    program = (
        "import asyncio\n"
        "from muxpilot.people.other_processes import *\n"
        "async def main():\n"
        "    [row] = [row for row in await list_open_questions() if row.text == 'Approve it?']\n"
        "    print('said:', await answer_question(row, 'yes', Answerer('view')))\n"
        "asyncio.run(main())\n"
    )
    script = asking.place.home / "answer.py"
    script.write_text(program)
    async with asking.person() as person:
        pending = await asking.ask(question="Approve it?")
        await see_popup(person)
        answer = await asking.wire.call("execute-command", command=f"{sys.executable} {script}")
        assert "said: A program in an agent's pane cannot answer." in answer["output"]
        assert not pending.done()
        person.press("no\r")
        assert (await reply_of(pending))["answer"] == "no"


async def test_the_popup_goes_when_its_muxpilot_is_killed(asking: Asking) -> None:
    async with asking.person() as person:
        await asking.ask(question="Still there?")
        await see_popup(person)
        children = asking.place.tmux("display-message", "-p", "#{pid}")
        popups = [
            int(path.name)
            for path in Path("/proc").glob("[0-9]*")
            if b"popup_program" in read(path / "cmdline") and parent_of(path) == int(children)
        ]
        assert len(popups) == 1
        await asking.wire.kill()
        await wait_until(lambda: not is_running(popups[0]))
    assert [row for row in await list_open_questions() if row.text == "Still there?"] == []
    assert asking.sockets == []


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def parent_of(process: Path) -> int:
    return int(read(process / "stat").rpartition(b")")[2].split()[1])
