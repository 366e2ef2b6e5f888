"""Every protocol revision of the SDK, from the first with a handshake to those without one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from muxpilot import __version__
from muxpilot.config.scope import Scope
from muxpilot.toolkit.listing import list_briefly
from muxpilot.tools import TOOLS
from tests.rigs.wire import ENVELOPE, HANDSHAKE_VERSIONS, MODERN_VERSION, Place, Wire, private_place

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAME_META = "io.modelcontextprotocol/serverInfo"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place() -> AsyncIterator[Place]:
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "era")
        yield place


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def modern(place: Place) -> AsyncIterator[Wire]:
    async with place.serve() as wire:
        wire.use_modern_revision()
        await wire.result("server/discover")  # or the first request may be a handshake, by chance
        yield wire


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
async def test_a_handshake_is_answered_in_the_version_that_was_asked_for(
    place: Place, modern: Wire, version: str
) -> None:
    async with place.serve() as wire:
        hello = await wire.shake_hands(version)
        assert hello["protocolVersion"] == version
        assert hello["serverInfo"]["name"] == "muxpilot"
        assert hello["serverInfo"]["version"] == __version__
        assert hello["capabilities"]["resources"] == {"listChanged": True, "subscribe": True}
        assert "execute-command" in hello["instructions"]
        assert await wire.result("ping") == {}
        tools = (await wire.result("tools/list"))["tools"]
        assert _names(tools) == _names((await modern.result("tools/list"))["tools"]) == _offered()
        assert [row["inputSchema"] for row in tools] == _schemas()
        answer = await wire.result("tools/call", {"name": "list-sessions", "arguments": {}})
        assert '"name":"era"' in answer["content"][0]["text"]


async def test_an_envelope_after_a_handshake_is_refused_and_the_connection_goes_on(place: Place) -> None:
    async with place.serve() as wire:
        await wire.shake_hands()
        for method in ("tools/list", "ping"):
            assert (await wire.error(method, {"_meta": ENVELOPE}))["code"] == -32600
        fault = await wire.error("tools/call", {"name": "list-sessions", "arguments": {}, "_meta": ENVELOPE})
        assert (fault["code"], "handshake" in fault["message"]) == (-32600, True)
        answer = await wire.result("tools/call", {"name": "list-sessions", "_meta": {"progressToken": 1}})
        assert answer["structuredContent"]["sessions"]


async def test_a_handshake_may_come_after_a_notification_and_in_an_envelope(place: Place) -> None:
    async with place.serve() as wire:
        for _ in range(20):
            await wire.notify("notifications/initialized")
        wire.envelope = ENVELOPE
        assert (await wire.shake_hands())["serverInfo"]["name"] == "muxpilot"
        wire.envelope = None
        assert await wire.result("ping") == {}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 7},
        {"name": "list-sessions", "arguments": []},
        {"name": "list-sessions", "arguments": {}, "_meta": 7},
    ],
)
async def test_a_call_of_the_wrong_shape_is_the_same_fault_in_both_eras(
    place: Place, modern: Wire, params: dict[str, Any]
) -> None:
    async with place.serve() as wire:
        early = await wire.error("tools/call", {"name": "list-sessions", "arguments": {}})
        await wire.shake_hands()
        late = await wire.error("tools/call", params)
    assert (early["code"], late["code"]) == (-32602, -32602)
    if "_meta" not in params:
        assert (await modern.error("tools/call", params))["code"] == -32602


@pytest.mark.parametrize("version", ["1999-01-01", MODERN_VERSION])
async def test_a_version_without_a_handshake_is_answered_with_the_newest_that_has_one(
    place: Place, version: str
) -> None:
    async with place.serve() as wire:
        assert (await wire.shake_hands(version))["protocolVersion"] == HANDSHAKE_VERSIONS[-1]


async def test_nothing_is_served_before_the_handshake(place: Place) -> None:
    async with place.serve() as wire:
        assert (await wire.error("tools/list"))["code"] == -32602
        await wire.shake_hands()
        assert len((await wire.result("tools/list"))["tools"]) == len(_offered())
        wire.use_modern_revision()
        assert (await wire.error("tools/list"))["code"] == -32600


async def test_a_modern_client_discovers_what_there_is(modern: Wire) -> None:
    found = await modern.result("server/discover")
    assert found["supportedVersions"] == [MODERN_VERSION]
    assert found["capabilities"]["resources"] == {"listChanged": True, "subscribe": True}
    assert "execute-command" in found["instructions"]
    assert found["_meta"][NAME_META]["name"] == "muxpilot"


async def test_a_modern_client_gets_the_same_tools_and_answers(modern: Wire, place: Place) -> None:
    tools = (await modern.result("tools/list"))["tools"]
    assert _names(tools) == _offered()
    assert [row["inputSchema"] for row in tools] == _schemas()
    result = await modern.result("tools/call", {"name": "list-panes", "arguments": {"sessionId": "era"}})
    assert result["resultType"] == "complete"
    [pane] = result["structuredContent"]["panes"]
    assert pane["id"] == place.tmux("list-panes", "-t", "=era:", "-F", "#{pane_id}")


async def test_a_modern_failure_is_the_same_failure(modern: Wire) -> None:
    result = await modern.result("tools/call", {"name": "kill-pane", "arguments": {"paneId": "%99"}})
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("Pane '%99' not found.")
    assert (await modern.error("tools/call", {"name": "no-such-tool"}))["code"] == -32602
    fault = await modern.error("resources/read", {"uri": "tmux://pane/%99"})
    assert (fault["code"], fault["data"]) == (-32602, {"uri": "tmux://pane/%99"})


@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "resources/subscribe", "initialize"])
async def test_what_the_modern_era_has_not_is_refused(modern: Wire, method: str) -> None:
    params = {"uri": "tmux://pane/%0", "level": "info", "protocolVersion": HANDSHAKE_VERSIONS[-1]}
    fault = await modern.error(method, params)
    assert fault["code"] == (-32022 if method == "initialize" else -32601)


async def test_an_envelope_of_an_unknown_revision_is_refused_by_name(modern: Wire) -> None:
    envelope = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    modern.envelope, kept = None, modern.envelope
    try:
        fault = await modern.error("tools/list", {"_meta": envelope})
    finally:
        modern.envelope = kept
    assert fault["code"] == -32022
    assert fault["data"]["supported"] == [MODERN_VERSION]


def _offered() -> list[str]:
    return [tool.name for tool in TOOLS if Scope.AGENTIC in tool.scopes]


def _schemas() -> list[Any]:
    tools = tuple(tool for tool in TOOLS if Scope.AGENTIC in tool.scopes)
    return [row["inputSchema"] for row in list_briefly(tools)]


def _names(tools: list[dict[str, Any]]) -> list[str]:
    return [row["name"] for row in tools]
