"""What several engine tests need: programs in panes, people at terminals, and what either of them saw."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from muxpilot import Program, Tmux
from muxpilot.tmux import Data, End, PaneId, PaneStream
from tests.rigs.waiting import LIMIT_S, eventually

Raw = Callable[..., str]

SIZE = (30, 100)  # rows, columns of a person's terminal
_END = b"<the end>"


async def until(check: Callable[[], object], *, limit_s: float = LIMIT_S) -> object:
    """`eventually` for a question that needs no await."""

    async def ask() -> object:
        return check()

    return await eventually(ask, limit_s=limit_s)


def stream_of(tmux: Tmux, pane: PaneId) -> PaneStream:
    stream = tmux.streams.of(pane)
    assert stream is not None
    return stream


async def whole(stream: PaneStream) -> tuple[bytes, End]:
    """Everything from the first byte to the end; a gap fails."""
    seen = bytearray()
    async with asyncio.timeout(LIMIT_S):
        async for event in stream.follow(0):
            if isinstance(event, End):
                return bytes(seen), event
            assert isinstance(event, Data), event
            seen += event.data
    raise AssertionError("the stream has no end")


async def printed(stream: PaneStream, wanted: bytes) -> bytes:
    """Everything up to the first time that the pane has printed this."""
    seen = bytearray()
    async with asyncio.timeout(LIMIT_S):
        async for event in stream.follow(0):
            seen += getattr(event, "data", b"")
            if wanted in seen:
                return bytes(seen)
    raise AssertionError(f"{wanted!r} is not in {bytes(seen)!r}")


@dataclass
class Reader:
    """A pane whose program writes every byte that reaches it to a file."""

    tmux: Tmux
    pane: PaneId
    _file: Path
    _read: int = 0

    async def got(self) -> bytes:
        """What has arrived since the last time: all of it, for an end mark is sent after it."""
        await self.tmux.input.send_bytes(self.pane, _END)
        await until(lambda: self._file.read_bytes()[self._read :].endswith(_END))
        data = self._file.read_bytes()[self._read :]
        self._read += len(data)
        return data.removesuffix(_END)


async def reading(tmux: Tmux, folder: Path, *, modes: str = "", name: str = "reader") -> Reader:
    """Open a pane in raw mode; `modes` are the escape sequences that its program sends first."""
    file = folder / f"{name}.bytes"
    program = Program(f"stty raw -echo; printf '{modes}READY'; exec cat >{file}")
    made = await tmux.sessions.create(name, program=program)
    await printed(stream_of(tmux, made.pane_id), b"READY")
    await until(file.exists)
    return Reader(tmux, made.pane_id, file)


@dataclass
class Person:
    """Somebody at a terminal, and what it has shown them."""

    tty: str
    process: subprocess.Popen[bytes]
    _master: int
    seen: bytearray = field(default_factory=bytearray)

    async def sees(self, text: bytes) -> None:
        await until(lambda: text in self.seen)

    def read(self) -> None:
        try:
            self.seen += os.read(self._master, 1 << 16)
        except OSError:  # tmux has let go of the terminal
            asyncio.get_running_loop().remove_reader(self._master)


@asynccontextmanager
async def person(binary: str, socket: str, *args: str) -> AsyncIterator[Person]:
    """Attached when the block begins, gone after it."""
    master, slave = pty.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
    someone = Person(
        os.ttyname(slave),
        subprocess.Popen(
            [binary, "-u", "-S", socket, *args],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm"},
            start_new_session=True,
        ),
        master,
    )
    os.close(slave)
    loop = asyncio.get_running_loop()
    loop.add_reader(master, someone.read)
    try:
        await until(lambda: someone.tty in _ttys(binary, socket))
        yield someone
    finally:
        loop.remove_reader(master)
        os.close(master)
        await until(lambda: someone.process.poll() is not None)


def _ttys(binary: str, socket: str) -> list[str]:
    argv = [binary, "-S", socket, "list-clients", "-F", "#{client_tty}"]
    return subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False).stdout.split()


def ran_nothing(raw: Raw, canary: Path) -> bool:
    """Whether a command that tmux may have started has left its canary; a later one has finished here."""
    raw("run-shell", "true")
    return not canary.exists()
