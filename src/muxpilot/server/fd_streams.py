"""Read lines and write bytes on two descriptors, on the event loop and without threads."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LARGEST_LINE = 4 << 20
# The capacity of a pipe on Linux. Less than this unsent counts as sent.
PIPE_CAPACITY = 1 << 16

_READ = 1 << 18


@contextmanager
def take_over_descriptor(descriptor: int, mode: int) -> Iterator[int]:
    """Move a descriptor to a private number, and put something harmless in its old place meanwhile."""
    private = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    was_blocking = os.get_blocking(private)
    instead = os.open(os.devnull, mode) if descriptor == 0 or not _is_open(2) else os.dup(2)
    os.dup2(instead, descriptor)
    os.close(instead)
    os.set_blocking(private, False)
    try:
        yield private
    finally:
        os.set_blocking(private, was_blocking)  # a terminal is shared with the process that started us
        os.close(private)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


class LineReader:
    """Reads lines from a descriptor until its end, or until `end` is called.

    The descriptor stays registered with the event loop as long as a task waits whenever data arrives. This
    saves two system calls per line. A plain file cannot be registered, and need not be: it never blocks.
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
        # Takes a line at once, without waking the task that waits for lines. Returns False to leave it there.
        self.take_at_once: Callable[[bytes], bool] | None = None

    def feed(self, data: bytes) -> None:
        """Take bytes that were read from the descriptor already."""
        if data:
            self._split_lines(data)

    def end(self) -> None:
        """Report the end of input from now on, and drop lines that were not read."""
        self._lines.clear()
        self._is_ended = True
        self._wake()

    def close(self) -> None:
        """Stop watching the descriptor. Call this before it is closed."""
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_reader(self._descriptor)

    async def read_line(self) -> bytes | None:
        """Return the next line without its line feed, or None at the end."""
        while not self._lines and not self._is_ended:
            if self._is_watched or not self._read():
                await self._wait_until_readable()
            elif not self._lines:
                await asyncio.sleep(0)  # let other tasks run, even if a client never stops sending
        return self._lines.popleft() if self._lines else None

    def _read(self) -> bool:
        """Read once. Return False if nothing was there; the end of input counts as something."""
        try:
            data = os.read(self._descriptor, _READ)
        except BlockingIOError:
            return False
        except OSError:
            data = b""  # the other end was reset, which is an end too
        self._split_lines(data)
        return True

    async def _wait_until_readable(self) -> None:
        if not self._is_watched:
            self._loop.add_reader(self._descriptor, self._on_readable)
            self._is_watched = True
        self._waiting = self._loop.create_future()
        await self._waiting

    def _on_readable(self) -> None:
        if self._waiting is None or self._waiting.done():
            self.close()  # no task waits for a line: leave the data in the pipe
        elif self._read():
            take = self.take_at_once
            while self._lines and take is not None and take(self._lines[0]):
                self._lines.popleft()
            if self._lines or self._is_ended:
                self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _split_lines(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._append_to_line(piece)
            self._finish_line()
        self._append_to_line(rest)
        if not data:
            self._is_ended = True
            if self._rest.strip():
                self._finish_line()  # the last line may lack its line feed

    def _finish_line(self) -> None:
        kind = TooLongLine if self._size > LARGEST_LINE else bytes
        self._lines.append(kind(self._rest))
        self._rest.clear()
        self._size = 0

    def _append_to_line(self, piece: bytes) -> None:
        self._rest += piece
        self._size += len(piece)
        if self._size > LARGEST_LINE:
            del self._rest[TooLongLine.KEPT : -TooLongLine.KEPT]


class TooLongLine(bytes):
    """The first and last bytes of a line that is longer than a request may be."""

    __slots__ = ()

    KEPT = 256


class ByteWriter:
    """Writes bytes to a descriptor, whole and in order, even if a task that wrote them is cancelled.

    Bytes that the descriptor does not take at once wait in memory. `wait_for_room` waits until fewer do.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._progress = asyncio.Event()
        self._is_closed = False

    def write(self, data: bytes) -> None:
        """Write without waiting. After `close`, do nothing."""
        if self._unsent:
            self._unsent += data
        elif not self._is_closed:
            self._unsent += data[self._send(data) :]
            if self._unsent:
                self._loop.add_writer(self._descriptor, self._flush)

    async def wait_for_room(self, most: int) -> None:
        """Wait until at most this many bytes are unsent."""
        while len(self._unsent) > most:
            self._progress.clear()
            await self._progress.wait()

    def close(self) -> None:
        """Discard unsent bytes, and everything that is written from now on."""
        if self._unsent:
            self._loop.remove_writer(self._descriptor)
        self._is_closed = True
        self._unsent.clear()
        self._progress.set()

    def _flush(self) -> None:
        del self._unsent[: self._send(self._unsent)]
        if not self._unsent and not self._is_closed:
            self._loop.remove_writer(self._descriptor)
        self._progress.set()

    def _send(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.close()  # the client has closed its end; the end of stdin will follow
            return len(data)
