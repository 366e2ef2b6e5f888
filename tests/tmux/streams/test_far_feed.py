"""The feed of a stream on another host: which bytes of its journal and of its control client it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from muxpilot.tmux import PaneId
from muxpilot.tmux.streams.far_feed import FarFeed
from muxpilot.tmux.streams.far_journals import (
    FarJournal,
    FarJournalGone,
    FarJournals,
    FarPiece,
    FarReading,
)
from muxpilot.tmux.streams.stream import Data, Gap, PaneStream
from muxpilot.trace import area

JOURNAL = FarJournal("0001-abcdef", "/nowhere", 1, is_written=True)


@dataclass
class FakeJournals:
    """Answers with these readings, one after the other. `while_reading` is received meanwhile."""

    readings: list[FarReading | FarJournalGone]
    starts: list[int | None] = field(default_factory=list)
    feed: FarFeed | None = None
    while_reading: list[bytes] = field(default_factory=list)

    async def read(self, journal: FarJournal, start: int | None = None) -> FarReading:
        self.starts.append(start)
        if self.while_reading and self.feed is not None:
            self.feed.receive(self.while_reading.pop(0))
        found = self.readings.pop(0)
        if isinstance(found, FarJournalGone):
            raise found
        return found


def read(*pieces: FarPiece, is_written: bool = True) -> FarReading:
    return FarReading(list(pieces), is_written)


def piece(offset: int, data: bytes, *, newlines: int = 0, follows_unknown_loss: bool = False) -> FarPiece:
    return FarPiece(offset, newlines, data, follows_unknown_loss)


def make_feed(*readings: FarReading | FarJournalGone) -> tuple[FarFeed, FakeJournals]:
    journals = FakeJournals(list(readings))
    feed = FarFeed(PaneStream(PaneId("%1")), cast("FarJournals", journals), area("tmux"))
    journals.feed = feed
    return feed, journals


async def nothing() -> None:
    """Stand for a request to tmux whose reply brings no output."""


async def events(stream: PaneStream, *, start: int = 0) -> list[Any]:
    stream.finish(None, "over")
    return [event async for event in stream.follow(start) if isinstance(event, Data | Gap)]


async def test_output_before_the_owner_of_the_pipe_is_known_is_not_lost() -> None:
    feed, _ = make_feed()
    feed.receive(b"held ")
    feed.begin(JOURNAL)
    feed.receive(b"live")
    assert feed.stream.name == JOURNAL.name
    assert await events(feed.stream) == [Data(0, b"held live")]


async def test_a_feed_is_live_only_if_nothing_came_while_the_journal_was_read() -> None:
    feed, journals = make_feed(read(piece(0, b"one ")), read(piece(0, b"one two ")))
    journals.while_reading = [b"two "]
    feed.join(JOURNAL)
    assert not await feed.catch_up(nothing)
    assert await feed.catch_up(nothing)
    feed.receive(b"three")
    assert journals.starts == [None, 0]
    assert await events(feed.stream) == [Data(0, b"one two three")]


async def test_what_the_ring_has_dropped_is_a_gap_of_known_size() -> None:
    feed, _ = make_feed(read(piece(50, b"new\n", newlines=7)))
    feed.begin(JOURNAL)
    feed.receive(b"old\n")
    feed.fall_behind()
    assert await feed.catch_up(nothing)
    assert feed.stream.line_number(54) == 8
    gap, last = await events(feed.stream, start=4)
    assert (gap.offset, gap.lost_bytes, last) == (50, 46, Data(50, b"new\n"))


async def test_what_was_not_read_of_a_far_journal_is_a_gap_that_says_so() -> None:
    stream = PaneStream(PaneId("%1"))
    stream.use_far_journal("0001-abcdef", offset=100, newlines=7)
    stream.feed(b"new\n")
    gap = await anext(stream.follow(40))
    assert isinstance(gap, Gap)
    assert (gap.offset, gap.lost_bytes) == (100, 60)
    assert "only the newest 1 MiB" in gap.reason


async def test_what_could_not_be_written_there_is_a_gap_of_unknown_size() -> None:
    feed, _ = make_feed(read(piece(0, b"old\n"), piece(4, b"new\n", newlines=1, follows_unknown_loss=True)))
    feed.join(JOURNAL)
    assert await feed.catch_up(nothing)
    first, gap, last = await events(feed.stream)
    assert (first, last) == (Data(0, b"old\n"), Data(4, b"new\n"))
    assert (gap.offset, gap.lost_bytes) == (4, None)


@pytest.mark.parametrize(
    "reading",
    [
        read(piece(0, b"other output")),
        read(piece(0, b"our")),
        read(),
        read(piece(0, b"our output"), is_written=False),
        FarJournalGone("it is gone"),
    ],
    ids=["differs", "is shorter", "is empty", "has ended", "is gone"],
)
async def test_a_journal_that_does_not_continue_the_output_is_given_up(
    reading: FarReading | FarJournalGone,
) -> None:
    feed, _ = make_feed(reading)
    feed.begin(JOURNAL)
    feed.receive(b"our output")
    feed.fall_behind()
    feed.receive(b"unseen")
    await feed.catch_up(nothing)
    feed.receive(b" and more")
    first, gap, last = await events(feed.stream)
    assert (first.data, gap.lost_bytes, last.data) == (b"our output", None, b" and more")
