"""The protocol over HTTP: with and without handshake, progress, cancellation, subscriptions, many clients."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from tests.rigs.http_server import HttpClient, answer_of, request, serving_http, session
from tests.rigs.waiting import eventually
from tests.rigs.wire import LIMIT_S, Place

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def call(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments, read_timeout_seconds=LIMIT_S)
    assert not result.is_error, result.content
    answer: dict[str, Any] = result.structured_content
    return answer


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_both_eras_get_the_same_tools_and_answers(place: Place, mode: Any) -> None:
    async with serving_http(place) as (web, _), Client(web.url, mode=mode) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"list-panes", "execute-command"}
        made = await call(client, "create-session", name=f"era-{mode}", command="cat")
        rows = await call(client, "list-panes", sessionId=f"era-{mode}")
        assert [row["id"] for row in rows["panes"]] == [made["paneId"]]
        result = await client.call_tool("kill-pane", {"paneId": "%999"})
        assert result.is_error
        with pytest.raises(MCPError, match="Unknown tool: none"):
            await client.call_tool("none", {})


async def test_progress_is_told_while_a_call_waits(web: HttpClient, pane: str) -> None:
    told = asyncio.Event()

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.set()

    async with session(web) as client:
        given = {"paneId": pane, "triggers": "pattern:never", "timeout": 20, "mode": "quick"}
        waiting = asyncio.create_task(client.call_tool("watch-pane", given, progress_callback=heard))
        await asyncio.wait_for(told.wait(), LIMIT_S)
        waiting.cancel()
        await asyncio.wait([waiting])


async def test_a_cancelled_call_ends_at_once(web: HttpClient, pane: str) -> None:
    identity = await web.open()
    given = {"paneId": pane, "triggers": "pattern:never", "timeout": 60}
    body = request("tools/call", name="watch-pane", arguments=given)
    waiting = asyncio.create_task(web.post(body, mcp_session_id=identity))
    await web.call(identity, "list-panes")
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": body["id"]}}

    async def is_over() -> bool:
        await web.post(cancel, mcp_session_id=identity)  # it may not have begun when first asked
        return bool((await asyncio.wait([waiting], timeout=0.2))[0])

    await eventually(is_over)
    assert answer_of(waiting.result())["error"]["code"] == -32800


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_a_subscriber_is_told_and_nobody_else_is(web: HttpClient, pane: str, place: Place) -> None:
    heard: dict[str, list[Any]] = {"one": [], "two": []}

    def ear(who: str) -> Any:
        async def hear(message: object) -> None:
            heard[who].append(message)

        return hear

    async with (
        session(web, message_handler=ear("one")) as one,
        session(web, message_handler=ear("two")) as two,
    ):
        uri = f"tmux://pane/{pane}"
        await one.subscribe_resource(uri)

        async def is_told() -> bool:
            place.tmux("send-keys", "-t", pane, "x")  # its stream may open after the subscription
            return bool(heard["one"])

        await eventually(is_told)
        await call(two, "list-panes")
    assert isinstance(heard["one"][0], types.ResourceUpdatedNotification)
    assert heard["two"] == []


async def test_commands_are_known_to_every_client_by_ids_that_nobody_guesses(web: HttpClient) -> None:
    async with session(web) as one, session(web) as two:
        made = await call(one, "create-session", name="shared")
        runs = [
            call(client, "execute-command", paneId=made["paneId"], command=f"echo {word}")
            for client, word in ((one, "one"), (two, "two"))
        ]
        mine, theirs = await asyncio.gather(*runs)
        assert mine["commandId"] != theirs["commandId"]
        assert [mine["output"].strip(), theirs["output"].strip()] == ["one", "two"]
        assert (await call(two, "get-command-result", commandId=mine["commandId"]))["output"] == mine[
            "output"
        ]


async def test_many_clients_at_once_get_their_own_answers(web: HttpClient, place: Place) -> None:
    async def client(number: int) -> None:
        async with session(web) as client:
            name = f"many-{number}"
            await call(client, "create-session", name=name, command="cat")
            for _ in range(5):
                assert (await call(client, "find-session", name=name))["name"] == name

    await asyncio.gather(*(client(number) for number in range(8)))
