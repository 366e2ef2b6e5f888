"""An agent's commands inside a container, recorded as a GIF.

python docs/examples/container.py docs/container.gif podman exec -i web

The words after the file are the command of `--exec`. The container needs /bin/sh, cat and tmux.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

LIMIT_S = 120
PROMPT = "PS1='\\[\\e[1;32m\\]web\\[\\e[0m\\]:\\w$ '"
QUESTION = "read -rp 'Restart the service? ' answer; echo the answer is $answer"
TOLD = ("paneId", "output", "exitCode", "status", "waitingFor", "event")


def main(film: Path, command: str) -> None:
    with tempfile.TemporaryDirectory(prefix="mx") as home:
        cast = asyncio.run(record(Path(home), command))
        replay = ("replay", str(cast), "--gif", str(film), "--speed", "0.12")
        argv = [sys.executable, "-m", "muxpilot", *replay]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S)


async def record(home: Path, command: str) -> Path:
    """Start muxpilot as a client would, with `--exec`, and let an agent work."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "muxpilot", "--scope", "all", "--exec", command],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"},
    )
    async with (
        asyncio.timeout(LIMIT_S),
        stdio_client(server) as streams,
        ClientSession(*streams) as client,
    ):
        await client.initialize()
        return await work(client, home)


async def work(client: ClientSession, folder: Path) -> Path:
    """Do what an agent might do in a container, in one recorded pane. Return the recording."""
    cast = folder / "container.cast"
    await call(client, "list-servers")
    session = await call(client, "create-session", name="agent", width=80, height=20)
    pane = session["paneId"]
    await call(client, "execute-command", paneId=pane, command=f"{PROMPT}; cd /")
    await call(client, "execute-command", paneId=pane, command="printf '\\033[H\\033[2J'")
    await call(client, "record-pane", paneId=pane, action="start", path=str(cast))
    for line in ("echo this is pid $$ of the container", "ps -e -o pid,args", "ls /srv/missing"):
        await call(client, "execute-command", paneId=pane, command=line)
    asked = await call(client, "execute-command", paneId=pane, command=QUESTION)
    await call(client, "send-keys", paneId=pane, keys="yes", enter=True)
    await call(client, "get-command-result", commandId=asked["commandId"], waitMs=5000)
    steps = "for i in 1 2 3; do echo step $i; done"
    await call(client, "start-and-watch", paneId=pane, command=steps, pattern="step 3")
    await call(client, "record-pane", paneId=pane, action="stop")
    await call(client, "kill-session", sessionId=session["sessionId"])
    return cast


async def call(client: ClientSession, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool, and print what an agent says and hears."""
    result = await client.call_tool(tool, arguments)
    [block] = result.content
    assert isinstance(block, TextContent)
    if result.is_error:
        raise SystemExit(f"{tool}: {block.text}")
    answer = result.structured_content or {}
    told = {key: answer[key] for key in TOLD if answer.get(key) is not None}
    print(f"{tool} {json.dumps(arguments)}\n  -> {json.dumps(told)}")
    return answer


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit("usage: container.py OUT.gif COMMAND…")
    main(Path(sys.argv[1]).absolute(), shlex.join(sys.argv[2:]))
