"""The tmux servers that `peers.py` compares: how each is started, and how its tools are called."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

VENVS = Path(__file__).parents[1] / ".cache" / "peers"
ANSWER_LIMIT_S = 60
COMMAND_LIMIT_S = 5
LONGEST_LINE = 1 << 24


@dataclass(frozen=True, slots=True)
class Peer:
    """A server, and how its documentation says it is used."""

    name: str
    create: str
    size: tuple[str, str]
    list_panes: str
    list_sessions: str
    run: str
    pane: str
    exit_code: str
    session: str = "name"
    timeout: str = "timeout"
    every_pane: Mapping[str, object] = field(default_factory=dict)
    every_session: Mapping[str, object] = field(default_factory=dict)
    for_long_output: Mapping[str, object] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return VENVS / self.name

    @property
    def argv(self) -> list[str]:
        return [str(self.folder / "bin" / self.name)]


class Muxpilot(Peer):
    __slots__ = ()

    @property
    def argv(self) -> list[str]:
        return [sys.executable, "-m", "muxpilot"]


OURS = Muxpilot(
    name="muxpilot",
    create="create-session",
    size=("width", "height"),
    list_panes="list-panes",
    list_sessions="list-sessions",
    run="execute-command",
    pane="paneId",
    timeout="timeoutSeconds",
    exit_code="exitCode",
)
RIVALS = (
    Peer(
        name="libtmux-mcp",
        create="create_session",
        session="session_name",
        size=("x", "y"),
        list_panes="list_panes",
        list_sessions="list_sessions",
        run="run_command",
        pane="pane_id",
        exit_code="exit_status",
    ),
    Peer(
        name="tmux-mcp-server",
        create="create_session",
        size=("width", "height"),
        list_panes="list_panes",
        every_pane={"all_panes": True},
        list_sessions="list_sessions",
        run="run_command",
        pane="target",
        exit_code="exit_code",
    ),
    Peer(
        name="mcp-tmux",
        create="tmux_new_session",
        size=("width", "height"),
        list_panes="tmux_list_panes",
        list_sessions="tmux_list",
        every_session={"kind": "session"},
        run="tmux_run",
        pane="target_pane",
        exit_code="exit_code",
        for_long_output={"history": 10_000},
    ),
)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a server said of a command."""

    lines: Sequence[str]
    exit_code: int | None
    seconds: float


class Client:
    """One server process, asked one thing at a time."""

    def __init__(self, peer: Peer, process: asyncio.subprocess.Process) -> None:
        self.peer = peer
        self.refusals: list[str] = []
        self._process = process
        self._ids = count(1)

    async def ask(self, method: str, params: Mapping[str, object]) -> Any:
        number = next(self._ids)
        self._write({"id": number, "method": method, "params": params})
        assert self._process.stdout is not None
        async with asyncio.timeout(ANSWER_LIMIT_S):
            while line := await self._process.stdout.readline():
                message = json.loads(line)
                if message.get("id") == number:
                    return message["result"]
        raise RuntimeError(f"{self.peer.name} has ended")

    async def tools(self) -> Any:
        who = {"name": "bench", "version": "1"}
        given = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}
        await self.ask("initialize", given)
        self._write({"method": "notifications/initialized"})
        return await self.ask("tools/list", {})

    async def call(self, tool: str, arguments: Mapping[str, object]) -> Any:
        """The answer's text as what it stands for; all of these servers write JSON."""
        result = await self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(block["text"] for block in result["content"])
        if result.get("isError"):
            raise RuntimeError(f"{self.peer.name}, {tool}: {text}")
        return json.loads(text)

    async def new_pane(self, session: str) -> str:
        """A fresh pane whose shell has answered once."""
        peer, (width, height) = self.peer, self.peer.size
        await self.call(peer.create, {peer.session: session, width: 200, height: 50})
        shown = json.dumps(await self.call(peer.list_panes, peer.every_pane))
        pane = max(re.findall(r'"(%\d+)"', shown), key=lambda found: int(found[1:]))
        await self.run(pane, "true")
        return str(pane)

    async def run(self, pane: str, command: str, **options: object) -> Ran:
        peer = self.peer
        began = time.perf_counter()
        given = {peer.pane: pane, "command": command, peer.timeout: COMMAND_LIMIT_S, **options}
        answer = await self.call(peer.run, given)
        while "output" not in answer and time.perf_counter() - began < COMMAND_LIMIT_S:
            self.refusals.append(str(answer))
            answer = await self.call(peer.run, given)
        if "output" not in answer:
            raise RuntimeError(f"{peer.name}, {peer.run}: {answer}")
        output, code = answer["output"], answer[peer.exit_code]
        lines = output.splitlines() if isinstance(output, str) else output
        return Ran(lines, None if code == -1 else code, time.perf_counter() - began)

    async def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 10)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def _write(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


async def start(peer: Peer, home: str) -> Client:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *peer.argv,
        stdin=pipe,
        stdout=pipe,
        stderr=asyncio.subprocess.DEVNULL,
        limit=LONGEST_LINE,
        cwd=home,
        env=kept | {"HOME": home, "TMUX_TMPDIR": home, "SHELL": "/bin/bash", "TERM": "xterm-256color"},
    )
    return Client(peer, process)


@contextmanager
def private_home() -> Iterator[str]:
    """A folder that is HOME and holds the socket of the tmux that `tmux` then means."""
    folder = tempfile.mkdtemp(prefix="mx", dir="/tmp")
    try:
        yield folder
    finally:
        env = os.environ | {"TMUX_TMPDIR": folder}
        env.pop("TMUX", None)
        subprocess.run(["tmux", "kill-server"], env=env, stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(folder, ignore_errors=True)
