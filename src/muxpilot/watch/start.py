"""Where a watch begins: now, or with a command that the pane's shell runs.

The output of a command that its shell marks goes to a stream of its own, which ends with its exit code.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from muxpilot.errors import MuxpilotError
from muxpilot.reading.pane_cursor import StreamPosition
from muxpilot.shells.command import Command
from muxpilot.shells.command_phases import CommandStatus
from muxpilot.shells.command_registry import CommandRegistry
from muxpilot.tasks import TaskSet
from muxpilot.terminal.text import render_lines
from muxpilot.tmux import Pane, PaneStream, Tmux
from muxpilot.tmux.streams import ExitStatus
from muxpilot.trace import area
from muxpilot.watch.watch_start import WatchStart

StartWatch = Callable[[Tmux, Pane, PaneStream], Awaitable[WatchStart]]

# The shells' reader of the pane may be ahead of us by all that the pane's stream remembers.
_MEMORY_BYTES = 4 << 20
_NO_LIMIT_S = 1e9
_ANY_PROMPT = "$ "


async def start_now(tmux: Tmux, pane: Pane, stream: PaneStream) -> WatchStart:
    """Begin with the output that tmux has not read yet."""
    await tmux.streams.catch_up(pane.id, is_exact=True)  # what is shown already is not news
    with suppress(MuxpilotError):  # the pane is gone: its stream reports that
        before = await tmux.capture.text_before_cursor(pane.id)
        return WatchStart(
            stream.end, recently_typed=lambda: tmux.input.recently_typed(pane.id), line_before=before
        )
    return WatchStart(stream.end)


def start_since(position: StreamPosition) -> StartWatch:
    """Return a start at a cursor's position: what was printed after it counts, however long ago."""

    async def start(tmux: Tmux, pane: Pane, stream: PaneStream) -> WatchStart:
        """Begin where the reader of the cursor stopped."""
        lines = render_lines(stream.read(position.offset, position.end))
        return WatchStart(
            position.end,
            recently_typed=lambda: tmux.input.recently_typed(pane.id),
            line_before=lines[-1] if lines else "",
            is_past=True,
        )

    return start


def start_command(text: str, shells: CommandRegistry, *, call: int | None = None) -> StartWatch:
    """Return a start that runs a command in the pane's shell; the watch gets all of its output.

    `call` is the number of the call that asks for it, for the log.
    """

    async def start(tmux: Tmux, pane: Pane, stream: PaneStream) -> WatchStart:
        """Submit the command and return where its output begins."""
        prepared: list[_WatchedCommand] = []

        def prepare(command: Command) -> None:
            """Take the output from the first byte on: the command may begin before `submit` returns."""
            prepared.append(_WatchedCommand(command, shells, tmux, pane, pane_end=stream.end))

        try:
            command = await shells.submit(tmux, pane.id, text, prepare=prepare, call=call)
        except BaseException:
            for watched in prepared:
                await watched.stop()
            raise
        [watched] = prepared
        return WatchStart(
            0,
            watched.stream,
            watched.stop,
            has_begun=lambda: command.status is not CommandStatus.QUEUED,
            # A shell that is still setting up its terminal echoes twice, with its prompt or without it.
            recently_typed=lambda: (text,),
            line_before=_ANY_PROMPT,
            is_incomplete=lambda: _is_incomplete(command),
            pane_offset=watched.pane_offset,
        )

    return start


class _WatchedCommand:
    """A command whose output goes to a stream of its own, which ends with its exit code."""

    def __init__(
        self, command: Command, shells: CommandRegistry, tmux: Tmux, pane: Pane, *, pane_end: int
    ) -> None:
        """Feed the stream from now on. `pane_end` is the offset in the pane's stream."""
        self.stream = PaneStream(pane.id, memory_bytes=_MEMORY_BYTES)
        self._command = command
        self._shells = shells
        self._tmux = tmux
        self._pane = pane
        self._pane_end = pane_end
        self._tasks = TaskSet(area("watch").child(server=tmux.socket, pane=pane.id, command=command.id))
        self._tasks.start(_end_stream_with_command(command, self.stream))
        command.output.on_bytes = self._feed

    def pane_offset(self) -> int:
        """Return the offset in the pane's stream: after a command without output, its end."""
        is_over = self.stream.end_event is not None
        return self._read_offset() if is_over else self._pane_end

    async def stop(self) -> None:
        """Stop feeding the stream, and withdraw a command that has not begun."""
        self._command.output.on_bytes = None
        self._shells.withdraw(self._command)
        await self._tasks.close()

    def _feed(self, data: bytes) -> None:
        self.stream.feed(data)
        self._pane_end = self._read_offset()

    def _read_offset(self) -> int:
        """Return how far the shells' reader of the pane has read its stream."""
        shell = self._shells.find_pane(self._tmux, self._pane.id)
        return shell.pane.activity.read_offset if shell is not None else self._pane_end


async def _end_stream_with_command(command: Command, stream: PaneStream) -> None:
    """Wait for the end of the command, and end its stream. An incomplete command never begins."""
    while not command.status.is_final and not _is_incomplete(command):
        await command.wait_for_change(_NO_LIMIT_S, since=command.changes)
    if command.output.lost_bytes:
        stream.add_gap(command.output.lost_reason, command.output.lost_bytes)
    stream.finish(ExitStatus(command.exit_code), command.reason or "the shell is back at its prompt")


def _is_incomplete(command: Command) -> bool:
    return not command.status.is_final and command.waiting_for == "rest"
