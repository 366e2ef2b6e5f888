"""The script that reads a journal on another host, in the shells that hosts have."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from muxpilot.journal.ring_script import pipe_program
from muxpilot.tmux.streams.far_journals import FarPiece, FarReading, parse_reading, reading_script

SHELLS = {"dash": ["dash"], "bash": ["bash", "--posix"], "busybox": ["busybox", "sh"]}
LINES = b"".join(b"line %d\n" % number for number in range(20_000))


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> list[str]:
    argv = SHELLS[request.param]
    if shutil.which(argv[0]) is None:
        pytest.skip(f"no {argv[0]} here")
    return argv


def read_there(shell: list[str], folder: Path, *, start: int = -1, recent: int = 1 << 20) -> FarReading:
    script = reading_script(str(folder), start=start, recent=recent)
    done = subprocess.run([*shell, "-c", script], capture_output=True, timeout=30, check=True)
    assert not done.stderr, done.stderr
    return parse_reading(done.stdout)


def write_ring(folder: Path, data: bytes, *, cap_bytes: int = 1 << 24) -> None:
    folder.mkdir()
    subprocess.run(["/bin/sh", "-c", pipe_program(folder, cap_bytes)], input=data, timeout=30, check=True)


def joined(pieces: list[FarPiece]) -> bytes:
    return b"".join(piece.data for piece in pieces)


def test_everything_is_read_from_an_offset_on(shell: list[str], tmp_path: Path) -> None:
    write_ring(tmp_path / "ring", LINES, cap_bytes=1 << 20)
    for start in (0, 1, 4096, len(LINES) - 1, len(LINES)):
        found = read_there(shell, tmp_path / "ring", start=start)
        assert (found.pieces[0].offset, found.pieces[0].newlines) == (start, LINES[:start].count(b"\n"))
        assert joined(found.pieces) == LINES[start:]
        assert not found.is_written


def test_the_newest_bytes_are_read_over_several_segments(shell: list[str], tmp_path: Path) -> None:
    write_ring(tmp_path / "ring", LINES, cap_bytes=1 << 16)
    found = read_there(shell, tmp_path / "ring", recent=30_000)
    start = len(LINES) - 30_000
    assert (found.pieces[0].offset, found.pieces[0].newlines) == (start, LINES[:start].count(b"\n"))
    assert len(found.pieces) > 1
    assert joined(found.pieces) == LINES[start:]


def test_reading_begins_at_the_oldest_byte_that_is_left(shell: list[str], tmp_path: Path) -> None:
    write_ring(tmp_path / "ring", LINES, cap_bytes=1 << 16)
    found = read_there(shell, tmp_path / "ring", start=10)
    start = found.pieces[0].offset
    assert start > len(LINES) - (1 << 16)
    assert found.pieces[0].newlines == LINES[:start].count(b"\n")
    assert joined(found.pieces) == LINES[start:]


def test_a_loss_of_unknown_size_is_told(shell: list[str], tmp_path: Path) -> None:
    for name, data in ((f"{0:015}-{0:012}", b"one\n"), (f"{4:015}-{1:012}-x", b"two\n")):
        (tmp_path / name).write_bytes(data)
    first, second = read_there(shell, tmp_path, start=0).pieces
    assert (first.follows_unknown_loss, second.follows_unknown_loss) == (False, True)
    assert (second.offset, second.newlines, second.data) == (4, 1, b"two\n")


def test_a_journal_without_output_is_empty(shell: list[str], tmp_path: Path) -> None:
    assert read_there(shell, tmp_path) == FarReading([], is_written=True)
