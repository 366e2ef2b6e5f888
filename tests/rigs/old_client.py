"""A client of the Python SDK 1.x: `old_client.py URL`, or `stdio COMMAND…`. It prints what it saw as JSON.

It runs with a Python of its own, in which that SDK is installed.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
from typing import Any

# Other than those of the SDK that is installed for development, which the type checker knows.
mcp: Any = importlib.import_module("mcp")
stdio: Any = importlib.import_module("mcp.client.stdio")
http: Any = importlib.import_module("mcp.client.streamable_http")


async def drive(reader: Any, writer: Any) -> dict[str, Any]:
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(type(getattr(message, "root", message)).__name__)

    async with mcp.ClientSession(reader, writer, message_handler=hear) as client:
        hello = await client.initialize()
        made: Any = await client.call_tool("create-session", {"name": "old", "command": "cat"})
        pane = made.structuredContent["paneId"]
        address = mcp.types.AnyUrl(f"tmux://pane/%25{pane[1:]}")
        await client.subscribe_resource(address)
        await client.call_tool("send-keys", {"paneId": pane, "keys": "x", "enter": True})
        resources = (await client.list_resources()).resources
        missing = await client.call_tool("kill-pane", {"paneId": "%99"})
        seen = {
            "version": hello.protocolVersion,
            "tools": len((await client.list_tools()).tools),
            "prompts": len((await client.list_prompts()).prompts),
            "read": len((await client.read_resource(resources[0].uri)).contents),
            "failed": missing.isError,
        }
        async with asyncio.timeout(20):
            while "ResourceUpdatedNotification" not in heard:
                await client.send_ping()
        # This client fails if a notification comes while it closes. After the ping, none is on its way.
        await client.unsubscribe_resource(address)
        await client.send_ping()
        return seen


async def main() -> None:
    url, *command = sys.argv[1:]
    if url != "stdio":
        async with http.streamablehttp_client(url) as (reader, writer, _):
            print(json.dumps(await drive(reader, writer)))  # noqa: T201
        return
    server = mcp.StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with stdio.stdio_client(server) as (reader, writer):
        print(json.dumps(await drive(reader, writer)))  # noqa: T201


asyncio.run(main())
