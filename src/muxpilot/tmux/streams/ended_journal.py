"""The stream of a program that has ended, read from its journal."""

from __future__ import annotations

from muxpilot.journal.folders import Generation
from muxpilot.journal.reader import JournalReader, Missing
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.streams.exit_mark import ExitMarkFilter
from muxpilot.tmux.streams.stream import LOADED_BYTES, ExitStatus, PaneStream
from muxpilot.trace import Trace

_READ_BYTES = 1 << 18


def read_ended_journal(
    pane: PaneId, generation: Generation, trace: Trace, *, exit_status: ExitStatus | None = None
) -> PaneStream:
    """Return a stream that has ended, with all that a generation still holds.

    `exit_status` counts if the output has no exit mark.
    """
    stream = PaneStream(pane, trace=trace)
    reader = JournalReader(generation)
    marks = ExitMarkFilter(generation.exit_mark, trace, ends_output=True)
    offset, newlines, holes = reader.begin(LOADED_BYTES)
    stream.use_journal(generation, reader.files, offset=offset, newlines=newlines)
    for hole in holes:
        stream.add_old_gap(hole.offset, hole.lost_bytes, hole.reason)
    while events := reader.read_new(_READ_BYTES):
        for event in events:
            feed_event(stream, marks, event)
    stream.feed(marks.flush(), is_journaled=True)
    reader.close()
    stream.finish(marks.exit_status or exit_status, "the program has ended")
    return stream


def feed_event(stream: PaneStream, marks: ExitMarkFilter, event: bytes | Missing) -> None:
    """Pass on what was read from a journal: output without the exit mark, or what is missing."""
    if not isinstance(event, Missing):
        data = marks.filter(event)
        if data:
            stream.feed(data, is_journaled=True)
    elif marks.exit_status is None:
        stream.feed(marks.flush(), is_journaled=True)
        if event.lost_bytes is None or event.newlines is None or event.offset <= stream.end:
            stream.add_gap(event.reason)
        else:
            stream.skip_to(event.offset, event.newlines, event.reason)
