"""Following a stream: every byte at its offset, or a gap that says what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.tmux import Data, End, Gap, PaneId, PaneStream
from muxpilot.tmux.streams.stream import ExitStatus, StreamEvent

SLOW = "the reader was slower than the pane"


def build_stream(*steps: bytes | str | int, memory: int = 100) -> PaneStream:
    """Build a stream from steps: bytes are fed, a text is a gap, a number is the end with this status."""
    stream = PaneStream(PaneId("%1"), memory_bytes=memory)
    for step in steps:
        act: dict[type, Callable[..., None]] = {bytes: stream.feed, str: stream.add_gap}
        if isinstance(step, int):
            stream.finish(ExitStatus(step), "over")
        else:
            act[type(step)](step)
    return stream


async def collect_events(stream: PaneStream, offset: int | None = None) -> list[StreamEvent]:
    async with asyncio.timeout(5):
        return [event async for event in stream.follow(offset)]


async def test_everything_is_told_from_the_first_byte_to_the_end() -> None:
    stream = build_stream(b"one", b"two", "pause", b"three", 7)
    assert await collect_events(stream, 0) == [
        Data(0, b"onetwo"),
        Gap(6, None, "pause"),
        Data(6, b"three"),
        End(11, 7, "over"),
    ]


async def test_a_follower_begins_where_it_asks_to() -> None:
    assert await collect_events(build_stream(b"hello", 0), 3) == [Data(3, b"lo"), End(5, 0, "over")]


async def test_a_follower_without_an_offset_begins_now() -> None:
    stream = build_stream(b"old", "old gap")
    following = asyncio.create_task(collect_events(stream))
    await asyncio.sleep(0)
    stream.feed(b"new")
    stream.finish(None, "over")
    assert await following == [Data(3, b"new"), End(6, None, "over")]


async def test_everybody_gets_the_same() -> None:
    stream = build_stream()
    following = [asyncio.create_task(collect_events(stream, 0)) for _ in range(3)]
    await asyncio.sleep(0)
    stream.feed(b"a")
    stream.finish(ExitStatus(0), "over")
    assert [await task for task in following] == [[Data(0, b"a"), End(1, 0, "over")]] * 3


async def test_what_was_forgotten_is_counted() -> None:
    stream = build_stream(b"x" * 25, b"y" * 5, 0, memory=10)
    assert await collect_events(stream, 0) == [
        Gap(15, 15, SLOW),
        Data(15, b"x" * 10 + b"y" * 5),
        End(30, 0, "over"),
    ]


async def test_a_gap_older_than_the_memory_is_told_without_going_back() -> None:
    stream = build_stream(b"a" * 5, "pause", b"b" * 30, 0, memory=10)
    assert await collect_events(stream, 0) == [
        Gap(25, 25, SLOW),
        Gap(5, None, "pause"),
        Data(25, b"b" * 10),
        End(35, 0, "over"),
    ]


async def test_the_first_end_counts() -> None:
    stream = build_stream(b"a", 1, 2)
    assert stream.end_event == End(1, 1, "over")


async def test_a_follower_that_leaves_disturbs_nobody() -> None:
    stream = build_stream()
    leaving, staying = (asyncio.create_task(collect_events(stream, 0)) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.wait([leaving])
    stream.feed(b"a")
    stream.finish(ExitStatus(0), "over")
    assert await staying == [Data(0, b"a"), End(1, 0, "over")]


@pytest.mark.parametrize(
    ("start", "end", "data"), [(0, 5, b"a\nbc\n"), (2, 3, b"b"), (5, 99, b"d"), (3, 3, b"")]
)
def test_a_part_can_be_read(start: int, end: int, data: bytes) -> None:
    assert build_stream(b"a\nbc\nd").read(start, end) == data


def test_lines_are_found_by_offset() -> None:
    stream = build_stream(b"a\nbc\nd")
    assert [stream.line_number(offset) for offset in (0, 1, 2, 4, 5, 6)] == [0, 0, 1, 1, 2, 2]
    assert (stream.line_start(4), stream.next_line(3), stream.next_line(5)) == (2, 5, 6)


class SteppedFollower:
    """Reads one event each time the test lets it."""

    def __init__(self, stream: PaneStream) -> None:
        self.events: list[StreamEvent] = []
        self._following = aiter(stream.follow(0))
        self._next: asyncio.Future[StreamEvent] | None = None

    async def read(self) -> None:
        if self._next is None:
            self._next = asyncio.ensure_future(anext(self._following))
        for _ in range(3):
            await asyncio.sleep(0)
        if self._next.done():
            self.events.append(self._next.result())
            self._next = None

    async def read_to_the_end(self) -> None:
        while not (self.events and isinstance(self.events[-1], End)):
            before = len(self.events)
            await self.read()
            assert len(self.events) > before, "no end"


@given(st.lists(st.one_of(st.binary(min_size=1, max_size=12), st.just("gap"), st.just(None)), max_size=30))
def test_no_byte_and_no_gap_is_lost_in_silence(steps: list[bytes | str | None]) -> None:
    """Each step feeds bytes, adds a gap, or lets a slow or a fast follower read one event."""

    async def scenario() -> None:
        stream = PaneStream(PaneId("%1"), memory_bytes=8)
        follower, whole, gaps = SteppedFollower(stream), b"", 0
        for step in steps:
            if step is None:
                await follower.read()
            elif isinstance(step, str):
                stream.add_gap(f"gap {(gaps := gaps + 1)}")
            else:
                stream.feed(step)
                whole += step
        stream.finish(ExitStatus(0), "over")
        await follower.read_to_the_end()
        assert_complete(follower.events, whole, gaps)

    asyncio.run(scenario())


def assert_complete(events: list[StreamEvent], whole: bytes, gaps: int) -> None:
    position = 0
    for event in events:
        if isinstance(event, Data):
            assert event == Data(position, whole[position : position + len(event.data)])
            position += len(event.data)
        elif isinstance(event, Gap) and event.lost_bytes is not None:
            position += event.lost_bytes
            assert event.offset == position
    assert position == len(whole)
    reported = [event.reason for event in events if isinstance(event, Gap) and event.lost_bytes is None]
    assert reported == [f"gap {number + 1}" for number in range(gaps)]
