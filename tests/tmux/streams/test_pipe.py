"""The exit mark of a command is read from its pipe and never appears in the stream, wherever it is split."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from muxpilot.tmux import Data, PaneId, PaneStream
from muxpilot.tmux.hosts.temporary_folder import TemporaryFolder
from muxpilot.tmux.objects.launch import Launch
from muxpilot.tmux.streams.pipe import PipeSource
from muxpilot.tmux.streams.stream import ExitStatus


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TemporaryFolder:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return TemporaryFolder()


@pytest.fixture
async def launch(folder: TemporaryFolder) -> AsyncIterator[Launch]:
    launch = Launch.prepare(folder, "true", "tmux")
    yield launch
    launch.release()
    folder.close()


class FifoToStream:
    """A FIFO that the test writes, with its stream, without tmux. `write` returns when it has been read."""

    def __init__(self, folder: TemporaryFolder, launch: Launch | None) -> None:
        self.stream = PaneStream(PaneId("%1"))
        self.ended = asyncio.Event()
        self.source = PipeSource(folder, self.stream, lambda _: self.ended.set(), launch)
        [fifo] = folder.path.glob("pane*/fifo")
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


async def pass_through(
    folder: TemporaryFolder, launch: Launch | None, pieces: Sequence[bytes]
) -> tuple[bytes, int | None]:
    piped = FifoToStream(folder, launch)
    for piece in pieces:
        await piped.write(piece)
    printed = await piped.end()
    return printed, piped.source.exit_status.status if piped.source.exit_status else None


def exit_mark(launch: Launch, status: int | str = 3, signal: int | str = "") -> bytes:
    return f"\x1b]7717;{launch.mark};{status};{signal}\x07".encode()


async def test_every_split_point_hides_the_mark_and_finds_the_status(
    folder: TemporaryFolder, launch: Launch
) -> None:
    whole = b"before\x1b[1m\x1b" + exit_mark(launch, 130) + b"after"
    for cut in range(1, len(whole)):
        printed, status = await pass_through(folder, launch, [whole[:cut], whole[cut:]])
        assert (printed, status) == (b"before\x1b[1m\x1bafter", 130), cut


async def test_any_splits_hide_the_mark(folder: TemporaryFolder, launch: Launch) -> None:
    chance, whole = random.Random(7), b"\x1b]7717;x\x07" + exit_mark(launch) + b"\x1b]7717;"
    for _ in range(50):
        cuts = sorted(chance.sample(range(1, len(whole)), 6))
        pieces = [whole[start:end] for start, end in pairwise([0, *cuts, len(whole)])]
        assert await pass_through(folder, launch, pieces) == (b"\x1b]7717;x\x07\x1b]7717;", 3)


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
async def test_what_is_not_our_mark_is_output(folder: TemporaryFolder, launch: Launch, text: bytes) -> None:
    pieces = [bytes([byte]) for byte in text]
    assert await pass_through(folder, launch, pieces) == (text, None)
    assert await pass_through(folder, launch, [text]) == (text, None)


async def test_a_mark_with_a_foreign_status_is_output(folder: TemporaryFolder, launch: Launch) -> None:
    assert await pass_through(folder, launch, [exit_mark(launch, "x")]) == (exit_mark(launch, "x"), None)


async def test_a_signal_is_told_beside_the_status(folder: TemporaryFolder, launch: Launch) -> None:
    for signal, exit in ((9, ExitStatus(137, 9)), ("", ExitStatus(137))):
        piped = FifoToStream(folder, launch)
        await piped.write(exit_mark(launch, 137, signal))
        await piped.end()
        assert piped.source.exit_status == exit


async def test_without_a_launch_nothing_is_hidden(folder: TemporaryFolder, launch: Launch) -> None:
    assert await pass_through(folder, None, [exit_mark(launch)]) == (exit_mark(launch), None)


async def test_plain_output_is_not_held_back(folder: TemporaryFolder, launch: Launch) -> None:
    piped = FifoToStream(folder, launch)
    await piped.write(b"$ \x1b[0m")
    following = aiter(piped.stream.follow(0))
    async with asyncio.timeout(5):
        assert await anext(following) == Data(0, b"$ \x1b[0m")
    await piped.end()


async def test_the_mark_lets_the_program_go(folder: TemporaryFolder, launch: Launch) -> None:
    piped = FifoToStream(folder, launch)
    [fifo] = folder.path.glob("launch*")
    await piped.write(b"LAST" + exit_mark(launch, 0))
    assert piped.source.exit_status == ExitStatus(0)
    assert not fifo.exists()
    assert await piped.end() == b"LAST"
