"""The stream of a pane that we made: tmux's pipe-pane writes it into a private FIFO.

tmux reads a terminal empty before it closes one that is piped, so this is the way that loses nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

from muxpilot.tmux.connection.control import Braces
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.hosts.temporary_folder import Scratch, remove_fifo
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.objects.launch import Launch
from muxpilot.tmux.quote import literal
from muxpilot.tmux.streams.stream import Exit, PaneStream

_PIPE_BYTES = 1 << 20
_READ = 1 << 18
_TAKEN = b"taken"
_MARK = rb"\x1b\]7717;%s;([0-9]+);([0-9]*)\x07"


class PipeSource:
    """Reads the FIFO into the stream; `ended` is called once when the other end has gone."""

    def __init__(
        self,
        scratch: Scratch,
        stream: PaneStream,
        ended: Callable[[PipeSource], None],
        launch: Launch | None = None,
    ) -> None:
        self.stream = stream
        self.exit: Exit | None = None
        self._launch = launch
        self._ended = ended
        self._fifo: Path = scratch.fifo("pane")
        self._reader = os.open(self._fifo, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with contextlib.suppress(OSError, AttributeError):  # beyond the user's limit, or not Linux
            fcntl.fcntl(self._reader, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._held = b""
        self._mark = re.compile(_MARK % launch.mark.encode()) if launch else None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._reader, self._readable)

    def command(self) -> Command:
        """Begin to pipe, unless somebody else's pipe is there already: a pane has only one."""
        pane = self.stream.pane
        fifo = shlex.quote(str(self._fifo))
        # Opened both ways first: to open a FIFO for writing waits for a reader, and we may be gone already.
        program = literal(f"exec 3<>{fifo}; exec cat >{fifo} 3<&-", clock=True)
        taken = Braces.around(("display-message", "-p", _TAKEN))
        return (
            *("if-shell", "-F", "-t", pane, "#{pane_pipe}", taken),
            Braces.around(("pipe-pane", "-O", "-t", pane, program)),
        )

    @staticmethod
    def was_refused(lines: list[tuple[bytes, ...]]) -> bool:
        return (_TAKEN,) in lines

    @property
    def pane(self) -> PaneId:
        return self.stream.pane

    def close(self) -> None:
        self.stop_reading()
        if self._launch is not None:
            self._launch.let_go()

    def stop_reading(self) -> None:
        """Without letting the program go: it may yet be followed in another way."""
        if self._reader >= 0:
            self._loop.remove_reader(self._reader)
            os.close(self._reader)
            self._reader = -1
            remove_fifo(self._fifo)

    def _readable(self) -> None:
        try:
            data = os.read(self._reader, _READ)
        except BlockingIOError:
            return
        if data:
            self._feed(self._held + data)
            return
        self.stream.feed(self._held)
        self.close()
        self._ended(self)

    def _feed(self, data: bytes) -> None:
        """Pass on everything but the mark with which a held command tells its end."""
        if self._mark is None:
            self.stream.feed(data)
            return
        found = self._mark.search(data)
        if found is not None and self._launch is not None:
            self.exit = Exit(int(found[1]), int(found[2]) if found[2] else None)
            self._launch.let_go()
            data = data[: found.start()] + data[found.end() :]
        keep = _tail_of_a_mark(data)
        self._held = data[len(data) - keep :] if keep else b""
        if len(data) > keep:
            self.stream.feed(data[: len(data) - keep])


_INTRODUCER = b"\x1b]7717;"
_LONGEST_MARK = 48


def _tail_of_a_mark(data: bytes) -> int:
    """How many of the last bytes may be the beginning of a mark that is not whole yet."""
    at = data.rfind(b"\x1b", max(0, len(data) - _LONGEST_MARK))
    if at < 0:
        return 0
    tail = data[at:]
    whole = len(_INTRODUCER)
    begins = _INTRODUCER.startswith(tail) or (tail[:whole] == _INTRODUCER and b"\x07" not in tail)
    return len(tail) if begins else 0
