"""The code of a popup: an answer counts only with it, and it is nowhere but on the person's terminal."""

from __future__ import annotations

import fcntl
import json
import shlex
import struct
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muxpilot.people.open_question import OpenQuestion
from muxpilot.people.popup_code import CodeCheck, WrongCodes
from muxpilot.people.popup_session import PopupSession
from muxpilot.people.questions import Question
from muxpilot.timing import PeopleTiming
from muxpilot.tmux import Tmux
from muxpilot.tmux.version import KEYS_REACH_POPUPS
from tests.conftest import tmux_version
from tests.rigs.asking import Asking, refusal_of, reply_of, see_popup, start_asking
from tests.rigs.engine import AttachedPerson, wait_until
from tests.rigs.popup_terminal import PERSON, open_terminal
from tests.rigs.tmux_trees import second_tmux
from tests.rigs.traces import find_traces
from tests.rigs.wire import TMUX

CODE = "4821"
WRONG = "popup: a wrong code was typed"
# linux/tty.h: tells whether no other program can open the terminal.
TIOCGEXCL = 0x80045440


@pytest.mark.parametrize(
    ("code", "keys"),
    [
        ("", "yes\r"),
        (CODE, f"yes\r{CODE}"),
        (CODE, "no\x15yes\r49\x7f821"),
        (CODE, f"yes\r482\x15{CODE}"),
        (CODE, f"yes\r\ry{CODE}"),
        (CODE, "\x1b[Byes\r48\x1b[A21"),
    ],
    ids=["no code", "pasted", "Backspace", "Ctrl-U", "other keys", "arrows"],
)
@pytest.mark.parametrize("is_slow", [False, True], ids=["in one read", "key by key"])
async def test_the_answer_counts_with_its_code(code: str, keys: str, is_slow: bool) -> None:
    async with open_terminal(code=code) as terminal:
        for part in _split_keys(keys) if is_slow else [keys]:
            terminal.press(part)
            await wait_until(terminal.has_read_keys)
        reply = await terminal.reply()
    assert (reply.answered, reply.how, reply.answer, reply.by) == (True, "popup", "yes", PERSON)


def _split_keys(keys: str) -> list[str]:
    """Return the keys one by one. What begins with Escape is one key."""
    parts = keys.split("\x1b")
    return [*parts[0], *(each for part in parts[1:] for each in (f"\x1b{part[:2]}", *part[2:]))]


async def test_the_popup_says_which_answer_the_code_confirms() -> None:
    async with open_terminal(code=CODE, choices=("left", "right")) as terminal:
        assert CODE not in terminal.screen
        terminal.press("3\r")
        await terminal.wait_for("not one of the choices")
        terminal.press("2\r")
        await terminal.wait_for(f"Type {CODE} to answer: right")
        terminal.press("\x15\x7f1\r")
        await wait_until(terminal.has_read_keys)
        assert not terminal.opened.is_settled
        terminal.press(f"\x15{CODE}")
        assert (await terminal.reply()).answer == "right"


@pytest.mark.parametrize("keys", ["yes\r4822", "no\r0000", f"yes\r12345{CODE}no\r"])
async def test_a_wrong_code_is_a_no_for_good(keys: str) -> None:
    async with open_terminal(code=CODE) as terminal:
        terminal.press(keys)
        reply = await terminal.reply()
        await terminal.wait_for("This is not the code, so your answer is no.")
        assert await terminal.opened.take_answer("yes", "view", by="me") == "The question is closed."
    assert (reply.answered, reply.how, reply.answer, reply.by) == (False, WRONG, None, PERSON)


@pytest.mark.parametrize("keys", ["\x1b", "yes\r48\x1b", "\x03", "yes\r\x03"])
async def test_escape_means_no_before_and_after_the_answer(keys: str) -> None:
    async with open_terminal(code=CODE) as terminal:
        terminal.press(keys)
        reply = await terminal.reply()
    assert (reply.answered, reply.how) == (False, "popup: declined")


async def test_a_secret_is_sent_with_the_code_and_is_not_shown() -> None:
    entered: list[str] = []

    async def enter(secret: str) -> str:
        entered.append(secret)
        return ""

    async with open_terminal(code=CODE, enter_secret=enter) as terminal:
        terminal.press("hunter2\r")
        await terminal.wait_for(f"Type {CODE} to send it to the pane.")
        assert entered == []
        terminal.press(CODE)
        reply = await terminal.reply()
        assert "hunter" not in terminal.seen.decode()
    assert (reply.answered, reply.answer, entered) == (True, None, ["hunter2"])


async def test_an_answer_cannot_be_changed_before_its_code() -> None:
    """muxpilot keeps the answer and compares the code. It does not rely on the program in the popup."""
    session = PopupSession(make_question(), PERSON, CodeCheck(CODE))
    await session.take({"code": CODE})
    assert await session.take({"answer": "yes"}) == {"confirm": "yes"}
    assert await session.take({"answer": "no"}) == {"confirm": "yes"}
    assert not session.opened.is_settled
    await session.take({"code": CODE})
    assert (await session.opened.wait()).answer == "yes"


async def test_a_second_code_does_not_count() -> None:
    session = PopupSession(make_question(), PERSON, CodeCheck(CODE))
    for message in ({"answer": "yes"}, {"code": "4822"}, {"code": CODE}, {"answer": "yes"}):
        await session.take(message)
    assert (await session.opened.wait()).how == WRONG


def make_question() -> OpenQuestion:
    question = Question("Go on?", "client", "agent-x", "a test")
    return OpenQuestion(question, Tmux("/tmp/mx-none/s", keeps_journals=False))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it")
async def test_no_other_program_of_the_user_opens_the_terminal_of_a_popup() -> None:
    """It could read the keys, or draw over the question. (An administrator can still open it.)"""
    async with open_terminal() as terminal:
        held = fcntl.ioctl(terminal.slave, TIOCGEXCL, struct.pack("i", 0))
    assert struct.unpack("i", held) != (0,)


def check_of(*typed: str) -> CodeCheck:
    check = CodeCheck(CODE)
    for each in typed:
        check.take(each)
    return check


async def test_after_each_wrong_code_the_next_popup_comes_later() -> None:
    codes = WrongCodes(PeopleTiming(wrong_code_s=1000.0, longest_wrong_code_s=3000.0))
    codes.note(check_of())  # the popup went without a code
    codes.note(CodeCheck())  # no code was needed
    assert codes.seconds_left == 0
    for longest_s in (1000.0, 2000.0, 3000.0, 3000.0):
        codes.note(check_of("0000", CODE))
        assert longest_s - 900 < codes.seconds_left <= longest_s
    codes.note(check_of(CODE))
    codes.note(check_of("0000"))
    assert codes.seconds_left <= 1000


def find_newer_tmux() -> str:
    """Return the path of a tmux whose `send-keys -K` presses keys in a popup, or skip the test."""
    if tmux_version() >= KEYS_REACH_POPUPS:
        return TMUX
    found = second_tmux()
    if isinstance(found, str):
        pytest.skip(found)
    return str(found)


@pytest.fixture
async def newer() -> AsyncIterator[Asking]:
    """A muxpilot that asks on a tmux that presses keys in popups."""
    async with start_asking(program=find_newer_tmux()) as found:
        yield found


async def press_as_agent(asking: Asking, person: AttachedPerson, keys: str) -> None:
    """Press keys in the terminal of a person, by a command in the agent's pane. In 3.4 only -H does it."""
    tmux = shlex.join([asking.place.program, "-S", asking.place.socket])
    command = f"{tmux} send-keys -K -c {person.tty} -H {keys.encode().hex(' ')}"
    assert (await asking.wire.call("execute-command", command=command))["exitCode"] == 0


async def answer_as_agent(asking: Asking, person: AttachedPerson, question: bytes) -> str:
    """Press an answer as the agent. Return the code that would confirm it."""
    person.types_codes = False
    await see_popup(person, question)
    seen = len(person.codes)
    await press_as_agent(asking, person, "1\r")
    await wait_until(lambda: len(person.codes) > seen)
    return person.codes[-1]


async def press_wrong_code(asking: Asking, person: AttachedPerson, question: bytes) -> None:
    code = await answer_as_agent(asking, person, question)
    await press_as_agent(asking, person, str((int(code) + 1) % 10_000).zfill(4))


async def test_a_wrong_code_is_in_the_audit(tmp_path: Path) -> None:
    audit, config = tmp_path / "audit", tmp_path / "c.toml"
    config.write_text('[security]\nask = ["kill-session"]\n')
    flags = ("--audit", str(audit), "--config", str(config))
    async with start_asking(*flags, program=find_newer_tmux()) as asking, asking.person() as person:
        pending = await asking.ask(question="Approve it?")
        await press_wrong_code(asking, person, b"Approve it?")
        await reply_of(pending)
        allowing = await asking.wire.start_call("kill-session", sessionId="dev")
        await press_wrong_code(asking, person, b"Allow kill-session?")
        refusal = await refusal_of(allowing)
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    asked, allowed = (
        next(line for line in lines if line["tool"] == name) for name in ("ask-person", "kill-session")
    )
    assert f"a person must allow it ({WRONG})" in refusal
    assert (asked["how"], allowed["approval"]["how"], allowed["approval"]["said"]) == (
        WRONG,
        WRONG,
        "no answer",
    )


async def test_send_keys_of_tmux_answers_no_question(newer: Asking) -> None:
    async with newer.person() as person:
        pending = await newer.ask(question="Approve it?")
        await press_wrong_code(newer, person, b"Approve it?")
        assert await reply_of(pending) == {"answered": False, "how": WRONG, "answer": None}


async def test_an_answer_that_the_agent_gives_first_is_shown_and_not_taken(newer: Asking) -> None:
    async with newer.person() as person:
        pending = await newer.ask(question="Approve it?", choices=["allow", "deny"])
        await answer_as_agent(newer, person, b"Approve it?")
        await person.wait_for(b" to answer: allow")
        assert not pending.done()
        person.press("\x1b")
        assert await reply_of(pending) == {"answered": False, "how": "popup: declined", "answer": None}


async def test_a_person_who_types_the_code_answers(newer: Asking) -> None:
    async with newer.person() as person:
        pending = await newer.ask(question="Which port?")
        await see_popup(person, b"Which port?")
        person.press("8080\r")
        assert (await reply_of(pending))["answer"] == "8080"
        pending = await newer.ask(question="Where?", choices=["here", "there"])
        await see_popup(person, b"Where?")
        person.press("2\r")
        assert (await reply_of(pending))["answer"] == "there"


async def test_the_code_is_on_the_terminal_of_the_person_only(newer: Asking) -> None:
    """No command of tmux tells it, and no file, argument or environment has it."""
    async with newer.person() as person:
        pending = await newer.ask(question="Approve it?")
        code = await answer_as_agent(newer, person, b"Approve it?")
        shown = f"Type {code}"
        panes = newer.place.tmux("list-panes", "-a", "-F", "#{pane_id}").split()
        asked = [
            *(("capture-pane", "-p", "-S", "-", "-t", pane) for pane in panes),
            *(("show-messages", *flag, "-t", person.tty) for flag in ((), ("-J",), ("-T",))),
            ("display-message", "-a", "-p", "-c", person.tty),
            ("show-options", "-g"),
            ("show-environment", "-g"),
            ("list-clients",),
            ("list-buffers",),
        ]
        told = {command: newer.place.tmux(*command) for command in asked}
        assert [command for command, text in told.items() if shown in text] == []
        assert find_traces(shown, newer.place.home, newer.place.passing) == []
        assert not pending.done()
        person.press(code)
        assert (await reply_of(pending))["answer"] == "1"
