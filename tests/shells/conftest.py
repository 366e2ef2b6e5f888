"""A muxpilot in this process, with a private tmux server and panes with any shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from muxpilot.app import App, build
from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope
from muxpilot.tmux import PaneId, PaneStream
from tests.rigs.app_calls import AppCalls
from tests.rigs.homes import make_home
from tests.rigs.waiting import LIMIT_S, end_server, eventually

# The shells that every test of all shells runs with.
SHELLS = ("bash", "zsh", "fish", "dash", "ash", "ksh93", "mksh")
# The command that starts each shell inside another, without start-up files.
NESTED = {
    "bash": "bash --norc",
    "zsh": "zsh -f",
    "fish": "fish --no-config",
    "dash": "dash",
    "ksh93": "ksh93",
    "mksh": "mksh",
    "ash": "busybox sh",
}
# All bytes that a line editor prints, except the characters of the line.
_EDITOR_BYTES = re.compile(rb"\x1b\[[0-9;?]*[@-~]|[^ -~]")


@dataclass(frozen=True)
class Barrier:
    """A command for any shell that runs until the barrier is opened."""

    file: Path

    @property
    def command(self) -> str:
        return f"sh -c 'until [ -e {self.file} ]; do sleep 0.02; done'"

    def open(self) -> None:
        self.file.touch()


@dataclass
class Desk(AppCalls):
    """An application and its tmux server, with helpers that act for an agent and for a person.

    Panes start in a folder of their own, so that no prompt contains the word muxpilot by chance.
    """

    app: App
    folder: Path
    socket: str
    panes: dict[str, str] = field(default_factory=dict)
    _count: int = 0

    async def expect_error(self, tool: str, /, **arguments: Any) -> str:
        answer = await self.app.dispatch.call(tool, arguments)
        assert answer.is_error, answer.text
        return answer.text

    async def get_result(self, answer: dict[str, Any], wait_ms: int = int(LIMIT_S * 1000)) -> dict[str, Any]:
        return await self.call("get-command-result", commandId=answer["commandId"], waitMs=wait_ms)

    async def start_program(self, pane: str, command: str) -> dict[str, Any]:
        """Run a program that does not end, and wait until it has the terminal."""
        answer = await self.run(pane, command, timeoutSeconds=0.05)

        async def runs() -> bool:
            return bool((await self.get_result(answer, wait_ms=0))["status"] == "running")

        await eventually(runs)  # before that, the launcher's sh may be in front
        await self.wait_for_program(pane, command.split()[0])
        return answer

    async def wait_for_program(self, pane: str, program: str) -> None:
        async def has_the_terminal() -> bool:
            return self.run_tmux("display-message", "-p", "-t", pane, "#{pane_current_command}") == program

        await eventually(has_the_terminal)

    async def wait_for_prompt(self, pane: str) -> None:
        """Wait for the prompt. It comes after the mark that ends a command."""

        async def is_at_prompt() -> bool:
            return bool((await self.call("pane-state", paneId=pane))["waitingFor"] == "shell")

        await eventually(is_at_prompt)

    async def wait_until_redrawn(self, pane: str) -> None:
        """Wait until a prompt that draws itself again and again has done so a few times."""
        stream = self._stream(pane)
        begin = stream.end

        async def is_drawn_again() -> bool:
            return stream.read(begin, stream.end).count(b"\x1b]133;B;") > 2

        await eventually(is_drawn_again)

    async def check_exit_codes(self, pane: str) -> None:
        """Run commands with several exit codes, and compare what is told."""
        for number in range(4):
            answer = await self.run(pane, f"sleep 0.{number}; sh -c 'exit {number}'")
            wanted = ("failed" if number else "completed", number)
            assert (answer["status"], answer["exitCode"]) == wanted, answer

    async def wait_until_queued(self, answer: dict[str, Any], reason: str) -> None:
        """Wait until a command is held back for this reason."""

        async def is_held_back() -> bool:
            now = await self.get_result(answer, wait_ms=0)
            assert now["status"] == "queued", now
            return reason in now.get("reason", "")

        await eventually(is_held_back)

    def change_timing(self, monkeypatch: pytest.MonkeyPatch, **times: Any) -> None:
        """Use other times in panes that are opened from now on, and in the registry of commands."""
        shells = self.app.services.shells
        monkeypatch.setattr(shells, "timing", replace(shells.timing, **times))

    def barrier(self) -> Barrier:
        return Barrier(self.folder / f"barrier-{self.unused_name()}")

    def run_tmux(self, *args: str) -> str:
        """Run tmux as a person would, and return its output."""
        argv = ["tmux", "-u", "-S", self.socket, "-f", "/dev/null", *args]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=True)
        return done.stdout.rstrip("\n")

    def find_program(self, shell: str) -> str:
        found = shutil.which("busybox" if shell == "ash" else shell)
        if found is None:
            pytest.skip(f"no {shell} here")
        if shell != "ash":
            return found
        link = self.folder / "ash"
        if not link.exists():
            link.symlink_to(found)
        return str(link)

    def unused_name(self) -> str:
        self._count += 1
        return f"s{self._count}"

    async def own_pane(self, shell: str = "bash") -> str:
        """Create a pane with this shell."""
        self.run_tmux("set-option", "-g", "default-shell", self.find_program(shell))
        made = await self.call(
            "create-session", name=self.unused_name(), width=100, height=30, cwd=str(self.folder)
        )
        pane: str = made["paneId"]
        return pane

    async def shared_pane(self, shell: str) -> str:
        """Return one pane for all tests of a module that leave it unchanged."""
        if shell not in self.panes:
            self.panes[shell] = await self.own_pane(shell)
        return self.panes[shell]

    async def person_pane(self, *command: str, shows: str) -> str:
        """Create a pane as a person would, and wait until it shows its prompt."""
        size = ("-x", "100", "-y", "30")
        new = ("new-session", "-dP", "-F", "#{pane_id}", "-s", self.unused_name(), "-c", str(self.folder))
        pane = self.run_tmux(*new, *size, *command)
        await self.wait_for_screen(pane, shows)
        return pane

    def screen(self, pane: str) -> str:
        return self.run_tmux("capture-pane", "-p", "-t", pane)

    async def wait_for_screen(self, pane: str, wanted: str) -> str:
        async def look() -> str:
            screen = self.screen(pane)
            return screen if wanted in screen else ""

        return str(await eventually(look))

    async def wait_for_output(self, pane: str, wanted: bytes) -> None:
        """Wait until the end of a pane's stream contains this."""
        stream = self._stream(pane)

        async def look() -> bool:
            return wanted in stream.read(stream.end - 400, stream.end)

        await eventually(look)

    async def type_half_line(self, pane: str, text: str) -> None:
        """Type text at the prompt as a person, and wait for its echo."""
        await self.wait_for_prompt(pane)
        stream = self._stream(pane)
        begin = stream.end
        self.type_as_person(pane, text)

        async def look() -> bool:
            drawn = _EDITOR_BYTES.sub(b"", stream.read(begin, stream.end))
            return text[-2:].encode() in drawn

        await eventually(look)

    def _stream(self, pane: str) -> PaneStream:
        stream = self.app.servers.default.streams.find_stream(PaneId(pane))
        assert stream is not None
        return stream

    def type_as_person(self, pane: str, text: str, *keys: str) -> None:
        """Type text and press keys as a person."""
        pressed = (";", "send-keys", "-t", pane, *keys) if keys else ()
        self.run_tmux("send-keys", "-t", pane, "-l", "--", text, *pressed)


@pytest.fixture(scope="module")
def tmux_program() -> str | None:
    """Return the tmux program of a module's tests, if it is not the system's."""
    return None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmux_program: str | None) -> AsyncIterator[Desk]:
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    (folder / "bin").mkdir()
    if tmux_program is not None:
        (folder / "bin" / "tmux").write_text(f'#!/bin/sh\nexec {tmux_program} "$@"\n')
        (folder / "bin" / "tmux").chmod(0o755)
    home = make_home(folder / "home")
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
        desk.run_tmux("new-session", "-d", "-s", "keeper", "-c", str(home), "cat")
        yield desk
    finally:
        await app.close()
        end_server("tmux", socket)
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(folder, ignore_errors=True)
