"""A muxpilot whose default tmux is on another host: a private sshd on loopback with its own tmux."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from muxpilot.app import App, build
from muxpilot.config.model import ServerEntry, Settings
from muxpilot.config.scope import Scope
from tests.rigs import sshd
from tests.rigs.app_calls import AppCalls
from tests.rigs.homes import make_home
from tests.rigs.sshd import Sshd
from tests.rigs.waiting import LIMIT_S, end_server, eventually
from tests.rigs.wire import Wire, serving
from tests.shells.conftest import Barrier

PROMPT = "far$ "
WAIT_MS = 30_000


@dataclass
class RemoteHost(AppCalls):
    """The other host: its sshd and tmux (`raw` runs commands there), and a muxpilot that uses it."""

    sshd: Sshd
    folder: Path
    app: App | None = None
    count: int = 0
    kept: dict[str, str] = field(default_factory=dict)

    @property
    def socket(self) -> str:
        return str(self.folder / "s")

    def settings(self, **more: Any) -> Settings:
        return Settings(scope=Scope.ALL, socket=self.socket, ssh=self.sshd.arguments, **more)

    def entry(self, socket: str | None = None) -> ServerEntry:
        return ServerEntry(ssh=self.sshd.arguments, socket=socket or self.socket)

    def raw(self, *args: str) -> str:
        argv = ["tmux", "-u", "-S", self.socket, "-f", "/dev/null", *args]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=True)
        return done.stdout.rstrip("\n")

    async def text(self, tool: str, /, **arguments: Any) -> str:
        assert self.app is not None
        answer = await self.app.dispatch.call(tool, arguments)
        assert not answer.is_error, answer.text
        return answer.text

    async def fails(self, tool: str, /, **arguments: Any) -> str:
        assert self.app is not None
        answer = await self.app.dispatch.call(tool, arguments)
        assert answer.is_error, answer.text
        return answer.text

    def use_shell(self, shell: str) -> None:
        """Let new panes have this shell: a test before may have chosen another."""
        found = shutil.which(shell)
        if found is None:
            pytest.skip(f"no {shell} here")
        self.raw("set-option", "-g", "default-shell", found)

    async def pane(self, shell: str = "bash") -> str:
        """Create a pane there with this shell, and return its id."""
        self.use_shell(shell)
        self.count += 1
        made = await self.call("create-session", name=f"s{self.count}", width=100, height=30)
        pane: str = made["paneId"]
        return pane

    async def shared(self) -> str:
        """Return one pane for all tests of a module that leave it unchanged."""
        if "bash" not in self.kept:
            self.kept["bash"] = await self.pane()
        return self.kept["bash"]

    async def shows(self, pane: str, wanted: str) -> str:
        async def look() -> str:
            screen = self.raw("capture-pane", "-p", "-t", pane)
            return screen if wanted in screen else ""

        return str(await eventually(look))

    async def is_at_its_prompt(self, pane: str) -> bool:
        """Return whether the shell waits for a line: the last line of the screen is only its prompt."""
        screen = self.raw("capture-pane", "-p", "-t", pane).rstrip()
        return screen.rpartition("\n")[2] == PROMPT.rstrip()


@asynccontextmanager
async def run_muxpilot(far: RemoteHost, settings: Settings) -> AsyncIterator[RemoteHost]:
    """Run an application with these settings. Several may use the same host."""
    app = build(settings)
    try:
        yield RemoteHost(far.sshd, far.folder, app)
    finally:
        await app.close()


@contextmanager
def run_host(*, address: str = "127.0.0.1", inside: Sequence[str] = ()) -> Iterator[RemoteHost]:
    """Run a host with its own home folder, and a login shell that prints a banner."""
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    make_home(folder / "home")
    (folder / "keys").mkdir()
    (folder / "home" / ".profile").write_text(f"PS1='{PROMPT}'\n")
    (folder / "home" / ".bashrc").write_text("echo a login shell that talks\n")
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "PS1": PROMPT,
    }
    try:
        with sshd.run_sshd(folder / "keys", variables, address=address, inside=inside) as server:
            yield RemoteHost(server, folder)
    finally:
        end_server("tmux", str(folder / "s"))
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def host() -> Iterator[RemoteHost]:
    with run_host() as far:
        yield far


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def far(host: RemoteHost) -> AsyncIterator[RemoteHost]:
    """The host with a muxpilot, and a session there that keeps tmux running."""
    async with run_muxpilot(host, host.settings()) as far:
        await far.call("create-session", name="keeper", command="cat")
        yield far


@pytest_asyncio.fixture(loop_scope="module")
async def mended(far: RemoteHost) -> None:
    """Restore the host before each test. An attempt that began before may still be refused."""
    if far.sshd.process is None:
        far.sshd.start()

    async def is_reached() -> bool:
        assert far.app is not None
        return not (await far.app.dispatch.call("list-sessions", {})).is_error

    await eventually(is_reached)


@pytest.fixture
def barrier(tmp_path: Path) -> Barrier:
    return Barrier(tmp_path / "barrier")


@asynccontextmanager
async def another_muxpilot(far: RemoteHost, *args: str, is_killed: bool = False) -> AsyncIterator[Wire]:
    """Run a muxpilot as a process of its own that uses the far host. All have the same home."""
    where = ("--scope", "all", "--socket", far.socket, f"--ssh={far.sshd.arguments}", *args)
    home = far.folder / "desk"
    home.mkdir(exist_ok=True)
    async with serving(home, *where) as wire:
        await wire.shake_hands()
        try:
            yield wire
        finally:
            if is_killed:
                await wire.kill()


def far_generations(far: RemoteHost, pane: str) -> list[Path]:
    """Return the folders of a pane's journals on the far host."""
    base = far.folder / "home/.local/state/muxpilot/far/1"
    return sorted(base.glob(f"*/{pane[1:]}/*-*"))


async def wait_for_end(far: RemoteHost, pane: str) -> None:
    """Wait until the shell of a pane is at its prompt again, or has ended.

    A dead pane may stay until a muxpilot looks: tmux 3.3a sometimes loses the end of its program.
    """

    async def is_over() -> bool:
        try:
            is_dead = far.raw("display-message", "-p", "-t", pane, "#{pane_dead}") == "1"
            return is_dead or await far.is_at_its_prompt(pane)
        except subprocess.CalledProcessError:
            return True  # the pane is gone

    await eventually(is_over)
