"""A source of streams: tmux's pipe-pane writes the output of one pane into a private FIFO.

tmux reads a terminal to its end before it closes one that is piped. So a pane that is piped from its start
loses no output.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shlex
from collections.abc import Callable
from pathlib import Path

from muxpilot.tmux.connection.control_line import BracedCommands
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.hosts.temporary_folder import TemporaryFolder, remove_fifo
from muxpilot.tmux.objects.launch import Launch
from muxpilot.tmux.quote import escape_format
from muxpilot.tmux.streams.exit_mark import ExitMarkFilter
from muxpilot.tmux.streams.stream import ExitStatus, PaneStream
from muxpilot.trace import Trace, area

_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 16
_ALREADY_PIPED = b"taken"


class PipeSource:
    """Reads a FIFO into a stream. `on_end` is called once, when no process has the FIFO open for writing.

    With a `launch`, its exit mark is taken out of the output, and `exit_status` is what the mark says.
    """

    def __init__(
        self,
        folder: TemporaryFolder,
        stream: PaneStream,
        on_end: Callable[[PipeSource], None],
        launch: Launch | None = None,
        *,
        trace: Trace | None = None,
    ) -> None:
        self.stream = stream
        self._launch = launch
        self._on_end = on_end
        self._trace = (trace or area("tmux")).child(pane=stream.pane)
        self._fifo: Path = folder.create_fifo("pane")
        self._reader = os.open(self._fifo, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with contextlib.suppress(OSError, AttributeError):  # beyond the user's limit, or not Linux
            fcntl.fcntl(self._reader, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._marks = ExitMarkFilter(launch.mark if launch is not None else "", self._trace)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._reader, self._on_readable)

    @property
    def exit_status(self) -> ExitStatus | None:
        """Return what the exit mark says, or None before it was seen."""
        return self._marks.exit_status

    @property
    def is_replaced(self) -> bool:
        """Return False: no other muxpilot can end this pipe."""
        return False

    def pipe_command(self) -> Command:
        """Return the command that starts the pipe, unless the pane has one already: tmux allows only one."""
        pane = self.stream.pane
        fifo = shlex.quote(str(self._fifo))
        # Opened for reading and writing first: opening a FIFO for writing only waits for a reader, and we may
        # be gone already.
        program = escape_format(f"exec 3<>{fifo}; exec cat >{fifo} 3<&-", is_strftime=True)
        refuse = BracedCommands.of(("display-message", "-p", _ALREADY_PIPED))
        return (
            *("if-shell", "-F", "-t", pane, "#{pane_pipe}", refuse),
            BracedCommands.of(("pipe-pane", "-O", "-t", pane, program)),
        )

    @staticmethod
    def was_refused(lines: list[tuple[bytes, ...]]) -> bool:
        return (_ALREADY_PIPED,) in lines

    def close(self) -> None:
        """Stop reading, and let the program end or start if it waits for us."""
        self.stop_reading()
        if self._launch is not None:
            self._launch.release()

    def stop_reading(self) -> None:
        """Stop reading, but keep the program waiting: another source may still be found for it."""
        if self._reader >= 0:
            self._loop.remove_reader(self._reader)
            os.close(self._reader)
            self._reader = -1
            remove_fifo(self._fifo)

    def _on_readable(self) -> None:
        try:
            data = os.read(self._reader, _READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self._feed(data)
            return
        self._trace.debug(
            "pipe closed by tmux", at=self.stream.end, has_exit_mark=self.exit_status is not None
        )
        self.stream.feed(self._marks.flush())
        self.close()
        self._on_end(self)

    def _feed(self, data: bytes) -> None:
        """Pass on all output but the exit mark."""
        passed = self._marks.filter(data)
        if self.exit_status is not None and self._launch is not None:
            self._launch.confirm_end()
        if passed:
            self.stream.feed(passed)
