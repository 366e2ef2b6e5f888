"""A tool puts a question to the person: the SDK's client answers it, in both protocol eras."""

from __future__ import annotations

import asyncio
import socket as sockets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import httpx2
import mcp_types as types
import pytest
from mcp.client.client import Client

from muxpilot.app import App, build
from muxpilot.config.flags import load_settings
from muxpilot.config.scope import Scope
from muxpilot.dispatch import Dispatch
from muxpilot.protocol.elicitation import Elicitation
from muxpilot.records import record
from muxpilot.server import http_server
from muxpilot.server.http_forwarding import OtherWorkers
from muxpilot.toolkit.spec import ONLY_ALL, Effect, tool
from muxpilot.tools.context import Context
from tests.rigs.http_server import HttpClient, initialize_request, request
from tests.rigs.http_streams import stream
from tests.rigs.wire import LIMIT_S, private_place

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@record
class Said:
    action: str
    name: str | None


@tool(Effect.READ, ONLY_ALL, "list")
async def ask_name(ctx: Context, kind: Annotated[str, "form or page"]) -> Said:
    """Ask the person for a name."""
    url = None if kind == "form" else "http://127.0.0.1/x"
    assert ctx.caller.ask_person is not None
    answer = await ctx.caller.ask_person(Elicitation("name", "Your name?", None if url else FORM, url))
    return Said(answer.action, answer.content.get("name"))


def app_with_question(socket: str) -> App:
    app = build(load_settings({}, scope="all", socket=socket))
    asking: Any = app
    asking.dispatch = Dispatch(
        [ask_name],
        Scope.ALL,
        app.servers,
        lambda request, caller, check_part: Context(request.tmux, app.services, caller, check_part),
        locks=app.services.locks,
        workspaces=app.services.workspaces,
    )
    return app


@asynccontextmanager
async def serving(socket: str, others: OtherWorkers | None = None) -> AsyncIterator[str]:
    listener = sockets.create_server(("127.0.0.1", 0))
    stopped = asyncio.Event()
    running = asyncio.create_task(
        http_server.run(app_with_question(socket), [listener], token=None, stopped=stopped, others=others)
    )
    try:
        yield http_server.address(listener)
    finally:
        stopped.set()
        await asyncio.wait_for(running, LIMIT_S)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("kind", ["form", "page"])
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_the_clients_person_answers_the_question_of_a_tool(mode: Any, kind: str, action: Any) -> None:
    asked: list[Any] = []

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params)
        content: Any = {"name": "Ada"} if action == "accept" and kind == "form" else None
        return types.ElicitResult(action=action, content=content)

    with private_place() as place:
        place.tmux("new-session", "-d", "exec cat")
        async with (
            serving(place.socket) as url,
            Client(url, mode=mode, elicitation_callback=answer) as client,
        ):
            result = await client.call_tool("ask-name", {"kind": kind}, read_timeout_seconds=LIMIT_S)
    assert not result.is_error, result.content
    name = "Ada" if action == "accept" and kind == "form" else None
    assert result.structured_content == {"action": action, "name": name}
    [params] = asked
    assert params.message == "Your name?"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_without_a_person_is_told_so(mode: Any) -> None:
    with private_place() as place:
        place.tmux("new-session", "-d", "exec cat")
        async with serving(place.socket) as url, Client(url, mode=mode) as client:
            result = await client.call_tool("ask-name", {"kind": "form"}, read_timeout_seconds=LIMIT_S)
    assert result.is_error
    assert isinstance(result.content[0], types.TextContent)
    assert result.content[0].text == "The client cannot ask its person."


async def test_a_question_and_its_answer_go_through_other_workers() -> None:
    """Ask the session of one worker through a second worker, and answer through that too."""
    hello = initialize_request()
    hello["params"]["capabilities"] = {"elicitation": {}}
    with private_place() as place:
        place.tmux("new-session", "-d", "exec cat")
        async with (
            serving(place.socket, OtherWorkers(place.passing, 1)) as first,
            serving(place.socket, OtherWorkers(place.passing, 2)) as second,
            httpx2.AsyncClient(timeout=LIMIT_S) as http,
        ):
            one, two = HttpClient(first, client=http), HttpClient(second, client=http)
            identity = (await one.post(hello)).headers["mcp-session-id"]
            done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert (await two.post(done, mcp_session_id=identity)).status_code == 202
            body = request("tools/call", name="ask-name", arguments={"kind": "form"})
            async with stream(two, "POST", body, mcp_session_id=identity) as events:
                question = await events.next()
                assert question["method"] == "elicitation/create"
                result = {"action": "accept", "content": {"name": "Ada"}}
                answer = {"jsonrpc": "2.0", "id": question["id"], "result": result}
                assert (await two.post(answer, mcp_session_id=identity)).status_code == 202
                said = await events.next()
    assert said["result"]["structuredContent"] == {"action": "accept", "name": "Ada"}
