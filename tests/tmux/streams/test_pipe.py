"""A held command tells its end by a mark in its output, which nobody sees, wherever it is split."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from muxpilot.tmux import Data, PaneId, PaneStream
from muxpilot.tmux.hosts.temporary_folder import Scratch
from muxpilot.tmux.objects.launch import Launch
from muxpilot.tmux.streams.pipe import PipeSource
from muxpilot.tmux.streams.stream import Exit


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scratch:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return Scratch()


@pytest.fixture
async def launch(scratch: Scratch) -> AsyncIterator[Launch]:
    launch = Launch.of(scratch, "true", "tmux")
    yield launch
    launch.let_go()
    scratch.close()


class Piped:
    """A pipe from us to a stream, without tmux: `write` returns when the stream has had a look at it."""

    def __init__(self, scratch: Scratch, launch: Launch | None) -> None:
        self.stream = PaneStream(PaneId("%1"))
        self.ended = asyncio.Event()
        self.source = PipeSource(scratch, self.stream, lambda _: self.ended.set(), launch)
        [fifo] = scratch.path.glob("pane*/fifo")
        self._writer = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)

    async def write(self, data: bytes) -> None:
        os.write(self._writer, data)
        for _ in range(3):
            await asyncio.sleep(0)

    async def end(self) -> bytes:
        os.close(self._writer)
        async with asyncio.timeout(5):
            await self.ended.wait()
        return self.stream.read(0, self.stream.end)


async def through(
    scratch: Scratch, launch: Launch | None, pieces: Sequence[bytes]
) -> tuple[bytes, int | None]:
    piped = Piped(scratch, launch)
    for piece in pieces:
        await piped.write(piece)
    printed = await piped.end()
    return printed, piped.source.exit.status if piped.source.exit else None


def mark(launch: Launch, status: int | str = 3, signal: int | str = "") -> bytes:
    return f"\x1b]7717;{launch.mark};{status};{signal}\x07".encode()


async def test_every_split_point_hides_the_mark_and_finds_the_status(
    scratch: Scratch, launch: Launch
) -> None:
    whole = b"before\x1b[1m\x1b" + mark(launch, 130) + b"after"
    for cut in range(1, len(whole)):
        printed, status = await through(scratch, launch, [whole[:cut], whole[cut:]])
        assert (printed, status) == (b"before\x1b[1m\x1bafter", 130), cut


async def test_any_splits_hide_the_mark(scratch: Scratch, launch: Launch) -> None:
    chance, whole = random.Random(7), b"\x1b]7717;x\x07" + mark(launch) + b"\x1b]7717;"
    for _ in range(50):
        cuts = sorted(chance.sample(range(1, len(whole)), 6))
        pieces = [whole[start:end] for start, end in pairwise([0, *cuts, len(whole)])]
        assert await through(scratch, launch, pieces) == (b"\x1b]7717;x\x07\x1b]7717;", 3)


@pytest.mark.parametrize(
    "text",
    [
        b"\x1b]7717;0000000000000000;0\x07",
        b"\x1b]7717;",
        b"\x1b]7717;" + b"x" * 100,
        b"\x1b]771",
        b"\x1b",
        b"\x1b]0;title\x07",
        b"\x1b\x1b]7717\x1b]7717;0123;\x1b",
    ],
)
async def test_what_is_not_our_mark_is_output(scratch: Scratch, launch: Launch, text: bytes) -> None:
    pieces = [bytes([byte]) for byte in text]
    assert await through(scratch, launch, pieces) == (text, None)
    assert await through(scratch, launch, [text]) == (text, None)


async def test_a_mark_with_a_foreign_status_is_output(scratch: Scratch, launch: Launch) -> None:
    assert await through(scratch, launch, [mark(launch, "x")]) == (mark(launch, "x"), None)


async def test_a_signal_is_told_beside_the_status(scratch: Scratch, launch: Launch) -> None:
    for signal, exit in ((9, Exit(137, 9)), ("", Exit(137))):
        piped = Piped(scratch, launch)
        await piped.write(mark(launch, 137, signal))
        await piped.end()
        assert piped.source.exit == exit


async def test_without_a_launch_nothing_is_hidden(scratch: Scratch, launch: Launch) -> None:
    assert await through(scratch, None, [mark(launch)]) == (mark(launch), None)


async def test_plain_output_is_not_held_back(scratch: Scratch, launch: Launch) -> None:
    piped = Piped(scratch, launch)
    await piped.write(b"$ \x1b[0m")
    following = aiter(piped.stream.follow(0))
    async with asyncio.timeout(5):
        assert await anext(following) == Data(0, b"$ \x1b[0m")
    await piped.end()


async def test_the_mark_lets_the_program_go(scratch: Scratch, launch: Launch) -> None:
    piped = Piped(scratch, launch)
    [gate] = scratch.path.glob("gate*")
    await piped.write(b"LAST" + mark(launch, 0))
    assert piped.source.exit == Exit(0)
    assert not gate.exists()
    assert await piped.end() == b"LAST"
