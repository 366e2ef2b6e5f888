"""A question in a popup: a person at a real tmux client sees it, and answers it with the keyboard."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from muxpilot.app import build
from muxpilot.config.flags import load_settings
from muxpilot.people.other_processes import list_open_questions
from muxpilot.people.people import People
from muxpilot.people.questions import Question
from muxpilot.people.sockets import ASKS, find_sockets
from muxpilot.timing import PeopleTiming
from tests.rigs.asking import Asking, reply_of, see_popup, start_asking
from tests.rigs.engine import AttachedPerson, wait_until
from tests.rigs.waiting import is_running
from tests.rigs.wire import LIMIT_S

HOSTILE = "a\x1b[2J\x1b]0;owned\x07#(touch canary) #{pane_id} $(touch canary)\n; `touch canary` <b>\u202e"


async def test_a_person_answers_in_a_popup_that_says_who_asks_and_why(asking: Asking) -> None:
    async with asking.person() as person:
        pending = await asking.ask(question="Which port?")
        await see_popup(person)
        shown = person.seen.decode()
        assert "wire (workspace agent-home) asks" in shown
        assert "Why: " in shown
        assert "| Which port?" in shown
        person.press("80x\x7f80\r")
        assert await reply_of(pending) == {"answered": True, "how": "popup", "answer": "8080"}
    await wait_until(lambda: not asking.sockets)


@pytest.mark.parametrize(("typed", "answer"), [("2", "production"), ("Staging", "staging")])
async def test_a_choice_is_answered_by_its_number_or_its_text(
    asking: Asking, typed: str, answer: str
) -> None:
    async with asking.person() as person:
        pending = await asking.ask(question="Where?", choices=["staging", "production"])
        await see_popup(person)
        assert "1) staging" in person.seen.decode()
        person.press("3\r")
        await person.wait_for(b"not one of the choices")
        person.press(f"{typed}\r")
        assert await reply_of(pending) == {"answered": True, "how": "popup", "answer": answer}


@pytest.mark.parametrize("key", ["\x1b", "\x03"], ids=["Escape", "Ctrl-C"])
async def test_escape_means_no(asking: Asking, key: str) -> None:
    async with asking.person() as person:
        pending = await asking.ask(question="Go on?")
        await see_popup(person)
        person.press(f"yes{key}")
        assert await reply_of(pending) == {"answered": False, "how": "popup: declined", "answer": None}


async def test_no_answer_in_time_closes_the_popup(asking: Asking) -> None:
    async with asking.person() as person:
        pending = await asking.ask(question="Still there?", timeoutSeconds=8)
        await see_popup(person)
        how = "popup: no answer within 8 s"
        assert await reply_of(pending) == {"answered": False, "how": how, "answer": None}
        await types_into_the_pane_again(asking, person)


async def test_a_question_without_any_time_leaves_no_socket(asking: Asking) -> None:
    """Others would ask a socket that no process serves, and wait for it."""
    reply = await reply_of(await asking.ask(question="Now?", timeoutSeconds=0))
    assert reply["answered"] is False
    assert asking.sockets == []


async def test_a_cancelled_call_closes_the_popup(tmp_path: Path) -> None:
    audit = tmp_path / "audit"
    async with start_asking("--audit", str(audit)) as asking, asking.person() as person:
        pending = await asking.ask(question="Still there?")
        await see_popup(person)
        await asking.wire.notify("notifications/cancelled", {"requestId": pending.id})
        await types_into_the_pane_again(asking, person)
        await wait_until(lambda: not asking.sockets)
        await wait_until(lambda: "ask-person" in audit.read_text())
        line = json.loads(audit.read_text().splitlines()[-1])
        assert [who.split(" (")[0].split(" at ")[1] for who in line["asked"]] == [person.tty]
        assert (line["by"], "how" in line) == ("", False)


async def types_into_the_pane_again(asking: Asking, person: AttachedPerson) -> None:
    """Type until the program below the popup gets the keys."""

    def has_reached_the_pane() -> bool:
        person.press("below\r")
        return "below" in asking.place.tmux("capture-pane", "-p", "-t", "dev")

    await wait_until(has_reached_the_pane)


async def test_two_questions_come_one_after_the_other(asking: Asking) -> None:
    async with asking.person() as person:
        first = await asking.ask(question="First?")
        await see_popup(person)
        second = await asking.ask(question="Second?")
        person.press("1\r")
        assert (await reply_of(first))["answer"] == "1"
        await see_popup(person, b"| Second?")
        assert person.seen.index(b"First?") < person.seen.index(b"Second?")
        person.press("2\r")
        assert (await reply_of(second))["answer"] == "2"


async def test_questions_one_after_the_other_go_to_the_person_who_used_tmux_last(asking: Asking) -> None:
    """A terminal whose popup is about to close would count as busy, and the other one would be asked."""
    async with asking.person() as other, asking.person() as person:
        before = _find_activity(asking, other)
        await wait_until(lambda: time.time() > before + 1)  # tmux tells it in whole seconds
        person.press("x")
        await wait_until(lambda: _find_activity(asking, person) > before)
        pending = [await asking.ask(question=f"Number {number}?") for number in range(5)]
        for number, reply in enumerate(pending):
            await see_popup(person, f"Number {number}?".encode())
            person.press("yes\r")
            assert (await reply_of(reply))["answer"] == "yes"
        assert b"Number" not in other.seen


def _find_activity(asking: Asking, person: AttachedPerson) -> int:
    """Return when a person used tmux last, as far as tmux knows."""
    rows = asking.place.tmux("list-clients", "-F", "#{client_tty} #{client_activity}").splitlines()
    return int(dict(row.split() for row in rows if row.startswith("/"))[person.tty])


async def test_questions_of_two_muxpilots_come_one_after_the_other(asking: Asking) -> None:
    async with asking.place.serve("--scope", "all") as other, asking.person() as person:
        await other.shake_hands()
        first = await asking.ask(question="First?")
        await see_popup(person)
        second = await other.start_call("ask-person", question="Second?")
        await wait_until(lambda: len(find_sockets(ASKS)) == 2)
        person.press("1\r")
        assert (await reply_of(first))["answer"] == "1"
        await see_popup(person, b"| Second?")
        person.press("2\r")
        assert (await reply_of(second))["answer"] == "2"


async def test_the_person_at_the_session_of_the_pane_is_asked(asking: Asking) -> None:
    asking.place.tmux("new-session", "-d", "-s", "other", "exec cat")
    async with asking.person() as here, asking.person("attach", "-t", "other") as there:
        there.press("x")
        await there.wait_for(b"x")
        pending = await asking.ask(question="Mine?", paneId="dev:")
        await see_popup(here)
        assert b"Mine?" not in there.seen
        here.press("yes\r")
        assert (await reply_of(pending))["answer"] == "yes"


async def test_a_person_whose_terminal_goes_leaves_the_question_to_the_next(asking: Asking) -> None:
    async with asking.person() as one, asking.person() as two:
        pending = await asking.ask(question="Who?")
        await wait_until(lambda: b"Who?" in one.seen or b"Who?" in two.seen)
        first, next_one = (one, two) if b"Who?" in one.seen else (two, one)
        asking.place.tmux("detach-client", "-t", first.tty)
        await see_popup(next_one)
        next_one.press("me\r")
        assert (await reply_of(pending))["answer"] == "me"


@pytest.mark.parametrize("longest_s", [3600.0, 0.5], ids=["pauses", "bounded"])
async def test_a_popup_waits_for_a_person_who_types_for_a_bounded_time(
    asking: Asking, longest_s: float
) -> None:
    """No pause is long enough here: the popup comes when the wait is over, and not before."""
    timing = PeopleTiming(typing_pause_s=3600.0, longest_pause_wait_s=longest_s)
    app = build(load_settings({}, socket=asking.place.socket))
    people, tmux = People(timing), app.servers.default
    try:
        async with asking.person() as person:
            person.press("for the program\r")
            await wait_until(
                lambda: "for the program" in asking.place.tmux("capture-pane", "-p", "-t", "dev")
            )
            is_short = longest_s < 1
            limit_s = LIMIT_S if is_short else 2.0
            question = Question("Now?", "a", "b", "c", socket=asking.place.socket, timeout_s=limit_s)
            pending = asyncio.create_task(people.ask(question, tmux))
            if is_short:
                await see_popup(person)
                person.press("yes\r")
            reply = await asyncio.wait_for(pending, LIMIT_S)
            assert (reply.answered, reply.answer) == ((True, "yes") if is_short else (False, None))
            assert (b"Now?" in person.seen) is is_short
    finally:
        await people.close()
        await app.close()


async def test_a_hostile_question_is_only_text(asking: Asking) -> None:
    canary = asking.place.home / "canary"
    async with asking.person() as person:
        pending = await asking.ask(question=HOSTILE, choices=["#(touch canary)", "\x1b[2Jno"], paneId="dev:")
        await see_popup(person)
        shown = person.seen.decode(errors="replace")
        assert "a\\x1b[2J\\x1b]0;owned\\x07#(touch canary) #{pane_id}" in shown
        assert "| ; `touch canary` <b>\\u202e" in shown
        assert "\u202e" not in shown
        assert "owned\x07" not in shown
        assert "2) \\x1b[2Jno" in shown
        person.press("1\r")
        assert (await reply_of(pending))["answer"] == "#(touch canary)"
    asking.place.tmux("run-shell", "true")
    assert not canary.exists()


async def test_where_no_person_is_the_answer_is_the_line_to_attach_with(asking: Asking) -> None:
    reply = await reply_of(await asking.ask(question="Anybody?", paneId="dev:"))
    line = f"tmux -S {asking.place.socket} attach-session -t =dev"
    assert reply == {"answered": False, "how": line, "answer": None}


async def test_a_read_only_client_is_not_asked(asking: Asking) -> None:
    async with asking.person("attach", "-r", "-t", "dev"):
        reply = await reply_of(await asking.ask(question="Anybody?"))
        assert reply["answered"] is False
        assert " attach-session " in reply["how"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"question": " "}, "'question' must have"),
        ({"question": "x", "timeoutSeconds": -1}, "from 0 to 86400, not -1"),
        ({"question": "x", "choices": ["a", "A "]}, "different texts"),
        ({"question": "x", "secret": True}, "'paneId'"),
        ({"question": "x", "secret": True, "paneId": "dev:", "choices": ["a"]}, "choices"),
    ],
)
async def test_a_question_that_cannot_be_asked_is_refused(
    asking: Asking, arguments: dict[str, object], words: str
) -> None:
    result = await asking.wire.result("tools/call", {"name": "ask-person", "arguments": arguments})
    assert result["isError"]
    assert words in result["content"][0]["text"]


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
