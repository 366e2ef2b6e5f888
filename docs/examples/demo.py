"""`./dev run`: muxpilot at work, on a tmux of its own, through a real MCP client."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

LIMIT_S = 30


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mx") as folder:
        socket = str(Path(folder) / "s")
        server = StdioServerParameters(command=sys.executable, args=["-m", "muxpilot", "--socket", socket])
        async with (
            asyncio.timeout(LIMIT_S),
            stdio_client(server) as streams,
            ClientSession(*streams) as client,
        ):
            await client.initialize()
            await show(client, socket)


async def show(client: ClientSession, socket: str) -> None:
    print(f"muxpilot offers {len((await client.list_tools()).tools)} tools. An agent takes a pane:\n")
    session = await call(client, "create-session", name="demo", command="PS1='$ ' sh", width=80, height=12)
    pane = session["paneId"]
    first = await new_text(client, pane, None, "$ ")
    await call(client, "send-keys", paneId=pane, keys="seq 1 100000 | tail -n 3", enter=True)
    second = await new_text(client, pane, first["cursor"], "100000\n$ ")
    await call(client, "send-keys", paneId=pane, keys="sleep 1000", enter=True)
    await call(client, "send-keys", paneId=pane, keys="C-c", literal=False)
    await new_text(client, pane, second["cursor"], "^C")
    print("\nWhat a person sees who attaches to it:\n")
    print("\n".join(f"  | {line}" for line in (await call(client, "capture-pane", paneId=pane)).splitlines()))
    print(f"\n  tmux -S {socket} attach -t demo\n")
    await call(client, "kill-session", sessionId=session["sessionId"])


async def new_text(client: ClientSession, pane: str, since: str | None, wanted: str) -> dict[str, Any]:
    """Read only what is new, until it is what we wait for."""
    while True:
        arguments = {"paneId": pane} | ({"since": since} if since else {})
        answer = await ask(client, "read-pane", arguments)
        if wanted in answer["text"]:
            tell("read-pane", arguments, {"text": answer["text"], "newLines": answer["newLines"]})
            return dict(answer)
        await asyncio.sleep(0.02)


async def call(client: ClientSession, tool: str, /, **arguments: Any) -> Any:
    answer = await ask(client, tool, arguments)
    if isinstance(answer, dict):
        tell(tool, arguments, answer)
    return answer


async def ask(client: ClientSession, name: str, arguments: dict[str, Any]) -> Any:
    result = await client.call_tool(name, arguments)
    [block] = result.content
    assert isinstance(block, TextContent)
    if result.is_error:
        raise SystemExit(f"{name}: {block.text}")
    return result.structured_content or block.text


def tell(name: str, arguments: dict[str, Any], answer: dict[str, Any]) -> None:
    given = ", ".join(f"{key}={value!r}" for key, value in arguments.items() if key != "since")
    print(f"  {name}({given})\n    -> {answer}")


if __name__ == "__main__":
    asyncio.run(main())
