"""Helpers that follow streams in tests, and a person's pane to follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from muxpilot import Tmux
from muxpilot.tmux import Data, End, Gap, PaneId, PaneProgram, PaneStream
from muxpilot.tmux.streams import StreamEvent
from tests.rigs.engine import Raw, attach_person, wait_until
from tests.rigs.waiting import LIMIT_S, eventually

RAW_TERMINAL = "stty raw -echo"
CAT = PaneProgram(f"{RAW_TERMINAL}; exec cat")
FLOOD = "seq 1 20000; echo LAST"
FLOODED = b"".join(b"%d\r\n" % number for number in range(1, 20001)) + b"LAST\r\n"


def offsets_are_exact(events: list[StreamEvent]) -> bool:
    """Return whether each event begins where the one before it ended."""
    at = 0
    for event in events:
        if isinstance(event, Gap):
            at += event.lost_bytes or 0
        if event.offset != at:
            return False
        at += len(event.data) if isinstance(event, Data) else 0
    return True


class Follower:
    """Reads a stream in the background and keeps its events."""

    def __init__(self, stream: PaneStream) -> None:
        self.events: list[StreamEvent] = []
        self._stream = stream
        self._changed = asyncio.Event()

    @property
    def data(self) -> bytes:
        return b"".join(event.data for event in self.events if isinstance(event, Data))

    @property
    def gaps(self) -> list[Gap]:
        return [event for event in self.events if isinstance(event, Gap)]

    async def read(self) -> None:
        async for event in self._stream.follow(0):
            self.events.append(event)
            self._changed.set()

    async def wait_until(self, check: Callable[[Follower], object], *, limit_s: float = LIMIT_S) -> None:
        async with asyncio.timeout(limit_s):
            while not check(self):
                self._changed.clear()
                await self._changed.wait()

    async def wait_for_bytes(self, text: bytes) -> None:
        await self.wait_until(lambda follower: text in follower.data)

    async def wait_for_end(self, *, limit_s: float = LIMIT_S) -> End:
        await self.wait_until(
            lambda follower: follower.events and isinstance(follower.events[-1], End), limit_s=limit_s
        )
        end = self.events[-1]
        assert isinstance(end, End)
        return end


@asynccontextmanager
async def read_in_background(stream: PaneStream) -> AsyncIterator[Follower]:
    follower = Follower(stream)
    task = asyncio.create_task(follower.read())
    try:
        yield follower
    finally:
        task.cancel()
        await asyncio.wait([task])


@asynccontextmanager
async def follow_pane(tmux: Tmux, pane: str) -> AsyncIterator[Follower]:
    async with tmux.streams.open(PaneId(pane)) as stream, read_in_background(stream) as follower:
        yield follower


@pytest.fixture
def theirs(raw: Raw) -> str:
    """Create a person's pane in which `cat` prints what is typed, and return its id."""
    return raw("new-session", "-d", "-s", "mine", "-P", "-F", "#{pane_id}", f"{RAW_TERMINAL}; exec cat")


async def type_until_echoed(raw: Raw, follower: Follower, pane: str, text: str) -> None:
    """Type a text until its echo arrives: what is printed while the stream has no source is lost."""

    async def is_echoed() -> bool:
        raw("send-keys", "-t", pane, "-l", text)
        return text.encode() in follower.data

    await eventually(is_echoed)


@pytest.fixture
async def unattached_ending_pane(raw: Raw, theirs: str, binary: str, socket: str) -> AsyncIterator[str]:
    """Attach a person to a session that ends when they leave it, and yield its pane."""
    async with attach_person(binary, socket, "attach", "-t", "mine"):
        raw("set-option", "-t", "mine", "destroy-unattached", "on")
        yield theirs


@pytest.fixture
def runtime(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the journals of each test in a folder of its own."""
    path = folder / "run"
    path.mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(path))
    return path


@asynccontextmanager
async def muxpilot(socket: str, binary: str, **more: object) -> AsyncIterator[Tmux]:
    async with Tmux(socket, binary=binary, config="/dev/null", timeout_s=10, **more) as tmux:  # type: ignore[arg-type]
        yield tmux


async def wait_until_raw(raw: Raw, pane: str) -> None:
    """Wait until `cat` runs in a pane: before that, the terminal echoes what is typed."""
    ask = ("display-message", "-p", "-t", pane, "#{pane_current_command}")
    await wait_until(lambda: raw(*ask) == "cat")
