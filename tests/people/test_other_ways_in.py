"""Ways around the guards of a question: each is refused, and the question stays open."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muxpilot import Tmux
from muxpilot.people.answering_process import runs_in_agent_pane
from muxpilot.tmux.version import KEYS_REACH_POPUPS
from tests.conftest import tmux_version
from tests.rigs.asking import Asking, refusal_of, reply_of, see_popup, start_asking
from tests.rigs.engine import wait_until
from tests.rigs.waiting import eventually
from tests.rigs.wire import LIMIT_S, TMUX, private_place

ANSWER = """
import asyncio
from muxpilot.people.other_processes import Answerer, answer_question, list_open_questions

async def main():
    [row] = [row for row in await list_open_questions() if row.text == "Approve it?"]
    print("said:", repr(await answer_question(row, "yes", Answerer("view"))))

asyncio.run(main())
"""

# Finds the program of a popup, stops it, and says in its place what it would say.
STEAL = r"""
import json, os, re, signal, socket, subprocess, sys
from contextlib import suppress

def has_connected(pid):
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            if os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                return True
    return False

def steal(path, key):
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    stream = link.makefile("rw")

    def say(**message):
        print(json.dumps(message), file=stream, flush=True)

    say(do="show", key=key)
    question = stream.readline()
    if question:
        say(answer="yes")
        if code := json.loads(question).get("code"):
            stream.readline()
            say(code=code)
    return question

found = None
while found is None:
    jobs = subprocess.run([*sys.argv[1:], "show-messages", "-J"], capture_output=True, text=True).stdout
    found = re.search(r"run_popup.* (/\S+) ([0-9a-f]{32}) \[.*pid=(\d+)", jobs)
pid = int(found[3])
os.kill(pid, signal.SIGSTOP)
try:
    order = "late" if has_connected(pid) else "first"
    print("said:", order, steal(found[1], found[2]) or "nothing")
finally:
    os.kill(pid, signal.SIGCONT)
"""

TMUX_FILTER = """
[security.command_filter]
mode = "denylist"
patterns = ["^tmux\\\\b"]
"""


@pytest.fixture
async def asking() -> AsyncIterator[Asking]:
    async with start_asking() as found:
        yield found


async def test_keys_that_reach_a_popup_through_synchronized_panes_are_refused(asking: Asking) -> None:
    with private_place() as place:
        pane, outer = asking.attach_in(place), {"socket": place.socket}
        other = await asking.wire.call("split-pane", paneId=pane, command="cat", **outer)
        await asking.wire.call("set-synchronize-panes", windowId="outer:0", enabled=True, **outer)
        pending = await asking.ask(question="Approve?")
        await wait_until(lambda: "Escape: no answer" in place.tmux("capture-pane", "-p", "-t", pane))
        sent = await asking.wire.start_call(
            "send-keys", paneId=other["paneId"], keys="yes", enter=True, **outer
        )
        message = await asyncio.wait_for(sent, LIMIT_S)
        assert message["result"]["isError"], message
        assert "An agent cannot answer its own question." in message["result"]["content"][0]["text"]
        assert not pending.done()


# How a program in a pane can let tmux itself start another one.
JOBS = {
    "run-shell": "run-shell {}",
    "run-shell -b": "run-shell -b {}",
    "if-shell": "if-shell {} ''",
    "status line": "set-option -g status-right {}",
    "setsid": "run-shell -b {}",
}


@pytest.mark.parametrize("job", JOBS)
async def test_a_program_that_tmux_starts_for_the_agent_cannot_answer(asking: Asking, job: str) -> None:
    script, told = asking.place.home / "answer.py", asking.place.home / "told"
    script.write_text(ANSWER)
    async with asking.person() as person:
        pending = await asking.ask(question="Approve it?")
        await see_popup(person)
        run = f"{'setsid -f ' if job == 'setsid' else ''}{sys.executable} {script} >{told} 2>&1"
        given = shlex.quote(f"#({run})" if job == "status line" else run)
        tmux = f"{TMUX} -S {asking.place.socket} "
        await asking.wire.call("execute-command", command=tmux + JOBS[job].format(given))

        async def read_told() -> str:
            return told.read_text() if told.exists() and "said:" in told.read_text() else ""

        # A status line runs its program more than once.
        text = await eventually(read_told)
        assert "said: 'A program that tmux started outside of a pane cannot answer.'\n" in str(text)
        assert not pending.done()
        person.press("no\r")
        assert (await reply_of(pending))["answer"] == "no"


@pytest.mark.parametrize("leaves", ["", "env -i setsid -f "], ids=["run-shell", "setsid"])
async def test_a_program_that_takes_the_place_of_a_popup_gets_nothing(asking: Asking, leaves: str) -> None:
    """Every program of the user can see the key of a popup: in its arguments, and in the jobs of tmux."""
    script, told = asking.place.home / "steal.py", asking.place.home / "told"
    script.write_text(STEAL)
    tmux = f"{shutil.which(TMUX)} -S {asking.place.socket}"
    run = f"{leaves}{sys.executable} {script} {tmux} >{told} 2>&1"

    async def read_told() -> str:
        return told.read_text() if told.exists() and "said:" in told.read_text() else ""

    async with asking.person() as person:
        said, tries = "late", 0
        while "late" in said:  # the program of the popup was quicker
            tries += 1
            told.unlink(missing_ok=True)
            await asking.wire.call("execute-command", command=f"{tmux} run-shell -b {shlex.quote(run)}")
            pending = await asking.ask(question=f"Try {tries}?")
            said = str(await eventually(read_told))
            await see_popup(person, f"Try {tries}?".encode())
            assert not pending.done()
            person.press("no\r")
            assert (await reply_of(pending))["answer"] == "no"
    assert said == "said: first nothing\n"


async def test_a_terminal_that_the_agent_attaches_is_no_persons(asking: Asking) -> None:
    """An agent that attaches a terminal of its own can see and type there what it wants."""
    attach = f"env -u TMUX {TMUX} -S {asking.place.socket} attach -t dev"
    own = {"socket": str(asking.place.home / "own")}
    made = await asking.wire.call("create-session", name="own", command=attach, **own)
    await wait_until(lambda: "/dev/" in asking.place.tmux("list-clients", "-F", "#{client_tty}"))
    asking.place.tmux("send-keys", "-t", "=dev:", "x")
    if tmux_version() >= KEYS_REACH_POPUPS:
        reply = await reply_of(await asking.ask(question="Anybody?"))
        assert (reply["answered"], " attach-session " in reply["how"]) == (False, True)
    async with asking.person() as person:
        pending = await asking.ask(question="Approve it?", paneId="dev:")
        await see_popup(person)
        assert "Approve" not in await asking.wire.call("capture-pane", paneId=made["paneId"], **own)
        person.press("no\r")
        assert (await reply_of(pending))["answer"] == "no"
    await asking.wire.call("kill-session", sessionId="own", **own)


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
    script = asking.place.home / "answer.py"
    script.write_text(ANSWER)
    async with asking.person() as person:
        pending = await asking.ask(question="Approve it?")
        await see_popup(person)
        answer = await asking.wire.call("execute-command", command=f"{sys.executable} {script}")
        assert 'said: "A program in an agent\'s pane cannot answer."' in answer["output"]
        assert not pending.done()
        person.press("no\r")
        assert (await reply_of(pending))["answer"] == "no"


async def test_a_program_in_an_agents_pane_of_another_server_cannot_answer(asking: Asking) -> None:
    script = asking.place.home / "answer.py"
    script.write_text(ANSWER)
    other = {"socket": str(asking.place.home / "other")}
    async with asking.person() as person:
        pending = await asking.ask(question="Approve it?")
        await see_popup(person)
        made = await asking.wire.call("create-session", name="o", **other)
        command = shlex.join([sys.executable, str(script)])
        answer = await asking.wire.call("execute-command", paneId=made["paneId"], command=command, **other)
        assert "said:" in answer["output"]
        assert "said: ''" not in answer["output"]
        assert not pending.done()
    await asking.wire.call("kill-session", sessionId="o", **other)


async def test_tmux_itself_types_under_a_popup_and_not_into_it(asking: Asking) -> None:
    """A program in the agent's pane runs `tmux send-keys` at the person's session."""
    async with asking.person() as person:
        pending = await asking.ask(question="Approve it?")
        await see_popup(person)
        command = f"{TMUX} -S {asking.place.socket} send-keys -t =dev: yes Enter"
        answer = await asking.wire.call("execute-command", command=command)
        assert answer["exitCode"] == 0
        await wait_until(lambda: "yes" in asking.place.tmux("capture-pane", "-p", "-t", "=dev:"))
        assert not pending.done()
        person.press("no\r")
        assert (await reply_of(pending))["answer"] == "no"


async def test_a_command_filter_keeps_an_agent_from_pressing_keys_in_the_popup(tmp_path: Path) -> None:
    """From tmux 3.4 on, `tmux send-keys -K` presses keys in the terminal of a client, where the popup is."""
    config = tmp_path / "config.toml"
    config.write_text(TMUX_FILTER)
    async with start_asking("--config", str(config)) as asking, asking.person() as person:
        pending = await asking.ask(question="Approve it?")
        await see_popup(person)
        keys = f"{TMUX} -S {asking.place.socket} send-keys -K -c {person.tty} y e s Enter"
        for command in (keys, f"env -u TMUX sh -c '{keys}'", f"echo Enter | xargs {keys}"):
            refusal = await refusal_of(await asking.wire.start_call("execute-command", command=command))
            assert "security.command_filter" in refusal
        assert not pending.done()
        person.press("no\r")
        assert (await reply_of(pending))["answer"] == "no"


async def test_a_program_in_a_persons_pane_that_the_agent_types_into_cannot_answer(asking: Asking) -> None:
    script = asking.place.home / "answer.py"
    script.write_text(ANSWER)
    pane = asking.place.tmux("new-window", "-d", "-t", "=dev:", "-P", "-F", "#{pane_id}", "exec sh")
    async with asking.person() as person:
        pending = await asking.ask(question="Approve it?")
        await see_popup(person)
        command = shlex.join([sys.executable, str(script)])
        answer = await asking.wire.call("execute-command", paneId=pane, command=command)
        assert 'said: "A program in an agent\'s pane cannot answer."' in answer["output"]
        assert not pending.done()


async def test_a_program_that_leaves_the_agents_pane_cannot_answer(asking: Asking) -> None:
    script, told = asking.place.home / "answer.py", asking.place.home / "told"
    script.write_text(ANSWER)
    async with asking.person() as person:
        pending = await asking.ask(question="Approve it?")
        await see_popup(person)
        away = f"setsid -f {shlex.join([sys.executable, str(script)])} >{told} 2>&1"
        await asking.wire.call("execute-command", command=away)

        async def is_told() -> bool:
            return "said:" in told.read_text()

        await eventually(is_told)
        assert told.read_text() == 'said: "A program in an agent\'s pane cannot answer."\n'
        assert not pending.done()


async def test_a_process_that_has_ended_is_not_taken_for_a_persons(folder: Path) -> None:
    """A program that sends an answer and ends at once must not be free of the check."""
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    async with Tmux(str(folder / "s")) as tmux:
        assert await runs_in_agent_pane(tmux, int(ended.stdout))
        assert not await runs_in_agent_pane(tmux, os.getpid())
