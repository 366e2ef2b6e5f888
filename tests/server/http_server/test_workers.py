"""Several processes behind one port: each answers for all sessions, commands, watches and recordings."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.rigs.http_server import TOKEN, HttpClient, answer_of, request, session
from tests.rigs.http_streams import Events, modern, stream
from tests.rigs.http_workers import Workers, serving_by_workers
from tests.rigs.waiting import eventually
from tests.rigs.wire import LIMIT_S, Place

pytestmark = pytest.mark.asyncio(loop_scope="module")

WAIT_MS = 20_000


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workers(place: Place) -> AsyncIterator[Workers]:
    async with serving_by_workers(place, 4, token=TOKEN) as workers:
        yield workers


@pytest_asyncio.fixture(loop_scope="module")
async def each(workers: Workers) -> list[HttpClient]:
    """One client for each worker."""
    return await workers.connect_to_each(4)


@pytest_asyncio.fixture(loop_scope="module")
async def pane(workers: Workers, place: Place) -> str:
    return place.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "stty -echo; exec cat")


async def test_each_worker_opens_sessions_of_its_own(each: list[HttpClient]) -> None:
    numbers = {(await web.open()).partition("-")[0] for web in each}
    assert numbers == {"1", "2", "3", "4"}


async def test_a_session_is_served_by_each_worker_and_ends_for_all(each: list[HttpClient]) -> None:
    identity = await each[0].open()
    for web in each:
        response = await web.post(request("tools/list"), mcp_session_id=identity)
        assert response.status_code == 200
        assert response.headers["mcp-session-id"] == identity
        assert response.json()["result"]["tools"]
    assert (await each[1].send("DELETE", mcp_session_id=identity)).status_code == 200
    for web in each:
        assert (await web.post(request("tools/list"), mcp_session_id=identity)).status_code == 404


async def test_a_stream_comes_through_another_worker_and_is_resumed_through_a_third(
    each: list[HttpClient], place: Place, pane: str
) -> None:
    identity = await each[0].open()
    uri = f"tmux://pane/{pane}"
    await each[3].post(request("resources/subscribe", uri=uri), mcp_session_id=identity)
    async with stream(each[1], "GET", mcp_session_id=identity) as events:
        place.tmux("send-keys", "-t", pane, "x", "Enter")
        assert (await events.next())["params"] == {"uri": uri}
        seen = events.last_id
    place.tmux("kill-pane", "-t", pane)
    async with stream(each[2], "GET", mcp_session_id=identity, last_event_id=seen) as events:
        assert (await events.next())["params"] == {"uri": uri}
        assert int(events.last_id.rpartition("-")[2]) == int(seen.rpartition("-")[2]) + 1


async def test_a_call_through_another_worker_streams_and_can_be_cancelled_through_a_third(
    each: list[HttpClient], pane: str
) -> None:
    identity = await each[0].open()
    given = {"paneId": pane, "triggers": "pattern:never", "timeout": 60, "mode": "quick"}
    body = request("tools/call", name="watch-pane", arguments=given, _meta={"progressToken": 1})
    async with stream(each[1], "POST", body, mcp_session_id=identity) as events:
        assert (await events.next())["method"] == "notifications/progress"
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": body["id"]}}
        assert (await each[2].post(cancel, mcp_session_id=identity)).status_code == 202
        assert await _next_answer(events) == body["id"]


async def test_a_call_goes_on_while_its_client_is_away(
    each: list[HttpClient], place: Place, pane: str
) -> None:
    identity = await each[0].open()
    given = {"paneId": pane, "triggers": "pattern:over", "timeout": 60, "mode": "quick"}
    body = request("tools/call", name="watch-pane", arguments=given, _meta={"progressToken": 1})
    async with stream(each[1], "POST", body, mcp_session_id=identity) as events:
        assert (await events.next())["method"] == "notifications/progress"
        seen = events.last_id
    place.tmux("send-keys", "-t", pane, "over", "Enter")
    async with stream(each[2], "GET", mcp_session_id=identity, last_event_id=seen) as events:
        assert await _next_answer(events) == body["id"]


async def _next_answer(events: Events) -> Any:
    """Skip progress, and return the id of the answer."""
    while "id" not in (message := await events.next()):
        assert message["method"] == "notifications/progress"
    return message["id"]


async def test_what_one_worker_is_asked_another_tells(each: list[HttpClient], place: Place) -> None:
    pane = place.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "/bin/sh")
    one, two = await each[0].open(), await each[1].open()
    asked = await each[0].call(one, "execute-command", paneId=pane, command="echo $((40 + 2))", waitMs=0)
    told = await each[1].call(two, "get-command-result", commandId=asked["commandId"], waitMs=WAIT_MS)
    assert (told["status"], told["output"].split()) == ("completed", ["42"])
    stateless = await _call_stateless(
        each[2], "get-command-result", commandId=asked["commandId"], waitMs=WAIT_MS
    )
    assert (stateless["status"], stateless["output"].split()) == ("completed", ["42"])
    page = await each[0].call(one, "read-pane", paneId=pane)
    await each[1].call(two, "execute-command", paneId=pane, command="echo later", waitMs=WAIT_MS)
    rest = await each[3].call(two, "read-pane", paneId=pane, since=page["cursor"])
    assert "later" in json.dumps(rest)
    assert "42" not in json.dumps(rest)


async def test_watches_and_recordings_are_known_to_each_worker(
    each: list[HttpClient], place: Place, pane: str
) -> None:
    one, two = await each[0].open(), await each[1].open()
    watch = await each[0].call(one, "notify-when", paneId=pane, triggers="pattern:now")
    where = str(place.home / "pane.cast")
    recording = await each[0].call(one, "record-pane", paneId=pane, action="start", path=where)
    assert recording["recording"]
    for web in each:
        assert (await web.call(two, "get-watch", watchId=watch["watchId"]))["status"] == "watching"
    place.tmux("send-keys", "-t", pane, "now", "Enter")
    for web in each:

        async def is_told(web: HttpClient = web) -> bool:
            found = await web.call(two, "get-watch", watchId=watch["watchId"])
            return bool((found["status"], found.get("event")) == ("done", "pattern:now"))

        await eventually(is_told)
    stopped = await each[1].call(two, "record-pane", paneId=pane, action="stop")
    assert (stopped["path"], stopped["recording"]) == (where, False)


async def _call_stateless(web: HttpClient, tool: str, **arguments: Any) -> Any:
    body, headers = modern("tools/call", name=tool, arguments=arguments)
    return answer_of(await web.post(body, **headers))["result"]["structuredContent"]


@pytest.mark.parametrize(
    "identity", ["{n}-" + "0" * 32, "99-" + "0" * 32, "0-" + "0" * 32, "../1", "1", "2-"]
)
async def test_a_session_that_no_worker_has_does_not_exist(each: list[HttpClient], identity: str) -> None:
    for number, web in enumerate(each, 1):
        given = identity.format(n=number, zeros="0" * 32)
        assert (await web.post(request("tools/list"), mcp_session_id=given)).status_code == 404
        assert (await web.send("GET", mcp_session_id=given)).status_code == 404
        assert (await web.send("DELETE", mcp_session_id=given)).status_code == 404


async def test_the_number_of_another_worker_does_not_open_a_session(each: list[HttpClient]) -> None:
    number, _, secret = (await each[0].open()).partition("-")
    for other in {"1", "2", "3", "4"} - {number}:
        forged = f"{other}-{secret}"
        assert (await each[0].post(request("tools/list"), mcp_session_id=forged)).status_code == 404


async def test_the_session_of_another_worker_needs_the_token_too(each: list[HttpClient]) -> None:
    identity = await each[0].open()
    for web in each:
        refused = await web.post(request("tools/list"), mcp_session_id=identity, authorization="Bearer no")
        assert refused.status_code == 401
        refused = await web.post(request("tools/list"), mcp_session_id=identity, host="evil.example")
        assert refused.status_code == 421


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_twenty_clients_of_both_eras_are_told_what_happens(workers: Workers, place: Place) -> None:
    """Let the SDK's clients and stateless ones follow panes; each opens connections as it likes."""
    panes = [
        place.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "stty -echo; exec cat") for _ in range(2)
    ]
    began = asyncio.Semaphore(0)

    async def follow_in_session(pane: str) -> None:
        told = asyncio.Event()

        async def note(message: Any) -> None:
            told.set()

        async with session(workers.web, message_handler=note) as client:
            await client.subscribe_resource(f"tmux://pane/{pane}")
            assert (await client.call_tool("list-panes", {})).structured_content
            began.release()
            await asyncio.wait_for(told.wait(), LIMIT_S)
            assert (await client.call_tool("list-panes", {})).structured_content

    async def follow_without_session(pane: str) -> None:
        wanted = {"resourceSubscriptions": [f"tmux://pane/{pane}"]}
        body, headers = modern("subscriptions/listen", notifications=wanted)
        async with stream(workers.web, "POST", body, **headers) as events:
            await events.next()  # what is followed
            began.release()
            assert (await events.next())["method"] == "notifications/resources/updated"
        assert await _call_stateless(workers.web, "list-panes")

    async def print_in_panes() -> None:
        for _ in range(20):
            await asyncio.wait_for(began.acquire(), LIMIT_S)
        for pane in panes:
            place.tmux("send-keys", "-t", pane, "x", "Enter")

    kinds = (follow_in_session, follow_without_session)
    following = [kinds[number % 2](panes[number // 2 % 2]) for number in range(20)]
    await asyncio.gather(print_in_panes(), *following)
