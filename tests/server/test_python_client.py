"""The SDK's own stdio client starts muxpilot, as an MCP client in Python does."""

from __future__ import annotations

from tests.rigs.sdk_client import start_sdk_client
from tests.rigs.wire import private_place


async def test_the_sdks_stdio_client_starts_the_server_and_calls_a_tool() -> None:
    with private_place() as place, (place.home / "log").open("w+") as log:
        async with start_sdk_client(place, log=log) as client:
            made = await client.call_tool("create-session", {"name": "sdk", "command": "cat"})
            assert not made.is_error
            assert place.tmux("has-session", "-t", "=sdk") == ""
        assert (place.home / "log").read_text() == ""
