"""A question by the client's own form: the SDK's client answers it, in both protocol eras."""

from __future__ import annotations

import asyncio
import os
import socket as sockets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client

from muxpilot.app import build
from muxpilot.config.flags import load_settings
from muxpilot.people.other_processes import Answerer, answer_question, list_open_questions
from muxpilot.people.pages import PageAnnouncement
from muxpilot.server import http_server
from muxpilot.timing import PeopleTiming, Timing
from tests.rigs.asking import READER, see_popup, use_home
from tests.rigs.engine import attach_person, wait_until
from tests.rigs.sdk_client import start_sdk_client
from tests.rigs.waiting import eventually
from tests.rigs.wire import LIMIT_S, TMUX, Place, private_place

ERAS = ["legacy", "2026-07-28"]
PAGE = "http://127.0.0.1:9/questions"


@asynccontextmanager
async def serving(place: Place, people: PeopleTiming | None = None) -> AsyncIterator[str]:
    """Serve muxpilot over HTTP, and yield its address."""
    settings = load_settings({}, scope="agentic", socket=place.socket)
    app = build(settings, Timing(people=people or PeopleTiming()))
    listener, stopped = sockets.create_server(("127.0.0.1", 0)), asyncio.Event()
    running = asyncio.create_task(http_server.run(app, [listener], token=None, stopped=stopped))
    try:
        yield http_server.address(listener)
    finally:
        stopped.set()
        await asyncio.wait_for(running, LIMIT_S)


class ClientPerson:
    """The person at the client: does the same with each form or link, and remembers it."""

    def __init__(self, action: Any, answer: str | None = None) -> None:
        self.asked: list[Any] = []
        self._result = types.ElicitResult(
            action=action, content=None if answer is None else {"answer": answer}
        )

    async def answer(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params)
        return self._result


async def ask(url: str, mode: Any, person: ClientPerson | None, **arguments: Any) -> Any:
    callback = person.answer if person is not None else None
    async with Client(url, mode=mode, elicitation_callback=callback) as client:
        result = await client.call_tool("ask-person", arguments, read_timeout_seconds=LIMIT_S)
    assert not result.is_error, result.content
    return result.structured_content


@pytest.mark.parametrize("mode", ERAS)
async def test_a_form_of_the_client_asks_with_one_field(mode: str) -> None:
    person = ClientPerson("accept", "8080")
    with private_place() as place, use_home(place):
        place.tmux("new-session", "-d", "-s", "dev", "exec cat")
        async with serving(place) as url:
            reply = await ask(url, mode, person, question="Which\x1b[2J port?", paneId="dev:")
    assert reply == {"answered": True, "how": "elicitation", "answer": "8080"}
    [params] = person.asked
    assert "asks, about pane %0" in params.message
    assert params.message.endswith("Which\\x1b[2J port?")
    assert list(params.requested_schema["properties"]) == ["answer"]


async def test_a_client_that_starts_muxpilot_asks_in_the_same_way() -> None:
    person = ClientPerson("accept", "8080")
    with private_place() as place, use_home(place), (place.home / "log").open("w+") as log:
        place.tmux("new-session", "-d", "-s", "dev", "exec cat")
        async with start_sdk_client(place, log=log, answer_question=person.answer) as client:
            result = await client.call_tool("ask-person", {"question": "Which port?"})
    assert result.structured_content == {"answered": True, "how": "elicitation", "answer": "8080"}
    assert person.asked[0].message.startswith("mcp (workspace agent-home) asks: ")


@pytest.mark.parametrize("mode", ERAS)
async def test_choices_are_an_enum_and_another_answer_is_none(mode: str) -> None:
    with private_place() as place, use_home(place):
        place.tmux("new-session", "-d", "exec cat")
        async with serving(place) as url:
            for given, answered in (("b", True), ("c", False)):
                person = ClientPerson("accept", given)
                reply = await ask(url, mode, person, question="Which?", choices=["a", "b"])
                assert reply["answered"] is answered
                why = "" if answered else ": the answer is not one of the choices"
                assert reply["how"] == f"elicitation{why}"
                assert person.asked[0].requested_schema["properties"]["answer"]["enum"] == ["a", "b"]


@pytest.mark.parametrize("mode", ERAS)
async def test_hostile_choices_are_shown_as_text_and_mean_what_they_are(mode: str) -> None:
    hostile = ["\x1b[2Jno", "#(touch canary)\n<b>yes</b>"]
    with private_place() as place, use_home(place):
        place.tmux("new-session", "-d", "exec cat")
        async with serving(place) as url:
            person = ClientPerson("accept", "#(touch canary)\\x0a<b>yes</b>")
            reply = await ask(url, mode, person, question="Which?", choices=hostile)
    shown = person.asked[0].requested_schema["properties"]["answer"]["enum"]
    assert shown == ["\\x1b[2Jno", "#(touch canary)\\x0a<b>yes</b>"]
    assert reply == {"answered": True, "how": "elicitation", "answer": hostile[1]}


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_person_who_declines_in_the_client_is_not_asked_again(mode: str, action: str) -> None:
    with private_place() as place, use_home(place):
        place.tmux("new-session", "-d", "-s", "dev", "exec cat")
        quick = PeopleTiming(shortest_answer_s=0)  # the person of this test declines at once
        async with serving(place, quick) as url, attach_person(TMUX, place.socket, "attach") as here:
            reply = await ask(url, mode, ClientPerson(action), question="Go on?")
            assert b"Go on?" not in here.seen
    assert reply == {"answered": False, "how": "elicitation: declined", "answer": None}


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_client_that_declines_by_itself_leaves_the_question_to_the_popup(action: str) -> None:
    """It declares elicitation, and answers sooner than a person can. Until 2025-11-25 that can be seen."""
    client = ClientPerson(action)
    with private_place() as place, use_home(place):
        place.tmux("new-session", "-d", "-s", "dev", "exec cat")
        patient = PeopleTiming(shortest_answer_s=LIMIT_S)  # however slow this machine is
        async with serving(place, patient) as url, attach_person(TMUX, place.socket, "attach") as here:
            pending = asyncio.create_task(ask(url, "legacy", client, question="Go on?"))
            await see_popup(here)
            here.press("yes\r")
            assert await pending == {"answered": True, "how": "popup", "answer": "yes"}
    assert len(client.asked) == 1


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_accepts_a_form_without_an_answer_leaves_the_question_to_the_popup(
    mode: str,
) -> None:
    """Such a client has not shown its form: an empty answer would be none of a person."""
    client = ClientPerson("accept")
    with private_place() as place, use_home(place):
        place.tmux("new-session", "-d", "-s", "dev", "exec cat")
        async with serving(place) as url, attach_person(TMUX, place.socket, "attach") as here:
            pending = asyncio.create_task(ask(url, mode, client, question="Go on?"))
            await see_popup(here)
            here.press("yes\r")
            assert await pending == {"answered": True, "how": "popup", "answer": "yes"}


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_cannot_ask_leaves_the_question_to_the_popup(mode: str) -> None:
    with private_place() as place, use_home(place):
        place.tmux("new-session", "-d", "-s", "dev", "exec cat")
        async with serving(place) as url, attach_person(TMUX, place.socket, "attach") as here:
            asking = asyncio.create_task(ask(url, mode, None, question="Go on?"))
            await see_popup(here)
            here.press("yes\r")
            assert await asking == {"answered": True, "how": "popup", "answer": "yes"}


@pytest.mark.parametrize("mode", ERAS)
async def test_a_secret_is_never_asked_for_in_a_form(mode: str) -> None:
    person = ClientPerson("accept", "hunter2")
    with private_place() as place, use_home(place):
        place.tmux("new-session", "-d", "-s", "dev", READER)
        async with serving(place) as url:
            reply = await ask(url, mode, person, question="Password?", paneId="dev:", secret=True)
    assert reply["answered"] is False
    assert " attach-session " in reply["how"]
    assert person.asked == []


@pytest.mark.parametrize("mode", ERAS)
async def test_a_secret_is_asked_for_by_a_link_to_the_page_that_runs(mode: str) -> None:
    person = ClientPerson("accept")
    with private_place() as place, use_home(place):
        page = PageAnnouncement(PAGE, lambda: {os.path.realpath(place.socket)})
        place.tmux("new-session", "-d", "-s", "dev", READER)
        await page.open()
        try:
            async with serving(place) as url:
                asking = asyncio.create_task(
                    ask(url, mode, person, question="Password?", paneId="dev:", secret=True)
                )

                async def answer_on_page() -> bool:
                    rows = [row for row in await list_open_questions() if row.socket == place.socket]
                    if not rows or not person.asked:
                        return False
                    return await answer_question(rows[0], "hunter2", Answerer("view")) == ""

                await eventually(answer_on_page)
                reply = await asking
                await wait_until(lambda: "got 7" in place.tmux("capture-pane", "-p", "-t", "dev"))
        finally:
            page.close()
    assert reply == {"answered": True, "how": "view", "answer": None}
    assert person.asked[0].url == PAGE
