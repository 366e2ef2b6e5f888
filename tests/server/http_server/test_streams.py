"""Responses as JSON or as events, streams that are resumed, and the era without sessions."""

from __future__ import annotations

import asyncio
import json
import re
import socket as sockets

import pytest

from muxpilot.app import build
from muxpilot.config.flags import load_settings
from muxpilot.server import http_server
from tests.rigs.http_server import BOTH, HttpClient, answer_of, request
from tests.rigs.http_streams import modern, stream
from tests.rigs.waiting import eventually
from tests.rigs.wire import LIMIT_S, MODERN_VERSION, Place

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON, EVENTS = "application/json", "text/event-stream"


async def test_an_answer_alone_is_json_and_one_after_progress_is_events(web: HttpClient, pane: str) -> None:
    session = await web.open()
    assert (await web.post(request("tools/list"), mcp_session_id=session)).headers["content-type"] == JSON
    given = {"paneId": pane, "triggers": "pattern:never", "timeout": 3, "mode": "quick"}
    params = {"name": "watch-pane", "arguments": given, "_meta": {"progressToken": 1}}
    response = await web.post(request("tools/call", **params), mcp_session_id=session)
    assert response.headers["content-type"] == EVENTS
    assert response.headers["mcp-session-id"] == session
    first, *rest = [json.loads(text) for text in re.findall(r"^data: (.+)$", response.text, re.MULTILINE)]
    assert first["method"] == "notifications/progress"
    assert rest[-1]["result"]["structuredContent"]["event"] == "timeout"


async def test_notifications_wait_for_a_stream_and_are_resumed_where_it_broke(
    web: HttpClient, place: Place, pane: str
) -> None:
    session = await web.open()
    uri = f"tmux://pane/{pane}"
    await web.post(request("resources/subscribe", uri=uri), mcp_session_id=session)
    place.tmux("send-keys", "-t", pane, "x")
    async with stream(web, "GET", mcp_session_id=session) as events:
        assert (await events.next())["params"] == {"uri": uri}
        seen = events.last_id
    place.tmux("kill-pane", "-t", pane)
    async with stream(web, "GET", mcp_session_id=session, last_event_id=seen) as events:
        assert (await events.next())["params"] == {"uri": uri}
        assert int(events.last_id.rpartition("-")[2]) == int(seen.rpartition("-")[2]) + 1
    await web.send("DELETE", mcp_session_id=session)


async def test_a_client_that_resumes_takes_its_stream_over(web: HttpClient) -> None:
    session = await web.open()
    async with stream(web, "GET", mcp_session_id=session) as first:
        assert (await web.send("GET", mcp_session_id=session)).status_code == 409
        async with stream(web, "GET", mcp_session_id=session, last_event_id="n-0") as second:
            assert second.response.status_code == 200
            await asyncio.wait_for(first.response.aread(), LIMIT_S)  # the older one has ended
    await web.send("DELETE", mcp_session_id=session)


async def test_the_rest_of_an_interrupted_answer_is_resumed(web: HttpClient, place: Place, pane: str) -> None:
    session = await web.open()
    given = {"paneId": pane, "triggers": "pattern:over", "timeout": 60, "mode": "quick"}
    body = request("tools/call", name="watch-pane", arguments=given, _meta={"progressToken": 1})
    async with stream(web, "POST", body, mcp_session_id=session) as events:
        assert (await events.next())["method"] == "notifications/progress"
        seen = events.last_id
    place.tmux("send-keys", "-t", pane, "over", "Enter")
    async with stream(web, "GET", mcp_session_id=session, last_event_id=seen) as events:
        while "result" not in (message := await events.next()):
            assert message["method"] == "notifications/progress"
        assert message["id"] == body["id"]
        assert message["result"]["structuredContent"]["event"] == "pattern:over"
    async with stream(web, "GET", mcp_session_id=session, last_event_id=seen) as events:  # and once more
        while "result" not in (message := await events.next()):
            pass
        assert message["id"] == body["id"]
    await web.send("DELETE", mcp_session_id=session)


async def test_an_event_that_is_not_known_opens_the_stream_of_notifications(web: HttpClient) -> None:
    session = await web.open()
    for unknown in ("none", "999-1", "n-12345", "-", "n-"):
        async with stream(web, "GET", mcp_session_id=session, last_event_id=unknown) as events:
            assert events.response.status_code == 200
    await web.send("DELETE", mcp_session_id=session)


@pytest.mark.parametrize(
    ("method", "headers", "status", "code"),
    [
        ("tools/list", {}, 200, None),
        ("no/such", {}, 404, -32601),
        ("ping", {}, 404, -32601),
        ("tools/list", {"mcp_method": "tools/call"}, 400, -32020),
        ("tools/list", {"mcp_protocol_version": "2099-01-01"}, 400, -32020),
        ("resources/read", {}, 400, -32602),
    ],
)
async def test_a_request_without_a_session_has_the_status_of_its_error(
    web: HttpClient, method: str, headers: dict[str, str], status: int, code: int | None
) -> None:
    body, given = modern(method)
    response = await web.post(body, **given | headers)
    assert response.status_code == status
    assert response.headers["content-type"] == JSON
    assert "mcp-session-id" not in response.headers
    assert response.json().get("error", {}).get("code") == code
    assert response.json()["id"] == body["id"]


async def test_what_the_era_without_sessions_has_not_is_refused(web: HttpClient) -> None:
    for method in ("GET", "DELETE"):
        response = await web.send(method, mcp_protocol_version=MODERN_VERSION)
        assert (response.status_code, response.headers["allow"]) == (405, "POST")
    notification = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert (await web.post(notification, mcp_protocol_version=MODERN_VERSION)).status_code == 202
    refused = await web.post(notification, mcp_protocol_version="2099-01-01")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32022)
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert (await web.post(answer, mcp_protocol_version=MODERN_VERSION)).status_code == 400
    body, _ = modern("tools/list")
    assert (await web.post(body)).json()["error"]["code"] == -32020  # an envelope, and no header for it


async def test_a_routing_header_that_is_given_twice_is_refused(web: HttpClient) -> None:
    body, given = modern("tools/list")
    headers = [("content-type", JSON), ("accept", BOTH), *web.headers.items()]
    headers += [(name.replace("_", "-"), value) for name, value in given.items()]
    response = await web.client.post(
        web.url, content=json.dumps(body).encode(), headers=[*headers, ("mcp-method", "tools/list")]
    )
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32020)


async def test_a_call_without_a_session_ends_with_its_connection(
    web: HttpClient, place: Place, pane: str
) -> None:
    given = {"paneId": pane, "keys": "a" * 450, "delayMs": 50}
    body, headers = modern("tools/call", name="send-keys", arguments=given)
    body["params"]["_meta"]["progressToken"] = 1
    async with stream(web, "POST", body, **headers) as events:
        assert (await events.next())["method"] == "notifications/progress"
    body, headers = modern("tools/call", name="send-keys", arguments={"paneId": pane, "keys": "Z"})
    assert not answer_of(await web.post(body, **headers))["result"]["isError"]  # the pane is free again

    async def typed() -> str:
        text = place.tmux("capture-pane", "-p", "-J", "-t", pane)
        return text if "Z" in text else ""

    assert 3 < str(await eventually(typed)).count("a") < 400


async def test_a_listener_without_a_session_is_told_until_it_leaves(place: Place, pane: str) -> None:
    app = build(load_settings({}, scope="all", socket=place.socket))
    listener, stopped = sockets.create_server(("127.0.0.1", 0)), asyncio.Event()
    running = asyncio.create_task(http_server.run(app, [listener], token=None, stopped=stopped))
    web = HttpClient(http_server.address(listener))
    uri = f"tmux://pane/{pane}"
    body, headers = modern("subscriptions/listen", notifications={"resourceSubscriptions": [uri]})
    async with stream(web, "POST", body, **headers) as events:
        assert events.response.headers["content-type"] == EVENTS
        first = await events.next()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        place.tmux("send-keys", "-t", pane, "x")
        told = await events.next()
        assert told["params"]["uri"] == uri
        assert told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == body["id"]
        assert len(app.resources._tasks) == 1

    async def is_left() -> bool:
        return len(app.resources._tasks) == 0

    await eventually(is_left)
    await web.client.aclose()
    stopped.set()
    await asyncio.wait_for(running, LIMIT_S)


async def test_a_result_without_a_session_is_stamped(web: HttpClient) -> None:
    body, headers = modern("tools/call", name="list-sessions", arguments={})
    result = answer_of(await web.post(body, **headers))["result"]
    assert result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "muxpilot"
    assert "ttlMs" not in result
    body, headers = modern("tools/list")
    result = answer_of(await web.post(body, **headers))["result"]
    assert (result["cacheScope"], result["ttlMs"] > 0) == ("private", True)
