"""Open questions without a person: phases, choices, and text that is shown."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from muxpilot.errors import Unavailable
from muxpilot.people.attach_line import find_attach_line
from muxpilot.people.open_question import OpenQuestion, find_choice
from muxpilot.people.questions import TRANSITIONS, Question, QuestionEvent, QuestionPhase
from muxpilot.people.shown_text import show_line, show_lines
from muxpilot.tmux import Tmux
from muxpilot.tmux.quote import SecretWord, quote_for_argv, quote_for_control_line

SETTLED = {
    QuestionPhase.ANSWERED,
    QuestionPhase.DECLINED,
    QuestionPhase.NOT_ENTERED,
    QuestionPhase.EXPIRED,
    QuestionPhase.UNREACHED,
    QuestionPhase.WITHDRAWN,
}


def open_question(enter_secret: Any = None, **facts: Any) -> OpenQuestion:
    question = Question("Go on?", "client", "agent-x", "a test", **facts)
    return OpenQuestion(question, Tmux("/tmp/mx-none/s", keeps_journals=False), enter_secret)


def test_nothing_happens_to_a_settled_question() -> None:
    assert {phase for phase, _ in TRANSITIONS} == set(QuestionPhase) - SETTLED
    assert {event for _, event in TRANSITIONS} == set(QuestionEvent)
    assert set(TRANSITIONS.values()) | {QuestionPhase.OPEN} == set(QuestionPhase)


async def test_the_first_answer_counts() -> None:
    opened = open_question()
    assert await opened.take_answer("yes", "popup", by="me") == ""
    assert await opened.take_answer("no", "view", by="me") == "The question is closed."
    opened.decline("view", by="me")
    reply = await opened.wait()
    assert (reply.answered, reply.how, reply.answer) == (True, "popup", "yes")


async def test_while_a_secret_is_entered_no_other_answer_is_taken_and_the_timeout_waits() -> None:
    entered, go_on = [], asyncio.Event()

    async def enter(secret: str) -> str:
        entered.append(secret)
        await go_on.wait()
        return ""

    opened = open_question(enter, is_secret=True)
    first = asyncio.create_task(opened.take_answer("one", "popup", by="me"))
    await asyncio.sleep(0)
    assert await opened.take_answer("two", "view", by="me") == "The question is closed."
    expiring = asyncio.create_task(opened.expire("popup"))
    await asyncio.sleep(0)
    go_on.set()
    assert await first == ""
    reply = await expiring
    assert (reply.answered, reply.answer) == (True, None)
    assert entered == ["one"]


async def test_a_secret_that_cannot_be_entered_says_so_and_never_what_it_was(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(secret: str) -> str:
        raise RuntimeError(secret)

    opened = open_question(fail, is_secret=True)
    assert await opened.take_answer("", "popup", by="me") == "Nothing was entered."
    assert await opened.take_answer("hunter2", "popup", by="me") == "It could not be entered into the pane."
    reply = await opened.wait()
    assert reply.answered is False
    assert "hunter2" not in repr(reply)
    assert "secret could not be entered" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize(
    ("given", "choice"), [("1", "2"), ("2", "2"), (" ALLOW ", "allow"), ("3", "3"), ("0", None), ("al", None)]
)
def test_a_choice_is_meant_by_its_text_before_its_number(given: str, choice: str | None) -> None:
    assert find_choice(("2", "allow", "3"), given) == choice


def test_text_of_an_agent_is_spelled_out() -> None:
    assert show_lines("a\tb\r\nc\x9b\u200b\U000e0041") == ["a    b\\x0d", "c\\x9b\\u200b\\U000e0041"]
    assert show_line("x\ny" * 100, 9) == "x\\x0ayx\\…"
    assert show_line("é日本😀", 10) == "é日本😀"


def test_a_secret_is_never_an_argument_of_a_process() -> None:
    assert quote_for_control_line(SecretWord("x")) == quote_for_control_line("x")
    with pytest.raises(Unavailable):
        quote_for_argv(SecretWord("x"))


async def test_the_line_to_attach_with_reaches_another_host_and_a_server_that_does_not_run() -> None:
    question = Question("x", "client", "agent-x", "a test")
    far = Tmux("/tmp/a b", ssh="-p 2222 me@far", keeps_journals=False)
    far.connection.run = refuse  # type: ignore[method-assign]
    line = await find_attach_line(question, far)
    assert line == "ssh -t -p 2222 -- me@far 'tmux -S '\"'\"'/tmp/a b'\"'\"' new-session -A -s agent-x'"
    near = Tmux("/tmp/mx-none/s", keeps_journals=False)
    assert await find_attach_line(question, near) == "tmux -S /tmp/mx-none/s new-session -A -s agent-x"


async def refuse(*commands: object, **_: object) -> Any:
    raise Unavailable("not now")
