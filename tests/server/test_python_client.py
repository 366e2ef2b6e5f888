"""The SDK's own stdio client starts muxpilot, as an MCP client in Python does."""

from __future__ import annotations

import sys

from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.rigs.wire import environment, private_place


async def test_the_sdks_stdio_client_starts_the_server_and_calls_a_tool() -> None:
    with private_place() as place, (place.home / "log").open("w+") as log:
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "muxpilot", "--socket", place.socket],
            env=environment(place.home),
            cwd=place.home,
        )
        async with (
            stdio_client(parameters, errlog=log) as (reader, writer),
            ClientSession(reader, writer) as client,
        ):
            await client.initialize()
            made = await client.call_tool("create-session", {"name": "sdk", "command": "cat"})
            assert not made.is_error
            assert place.tmux("has-session", "-t", "=sdk") == ""
        assert (place.home / "log").read_text() == ""
