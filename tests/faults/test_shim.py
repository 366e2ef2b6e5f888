"""Whatever tmux does at the n-th request of a tool, the tool answers in time and leaves no damage.

`MUXPILOT_FAULTS=5 ./dev test tests/faults` tries n = 1 to 5; without it only the first.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from muxpilot.app import App, build
from muxpilot.config.flags import load_settings
from muxpilot.config.scope import Scope
from muxpilot.tmux import Tmux, servers
from muxpilot.toolkit.spec import Tool
from muxpilot.tools import TOOLS
from tests.faults.shim import Shim
from tests.rigs.waiting import LIMIT_S, end_server, eventually, patient
from tests.tools.test_every_tool import GOOD, MORE

NAMES = [tool.name for tool in TOOLS if Scope.ALL in tool.scopes]
DEEPEST = int(os.environ.get("MUXPILOT_FAULTS", "1"))
CASES = [(kind, at) for kind in ("fail", "die", "hang") for at in range(1, DEEPEST + 1)]

# How long the engine waits for tmux, and how much longer a call may take.
PATIENCE_S = 0.4
GRACE_S = 6.0
WORKERS = 4

# Shorter waits for tools that wait by themselves.
QUICK: dict[str, dict[str, Any]] = {
    "start-and-watch": {"timeout": 0.3},
    "watch-pane": {"timeout": 0.3},
    "wait-for-pane-change": {"timeoutMs": 300},
    "notify-when": {"timeout": 0.3},
    "run-in-repl": {"timeout": 0.3},
    "run-on": {"timeoutSeconds": 0},
}


class Bench:
    """One application on one tmux with one shim."""

    def __init__(self, folder: Path, app: App, shim: Shim, real: str) -> None:
        self.folder = folder
        self.app = app
        self.shim = shim
        self._real = real

    def raw(self, *args: str) -> str:
        argv = [self._real, "-u", "-S", str(self.folder / "s"), "-f", "/dev/null", *args]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 0, f"{args}: {done.stderr}"
        return done.stdout.strip()

    def arguments(self, tool: Tool) -> dict[str, Any]:
        row = "#{pane_id} #{window_id} #{session_id}"
        new = ("new-session", "-d", "-P", "-F", row, "exec sleep 1000")
        pane, window, session = self.raw(*new).split()
        other, _, elsewhere = self.raw(*new).split()
        targets: dict[str, Any] = {
            "paneId": pane,
            "sourcePaneId": pane,
            "targetPaneId": other,
            "windowId": window,
        }
        targets |= {"sessionId": session, "targetSessionId": elsewhere, "panes": [{"paneId": pane}]}
        required = tool.input_schema.get("required", [])
        good = {name: targets.get(name, GOOD.get(name)) for name in required}
        return good | MORE.get(tool.name, {}) | QUICK.get(tool.name, {}) | _paths_inside(tool, self.folder)

    async def try_tool(self, tool: Tool, kind: str, at: int) -> str | None:
        """Call a tool with a fault armed. Return a description of what is wrong, or None."""
        arguments = self.arguments(tool)
        await self.app.dispatch.call("list-panes", {})  # connect first, which is the usual state
        self.shim.arm(kind, at)
        began = time.monotonic()
        answer = await asyncio.wait_for(self.app.dispatch.call(tool.name, arguments), LIMIT_S)
        took_s = time.monotonic() - began
        self.shim.disarm()
        what = f"{tool.name}, {kind} at {at}: {answer.text[:200]}"
        if answer.error == "incident":
            return what
        if took_s > patient(PATIENCE_S + GRACE_S):
            return f"{what}, after {took_s:.1f} s"
        return await self._find_damage(what)

    async def _find_damage(self, what: str) -> str | None:
        """Check that later calls are answered correctly. Return a description of the damage, or None."""

        async def answers() -> bool:
            return (await self.app.dispatch.call("list-sessions", {})).error is None

        try:
            await eventually(answers, limit_s=patient(LIMIT_S))
        except AssertionError:
            return f"{what}; and then list-sessions: {await self.app.dispatch.call('list-sessions', {})}"
        try:
            await eventually(self._lists_what_there_is, limit_s=patient(LIMIT_S))
        except AssertionError:
            return f"{what}; and then the list of sessions is wrong"
        try:
            await eventually(self._has_no_stray_buffer, limit_s=patient(LIMIT_S))
        except AssertionError:
            return f"{what}; buffers left: {self._stray_buffers()}"
        return None

    async def _has_no_stray_buffer(self) -> bool:
        return not self._stray_buffers()

    def _stray_buffers(self) -> list[str]:
        names = self.raw("list-buffers", "-F", "#{buffer_name}").split()
        return [name for name in names if name not in ("good", "better", "seed")]

    async def _lists_what_there_is(self) -> bool:
        listed = (await self.app.dispatch.call("list-sessions", {})).structured or {"sessions": []}
        rows = self.raw("list-sessions", "-F", "#{session_id}:#{session_name}").splitlines()
        real = {row.partition(":")[0] for row in rows if ":muxpilot-hub" not in row}
        return {row["id"] for row in listed["sessions"]} == real


def _paths_inside(tool: Tool, folder: Path) -> dict[str, Any]:
    """Return paths in the test's folder for arguments that name files."""
    return {"path": str(folder)} if tool.name == "socket-for-path" else {}


def _tmux_with_shim(socket: str, **more: Any) -> Tmux:
    """Create a Tmux that uses the shim in the socket's folder, with a short time limit."""
    return Tmux(socket, binary=str(Path(socket).parent / "bin" / "tmux"), timeout_s=PATIENCE_S, **more)


@asynccontextmanager
async def run_bench() -> AsyncIterator[Bench]:
    real = shutil.which("tmux") or "tmux"
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    shim = Shim(folder, real)
    app = build(load_settings({}, scope="all", socket=str(folder / "s")))
    bench = Bench(folder, app, shim, real)
    try:
        bench.raw("new-session", "-d", "-s", "keeper", ";", "set-buffer", "-b", "seed", "x")
        yield bench
    finally:
        await asyncio.wait_for(app.close(), LIMIT_S)
        await eventually(lambda: _has_no_process(shim))
        end_server(real, str(folder / "s"))
        shutil.rmtree(folder, ignore_errors=True)


async def _has_no_process(shim: Shim) -> bool:
    return not shim.processes()


async def _try_tools(names: Iterator[str], bench: Bench, kind: str, at: int) -> list[str]:
    tools = {tool.name: tool for tool in TOOLS}
    found = []
    for name in names:
        wrong = await bench.try_tool(tools[name], kind, at)
        if wrong:
            found.append(wrong)
    return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("kind", "at"), CASES, ids=lambda value: str(value))
async def test_every_tool_answers_in_time_and_leaves_all_as_it_was(
    monkeypatch: pytest.MonkeyPatch, kind: str, at: int
) -> None:
    monkeypatch.setattr(servers, "Tmux", _tmux_with_shim)
    names = iter(NAMES)

    async def worker() -> list[str]:
        async with run_bench() as bench:
            return await _try_tools(names, bench, kind, at)

    found = await asyncio.gather(*(worker() for _ in range(WORKERS)))
    assert [line for lines in found for line in lines] == []
