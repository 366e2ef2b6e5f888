"""Servers to measure against: `python bench/variants.py spawning|before FOLDER|bare [ARGS of muxpilot]`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any


def spawning(argv: list[str]) -> int:
    """muxpilot, but every call of tmux is a process of its own."""
    from muxpilot.cli.main import main
    from muxpilot.tmux.connection import oneshot
    from muxpilot.tmux.connection.client_keeper import ClientKeeper
    from muxpilot.tmux.connection.connection import Connection
    from muxpilot.tmux.connection.control_line import BracedCommands
    from muxpilot.tmux.connection.protocol import CommandReply
    from muxpilot.tmux.hosts.endpoint import Command

    def argument(word: str | bytes) -> str | bytes:
        return bytes(word[1:-1]) if isinstance(word, BracedCommands) else word  # argv has no need of braces

    async def alone(self: Connection, commands: tuple[Command, ...]) -> CommandReply:
        plain = [tuple(argument(word) for word in command) for command in commands]
        return await oneshot.run(self.endpoint, plain)

    async def no_client(self: ClientKeeper) -> None:
        """Let each request have a process of its own: there is no client to go through."""

    Connection._send = alone  # type: ignore[method-assign]
    ClientKeeper.connect = no_client  # type: ignore[method-assign]
    return main(argv)


def before(argv: list[str]) -> int:
    """Run version 1, whose source is in the folder that comes first."""
    sys.path.insert(0, f"{argv[0]}/src")
    from muxpilot.cli.main import main

    return main(argv[1:])


def bare(argv: list[str]) -> int:
    """The least that the SDK can be: one tool, the low-level server, its own transport."""
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    async def tools(ctx: Any, params: Any) -> types.ListToolsResult:
        schema = {"type": "object", "properties": {}}
        return types.ListToolsResult(tools=[types.Tool(name="one", description="x", input_schema=schema)])

    async def call(ctx: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text="x")])

    async def run() -> None:
        server: Server[Any] = Server("bare", on_list_tools=tools, on_call_tool=call)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    asyncio.run(run())
    return 0


VARIANTS = {"spawning": spawning, "before": before, "bare": bare}

if __name__ == "__main__":
    raise SystemExit(VARIANTS[sys.argv[1]](sys.argv[2:]))
