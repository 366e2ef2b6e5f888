"""A muxpilot in this process, on a private tmux with a person's session, and panes with any shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from muxpilot.app import App, build
from muxpilot.config import Settings
from muxpilot.config.scope import Scope
from muxpilot.tmux import PaneId, PaneStream
from tests.rigs.waiting import LIMIT_S, end_server, eventually

# The name in a test's id, and the program and arguments that give such a shell.
SHELLS = ("bash", "zsh", "fish", "dash", "ash", "ksh93", "mksh")
# The command that opens one inside another, without a person's start-up files.
NESTED = {
    "bash": "bash --norc",
    "zsh": "zsh -f",
    "fish": "fish --no-config",
    "dash": "dash",
    "ksh93": "ksh93",
    "mksh": "mksh",
    "ash": "busybox sh",
}
# Of what a line editor draws, all but the characters themselves.
_UNDRAWN = re.compile(rb"\x1b\[[0-9;?]*[@-~]|[^ -~]")


@dataclass(frozen=True)
class Gate:
    """A command, in the words of any shell, that ends when it is let through and not before."""

    file: Path

    @property
    def command(self) -> str:
        return f"sh -c 'until [ -e {self.file} ]; do sleep 0.02; done'"

    def open(self) -> None:
        self.file.touch()


@dataclass
class Desk:
    """Its panes begin in a folder of its own: what we are called must stand in no prompt by chance."""

    app: App
    folder: Path
    socket: str
    panes: dict[str, str] = field(default_factory=dict)
    _count: int = 0

    async def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        answer = await self.app.dispatch.call(tool, arguments)
        assert answer.structured is not None, answer.text
        return answer.structured

    async def fails(self, tool: str, /, **arguments: Any) -> str:
        answer = await self.app.dispatch.call(tool, arguments)
        assert answer.is_error, answer.text
        return answer.text

    async def run(self, pane: str, command: str, **more: Any) -> dict[str, Any]:
        more.setdefault("timeoutSeconds", LIMIT_S)
        return await self.call("execute-command", paneId=pane, command=command, **more)

    async def result(self, answer: dict[str, Any], wait_ms: int = int(LIMIT_S * 1000)) -> dict[str, Any]:
        return await self.call("get-command-result", commandId=answer["commandId"], waitMs=wait_ms)

    async def begun(self, pane: str, command: str) -> dict[str, Any]:
        """A command of a program that stays, when that has the terminal."""
        answer = await self.run(pane, command, timeoutSeconds=0.05)

        async def runs() -> bool:
            return bool((await self.result(answer, wait_ms=0))["status"] == "running")

        await eventually(runs)  # before, an sh may be in front that is about to become the pane's shell
        await self.in_front(pane, command.split()[0])
        return answer

    async def in_front(self, pane: str, program: str) -> None:
        async def has_the_terminal() -> bool:
            return self.raw("display-message", "-p", "-t", pane, "#{pane_current_command}") == program

        await eventually(has_the_terminal)

    async def at_prompt(self, pane: str) -> None:
        """A command has ended as soon as its shell says so: the prompt comes after."""

        async def is_at_prompt() -> bool:
            return bool((await self.call("pane-state", paneId=pane))["waitingFor"] == "shell")

        await eventually(is_at_prompt)

    async def queued(self, answer: dict[str, Any], reason: str) -> None:
        """Wait until a command is held back for this reason."""

        async def is_held_back() -> bool:
            now = await self.result(answer, wait_ms=0)
            assert now["status"] == "queued", now
            return reason in (now["reason"] or "")

        await eventually(is_held_back)

    def gate(self) -> Gate:
        return Gate(self.folder / f"gate-{self.name()}")

    def raw(self, *args: str) -> str:
        """What a person would type."""
        argv = ["tmux", "-u", "-S", self.socket, "-f", "/dev/null", *args]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=True)
        return done.stdout.rstrip("\n")

    def program(self, shell: str) -> str:
        found = shutil.which("busybox" if shell == "ash" else shell)
        if found is None:
            pytest.skip(f"no {shell} here")
        if shell != "ash":
            return found
        link = self.folder / "ash"
        if not link.exists():
            link.symlink_to(found)
        return str(link)

    def name(self) -> str:
        self._count += 1
        return f"s{self._count}"

    async def ours(self, shell: str = "bash") -> str:
        """A new pane of ours with this shell."""
        self.raw("set-option", "-g", "default-shell", self.program(shell))
        made = await self.call("create-session", name=self.name(), width=100, height=30, cwd=str(self.folder))
        pane: str = made["paneId"]
        return pane

    async def shared(self, shell: str) -> str:
        """One pane of ours for all tests of a module that leave it as it was."""
        if shell not in self.panes:
            self.panes[shell] = await self.ours(shell)
        return self.panes[shell]

    async def persons(self, *command: str, shows: str) -> str:
        """A pane that a person opened, when it shows its prompt."""
        size = ("-x", "100", "-y", "30")
        new = ("new-session", "-dP", "-F", "#{pane_id}", "-s", self.name(), "-c", str(self.folder))
        pane = self.raw(*new, *size, *command)
        await self.shows(pane, shows)
        return pane

    def screen(self, pane: str) -> str:
        return self.raw("capture-pane", "-p", "-t", pane)

    async def shows(self, pane: str, wanted: str) -> str:
        async def look() -> str:
            screen = self.screen(pane)
            return screen if wanted in screen else ""

        return str(await eventually(look))

    async def heard(self, pane: str, wanted: bytes) -> None:
        """Wait until the stream of a pane that commands have run in has this near its end."""
        stream = self._stream(pane)

        async def look() -> bool:
            return wanted in stream.read(stream.end - 400, stream.end)

        await eventually(look)

    async def half_typed(self, pane: str, text: str) -> None:
        """A person's hands at the prompt, when the end of what they typed has come."""
        await self.at_prompt(pane)
        stream = self._stream(pane)
        begin = stream.end
        self.type(pane, text)

        async def look() -> bool:
            drawn = _UNDRAWN.sub(b"", stream.read(begin, stream.end))
            return text[-2:].encode() in drawn

        await eventually(look)

    def _stream(self, pane: str) -> PaneStream:
        stream = self.app.servers.default.streams.of(PaneId(pane))
        assert stream is not None
        return stream

    def type(self, pane: str, text: str, *keys: str) -> None:
        """A person's hands."""
        pressed = (";", "send-keys", "-t", pane, *keys) if keys else ()
        self.raw("send-keys", "-t", pane, "-l", "--", text, *pressed)


@pytest.fixture(scope="module")
def tmux_program() -> str | None:
    """The tmux of a module's tests, if not the system's."""
    return None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmux_program: str | None) -> AsyncIterator[Desk]:
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    (folder / "bin").mkdir()
    if tmux_program is not None:
        (folder / "bin" / "tmux").write_text(f'#!/bin/sh\nexec {tmux_program} "$@"\n')
        (folder / "bin" / "tmux").chmod(0o755)
    home = folder / "home"
    home.mkdir()
    (home / "data").mkdir()
    socket = str(folder / "s")
    clean = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "HOME": str(home),
        "SHELL": "/bin/bash",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PWD": str(home),
    }
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(clean)
    app = build(Settings(scope=Scope.ALL, socket=socket))
    try:
        desk = Desk(app, folder, socket)
        desk.raw("new-session", "-d", "-s", "keeper", "-c", str(home), "cat")
        yield desk
    finally:
        await app.close()
        end_server("tmux", socket)
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(folder, ignore_errors=True)
