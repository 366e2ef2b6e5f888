"""Two descriptors on the event loop: lines come in, bytes go out, and nothing waits in a thread."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

LARGEST_LINE = 4 << 20
# What a pipe holds: less than this unsent is as good as sent.
PIPE = 1 << 16

_READ = 1 << 18


@contextmanager
def taken(descriptor: int, mode: int) -> Iterator[int]:
    """The wire on a private descriptor, and something harmless in its old place."""
    private = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    was_blocking = os.get_blocking(private)
    instead = os.open(os.devnull, mode) if descriptor == 0 or not _is_open(2) else os.dup(2)
    os.dup2(instead, descriptor)
    os.close(instead)
    os.set_blocking(private, False)
    try:
        yield private
    finally:
        os.set_blocking(private, was_blocking)  # a terminal is shared with whoever started us
        os.close(private)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


class Reader:
    """Lines from a descriptor, until its end or `end`.

    It is watched for as long as somebody waits by the time that more comes, which spares the kernel two
    calls for each line. A file cannot be watched, and need not be: it never makes a reader wait.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lines: deque[bytes] = deque()
        self._rest = bytearray()
        self._size = 0
        self._waiting: asyncio.Future[None] | None = None
        self._is_watched = False
        self._is_ended = False

    def end(self) -> None:
        self._lines.clear()
        self._is_ended = True
        self._wake()

    def close(self) -> None:
        """Before the descriptor is."""
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_reader(self._descriptor)

    async def line(self) -> bytes | None:
        while not self._lines and not self._is_ended:
            if self._is_watched or not self._read():
                await self._until_readable()
            elif not self._lines:
                await asyncio.sleep(0)  # a client that never stops sending does not keep the loop for itself
        return self._lines.popleft() if self._lines else None

    def _read(self) -> bool:
        """Whether there was anything, an end included."""
        try:
            data = os.read(self._descriptor, _READ)
        except BlockingIOError:
            return False
        except OSError:
            data = b""  # the other end was reset: as good as its end
        self._take(data)
        return True

    async def _until_readable(self) -> None:
        if not self._is_watched:
            self._loop.add_reader(self._descriptor, self._readable)
            self._is_watched = True
        self._waiting = self._loop.create_future()
        await self._waiting

    def _readable(self) -> None:
        if self._waiting is None or self._waiting.done():
            self.close()  # nobody wants it yet: it waits in the pipe
        elif self._read() and (self._lines or self._is_ended):
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _take(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._keep(piece)
            self._finish_line()
        self._keep(rest)
        if not data:
            self._is_ended = True
            if self._rest.strip():
                self._finish_line()  # the last one may lack its line feed

    def _finish_line(self) -> None:
        kind = TooLong if self._size > LARGEST_LINE else bytes
        self._lines.append(kind(self._rest))
        self._rest.clear()
        self._size = 0

    def _keep(self, piece: bytes) -> None:
        self._rest += piece
        self._size += len(piece)
        if self._size > LARGEST_LINE:
            del self._rest[TooLong.KEPT : -TooLong.KEPT]


class TooLong(bytes):
    """The two ends of a line that is longer than a request may be."""

    __slots__ = ()

    KEPT = 256


class Writer:
    """Bytes to a descriptor, whole and in order, whoever stops waiting meanwhile.

    What is not taken at once waits in memory, and `room` for there to be less of it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._written = asyncio.Event()
        self._is_closed = False

    def write(self, data: bytes) -> None:
        if self._unsent:
            self._unsent += data
        elif not self._is_closed:
            self._unsent += data[self._send(data) :]
            if self._unsent:
                self._loop.add_writer(self._descriptor, self._flush)

    async def room(self, most: int) -> None:
        """Wait until no more than this is unsent."""
        while len(self._unsent) > most:
            self._written.clear()
            await self._written.wait()

    def close(self) -> None:
        """What is unsent is given up, and so is everything from now on."""
        if self._unsent:
            self._loop.remove_writer(self._descriptor)
        self._is_closed = True
        self._unsent.clear()
        self._written.set()

    def _flush(self) -> None:
        del self._unsent[: self._send(self._unsent)]
        if not self._unsent and not self._is_closed:
            self._loop.remove_writer(self._descriptor)
        self._written.set()

    def _send(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.close()  # nobody reads any more; the end of stdin will follow
            return len(data)
