"""A source of streams: tmux's pipe-pane writes the output of one pane into a journal, which we read.

The program that writes the journal belongs to tmux and stays when muxpilot ends. Any number of muxpilots read
the same journal.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from muxpilot.journal.folder_watch import FolderChange
from muxpilot.journal.folders import Generation
from muxpilot.journal.journals import Journals
from muxpilot.journal.reader import JournalReader, Missing
from muxpilot.journal.ring_script import pipe_program
from muxpilot.tmux.connection.control_line import BracedCommands
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.objects.launch import Launch
from muxpilot.tmux.quote import escape_format
from muxpilot.tmux.streams.ended_journal import feed_event
from muxpilot.tmux.streams.exit_mark import ExitMarkFilter
from muxpilot.tmux.streams.far_journals import FarJournal
from muxpilot.tmux.streams.stream import LOADED_BYTES, ExitStatus, PaneStream
from muxpilot.trace import Trace, area

# The pane option with the name of the generation that the pane's pipe writes.
JOURNAL_OPTION = "@muxpilot_journal"
_ALREADY_PIPED = "taken"
_READ_BYTES = 1 << 16
# A pipe's program that has not created a file after this time cannot write into our folder.
_START_LIMIT_S = 5.0


class JournalSource:
    """Reads a generation into a stream. `on_end` is called once, when the pipe's program has ended.

    With a `launch` the program of the pane waits for us. The exit mark ends the output, also for a muxpilot
    that did not start the program; `exit_status` is what the mark says.
    """

    def __init__(
        self,
        generation: Generation,
        stream: PaneStream,
        on_end: Callable[[JournalSource], None],
        journals: Journals,
        *,
        launch: Launch | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.generation = generation
        self.stream = stream
        self._journals = journals
        self._launch = launch
        self._on_end = on_end
        self._trace = (trace or area("tmux")).child(pane=stream.pane, journal=generation.name)
        self._loop = asyncio.get_running_loop()
        self._reader = JournalReader(generation)
        self._marks = ExitMarkFilter(generation.exit_mark, self._trace, ends_output=True)
        self._is_open = True
        self._is_reading_soon = False
        self._stop_watching = journals.watcher.watch(generation.path, self._on_change)
        self._start_check = self._loop.call_later(_START_LIMIT_S, self._check_started)
        self._writer = -1

    def begin(self) -> None:
        """Give the stream the newest bytes of a journal that has some already, and follow it from now on.

        Raise OSError if the folder is gone.
        """
        offset, newlines, holes = self._reader.begin(LOADED_BYTES)
        files = self._reader.files
        self.stream.use_journal(self.generation, files, offset=offset, newlines=newlines)
        for hole in holes:
            self.stream.add_old_gap(hole.offset, hole.lost_bytes, hole.reason)
        self.read_now()
        self._watch_writer()
        self._trace.debug("journal opened", start=self.stream.start, end=self.stream.end)
        self._loop.call_soon(self._on_change, FolderChange.UNKNOWN, "")  # it may have ended already

    @property
    def exit_status(self) -> ExitStatus | None:
        """Return what the exit mark says, or None before it was seen."""
        return self._marks.exit_status

    @property
    def is_starting(self) -> bool:
        """Return whether the program of the pane has not read yet what we wrote for it."""
        return self._launch is not None and self._launch.is_starting

    @property
    def is_replaced(self) -> bool:
        """Return whether a muxpilot has ended the journal to start another program in the pane."""
        return self.generation.is_replaced

    def close(self) -> None:
        """Stop reading, and let the program end or start if it waits for us. The journal goes on."""
        self.stop_reading()
        if self._launch is not None:
            self._launch.release()

    def stop_reading(self) -> None:
        """Stop reading, but keep the program waiting: another source may still be found for it."""
        if self._is_open:
            self._is_open = False
            self._stop_watching()
            self._start_check.cancel()
            self._reader.close()
            self._leave_writer()

    def read_now(self) -> None:
        """Read everything that is in the journal now."""
        while self._is_open and self._read_some():
            pass

    def _on_change(self, change: FolderChange, name: str) -> bool:
        """Read what is new. Return whether there was something."""
        if not self._is_open:
            return False
        if self._writer < 0 and change is not FolderChange.WRITTEN:
            self._watch_writer()
        if change is FolderChange.CREATED:
            self._reader.note_created(name)
            if len(self._reader.files.segments) > 1:
                self._journals.clean_soon()
        elif change is FolderChange.REMOVED:
            self._reader.note_removed(name)
        elif change is not FolderChange.WRITTEN and not self._scan():
            return True
        has_read = self._read_some()
        if self._reader.may_have_more:
            self._read_more_soon()
        elif self._reader.has_end:
            self.read_now()
            self._end("pipe closed by tmux")
        return has_read

    def _scan(self) -> bool:
        """List the folder. If it is gone, so is the journal."""
        with suppress(OSError):
            self._reader.scan()
            return True
        self._end("journal folder is gone")
        return False

    def _watch_writer(self) -> None:
        """Watch for the end of the pipe's program, also if it is killed.

        Where the system has no pidfd, only a program that ends by itself is noticed.
        """
        pid = self.generation.writer_pid
        if pid is not None and self.generation.is_being_written:
            with suppress(OSError, AttributeError):
                self._writer = os.pidfd_open(pid)
                self._loop.add_reader(self._writer, self._on_writer_end)

    def _leave_writer(self) -> None:
        if self._writer >= 0:
            self._loop.remove_reader(self._writer)
            os.close(self._writer)
            self._writer = -1

    def _on_writer_end(self) -> None:
        self._leave_writer()
        if self._scan():
            self.read_now()
            self._end("pipe's program has ended")

    def _read_more_soon(self) -> None:
        """Read on after other tasks had their turn."""
        if not self._is_reading_soon:
            self._is_reading_soon = True
            self._loop.call_soon(self._read_more)

    def _read_more(self) -> None:
        self._is_reading_soon = False
        self._on_change(FolderChange.WRITTEN, "")

    def _read_some(self) -> bool:
        """Pass on some of what is new. Return whether there was something."""
        try:
            events = self._reader.read_new(_READ_BYTES)
        except OSError as error:
            self._trace.warning("journal cannot be read", error=error)
            self._end("journal cannot be read")
            return False
        for event in events:
            feed_event(self.stream, self._marks, event)
            if isinstance(event, Missing) and self._launch is not None:
                self._launch.release()  # the exit mark may be missing too: the program must not wait for us
        if self.exit_status is not None and self._launch is not None:
            self._launch.confirm_end()
        return bool(events)

    def _check_started(self) -> None:
        if not self._reader.files.segments and self._scan() and not self._reader.files.segments:
            self._end("the pipe's program has not started")

    def _end(self, why: str) -> None:
        if self._is_open:
            self._trace.debug(why, at=self.stream.end, has_exit_mark=self.exit_status is not None)
            self.stream.feed(self._marks.flush(), is_journaled=True)
            self.close()
            self._on_end(self)


def pipe_command(pane: PaneId, generation: Generation | FarJournal, cap_bytes: int) -> Command:
    """Return the command that starts the pipe into a journal, unless the pane has a pipe already.

    tmux allows only one. Then it prints the name of the journal that the pipe may be of.
    """
    program = escape_format(pipe_program(generation.path, cap_bytes), is_strftime=True)
    tell = ("display-message", "-p", "-t", pane, f"{_ALREADY_PIPED} #{{{JOURNAL_OPTION}}}")
    return (
        *("if-shell", "-F", "-t", pane, "#{pane_pipe}", BracedCommands.of(tell)),
        BracedCommands.of(
            ("set-option", "-p", "-t", pane, JOURNAL_OPTION, generation.name),
            ("pipe-pane", "-O", "-t", pane, program),
        ),
    )


def stop_command(pane: PaneId, generation: Generation | FarJournal) -> Command:
    """Return the command that ends the pipe into a journal, if the pane still has this one."""
    is_this = f"#{{==:#{{{JOURNAL_OPTION}}},{generation.name}}}"
    return ("if-shell", "-F", "-t", pane, is_this, BracedCommands.of(("pipe-pane", "-t", pane)))


def name_of_other_pipe(lines: list[tuple[bytes, ...]]) -> str | None:
    """Return what tmux said of the pipe that the pane has already, or None if ours was started."""
    for line in (line for block in lines for line in block):
        word, _, name = line.decode("utf-8", "replace").partition(" ")
        if word == _ALREADY_PIPED:
            return name
    return None
