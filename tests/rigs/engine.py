"""Helpers of engine tests: programs in panes, people at terminals, and what each of them received."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from muxpilot import PaneProgram, Tmux
from muxpilot.tmux import Data, End, PaneId, PaneStream
from tests.rigs.waiting import LIMIT_S, eventually

Raw = Callable[..., str]

SIZE = (30, 100)  # rows, columns of a person's terminal
_END_MARK = b"<the end>"


async def wait_until(check: Callable[[], object], *, limit_s: float = LIMIT_S) -> object:
    """Wait until a condition holds that needs no await, and return its value."""

    async def ask() -> object:
        return check()

    return await eventually(ask, limit_s=limit_s)


def stream_of(tmux: Tmux, pane: PaneId) -> PaneStream:
    stream = tmux.streams.find_stream(pane)
    assert stream is not None
    return stream


async def read_to_end(stream: PaneStream) -> tuple[bytes, End]:
    """Return all bytes of a stream from the first to the end. A gap fails the test."""
    seen = bytearray()
    async with asyncio.timeout(LIMIT_S):
        async for event in stream.follow(0):
            if isinstance(event, End):
                return bytes(seen), event
            assert isinstance(event, Data), event
            seen += event.data
    raise AssertionError("the stream has no end")


async def read_until(stream: PaneStream, wanted: bytes) -> bytes:
    """Return all bytes of a stream up to the first time that the pane printed this."""
    seen = bytearray()
    async with asyncio.timeout(LIMIT_S):
        async for event in stream.follow(0):
            seen += getattr(event, "data", b"")
            if wanted in seen:
                return bytes(seen)
    raise AssertionError(f"{wanted!r} is not in {bytes(seen)!r}")


@dataclass
class ByteReader:
    """A pane whose program writes every byte that reaches it to a file."""

    tmux: Tmux
    pane: PaneId
    _file: Path
    _read: int = 0

    async def read_new(self) -> bytes:
        """Return all bytes that arrived since the last call: an end mark is sent after them."""
        await self.tmux.input.send_bytes(self.pane, _END_MARK)
        await wait_until(lambda: self._file.read_bytes()[self._read :].endswith(_END_MARK))
        data = self._file.read_bytes()[self._read :]
        self._read += len(data)
        return data.removesuffix(_END_MARK)


async def open_reader(tmux: Tmux, folder: Path, *, modes: str = "", name: str = "reader") -> ByteReader:
    """Open a pane in raw mode; `modes` are the escape sequences that its program sends first."""
    file = folder / f"{name}.bytes"
    program = PaneProgram(f"stty raw -echo; printf '{modes}READY'; exec cat >{file}")
    made = await tmux.sessions.create(name, program=program)
    await read_until(stream_of(tmux, made.pane_id), b"READY")
    await wait_until(file.exists)
    return ByteReader(tmux, made.pane_id, file)


@dataclass
class AttachedPerson:
    """A person who is attached with a terminal, and the bytes that it has shown."""

    tty: str
    process: subprocess.Popen[bytes]
    _master: int
    seen: bytearray = field(default_factory=bytearray)
    # Confirm answers with the codes that popups show from tmux 3.4 on.
    types_codes: bool = True
    codes: list[str] = field(default_factory=list)

    async def wait_for(self, text: bytes) -> None:
        await wait_until(lambda: text in self.seen)

    def press(self, keys: str) -> None:
        """Type at the terminal, as a person does."""
        os.write(self._master, keys.encode())

    def read(self) -> None:
        try:
            self.seen += os.read(self._master, 1 << 16)
            for code in re.findall(rb"Type (\d{4}) to ", self.seen):
                if code.decode() not in self.codes:
                    self.codes.append(code.decode())
                    self.press(code.decode() if self.types_codes else "")
        except OSError:  # tmux has closed the terminal
            asyncio.get_running_loop().remove_reader(self._master)


@asynccontextmanager
async def attach_person(binary: str, socket: str, *args: str) -> AsyncIterator[AttachedPerson]:
    """Attach a person with a terminal of their own for the time of the block."""
    master, slave = pty.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
    someone = AttachedPerson(
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
        await wait_until(lambda: someone.tty in _client_ttys(binary, socket))
        yield someone
    finally:
        loop.remove_reader(master)
        os.close(master)
        await wait_until(lambda: someone.process.poll() is not None)


def _client_ttys(binary: str, socket: str) -> list[str]:
    argv = [binary, "-S", socket, "list-clients", "-F", "#{client_tty}"]
    return subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False).stdout.split()


async def as_kept(tmux: Tmux, text: str) -> str:
    """Return a title, or the name of a new window, as tmux keeps it: from 3.7 on it doubles a backslash."""
    is_doubled = await tmux.connection.server_version() >= (3, 7)
    return text.replace("\\", "\\\\") if is_doubled else text


async def can_name_buffer(tmux: Tmux, name: str) -> bool:
    """Return whether tmux finds a buffer again by the name that it was given.

    From 3.7 on, `set-buffer -a -b NAME` doubles a backslash each time, and so writes to another buffer.
    """
    return "\\" not in name or await tmux.connection.server_version() < (3, 7)


def has_run_nothing(raw: Raw, canary: Path) -> bool:
    """Return whether no command created the canary. A command that tmux starts later has finished by then."""
    raw("run-shell", "true")
    return not canary.exists()
