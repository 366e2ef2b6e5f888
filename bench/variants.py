"""Servers to measure against: `python bench/variants.py before FOLDER|bare [ARGS of muxpilot]`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any


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


VARIANTS = {"before": before, "bare": bare}

if __name__ == "__main__":
    raise SystemExit(VARIANTS[sys.argv[1]](sys.argv[2:]))
