"""A client of FastMCP: `fastmcp_client.py URL`, or `stdio COMMAND…`. It prints what it saw as JSON.

It runs with a Python of its own, in which FastMCP is installed.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
from typing import Any

fastmcp: Any = importlib.import_module("fastmcp")
transports: Any = importlib.import_module("fastmcp.client.transports")


async def drive(transport: Any) -> dict[str, Any]:
    async with fastmcp.Client(transport) as client:
        made = await client.call_tool("create-session", {"name": "fast", "command": "cat"})
        pane = made.structured_content["paneId"]
        typed = await client.call_tool("send-keys", {"paneId": pane, "keys": "x", "enter": True})
        missing = await client.call_tool("kill-pane", {"paneId": "%99"}, raise_on_error=False)
        resources = await client.list_resources()
        seen = {
            "version": client.protocol_version,
            "tools": len(await client.list_tools()),
            "prompts": len(await client.list_prompts()),
            "templates": len(await client.list_resource_templates()),
            "read": len(await client.read_resource(resources[0].uri)),
            "typed": typed.structured_content["paneId"] == pane,
            "failed": missing.is_error,
        }
        await client.call_tool("kill-session", {"sessionId": "fast"})
        return seen


async def main() -> None:
    url, *command = sys.argv[1:]
    if url == "stdio":
        transport = transports.StdioTransport(command[0], command[1:], env=dict(os.environ), keep_alive=False)
    else:
        transport = transports.StreamableHttpTransport(url)
    print(json.dumps(await drive(transport)))  # noqa: T201


asyncio.run(main())
