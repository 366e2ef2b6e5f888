"""The program of a pane's pipe keeps the newest bytes and counts all, in every shell that sh may be."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from muxpilot.journal.ring_script import RingSize, pipe_program
from muxpilot.journal.segments import Segment, parse_name
from tests.rigs.engine import wait_until

SHELLS = [["dash"], ["bash"], ["busybox", "sh"]]
SMALL_CAP = 100_000
LINES = b"".join(b"line %d\n" % number for number in range(60_000))


@pytest.fixture(params=SHELLS, ids=lambda shell: shell[0])
def shell(request: pytest.FixtureRequest) -> list[str]:
    found: list[str] = request.param
    if shutil.which(found[0]) is None:
        pytest.skip(f"{found[0]} is not installed")
    return found


def start_ring(
    folder: Path, cap: int, shell: list[str], *, path: str | None = None
) -> subprocess.Popen[bytes]:
    env = {**os.environ, **({"PATH": path} if path is not None else {})}
    argv = [*shell, "-c", pipe_program(folder, cap)]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)


def write_through(folder: Path, cap: int, shell: list[str], data: bytes) -> None:
    ring = start_ring(folder, cap, shell)
    ring.communicate(data, timeout=30)
    assert ring.returncode == 0


def segments_in(folder: Path) -> list[Segment]:
    found = [parse_name(name) for name in sorted(os.listdir(folder))]
    return [segment for segment in found if segment is not None]


def wrong_segments(folder: Path, written: bytes) -> list[str]:
    """List the segments whose name or content is not what was written there."""
    wrong = []
    for segment in segments_in(folder):
        data = (folder / segment.name).read_bytes()
        is_right = written[segment.offset : segment.offset + len(data)] == data
        if not is_right or written[: segment.offset].count(b"\n") != segment.newlines:
            wrong.append(segment.name)
    return wrong


def test_every_byte_is_written_at_its_offset(tmp_path: Path, shell: list[str]) -> None:
    write_through(tmp_path, 16 << 20, shell, LINES)
    assert b"".join((tmp_path / one.name).read_bytes() for one in segments_in(tmp_path)) == LINES
    assert wrong_segments(tmp_path, LINES) == []
    assert (tmp_path / "end").exists()


def test_the_newest_bytes_are_kept_below_the_cap(tmp_path: Path, shell: list[str]) -> None:
    write_through(tmp_path, SMALL_CAP, shell, LINES)
    kept = sum((tmp_path / one.name).stat().st_size for one in segments_in(tmp_path))
    assert SMALL_CAP // 2 < kept <= SMALL_CAP
    assert wrong_segments(tmp_path, LINES) == []
    assert LINES.endswith((tmp_path / segments_in(tmp_path)[-1].name).read_bytes())


def test_no_other_user_can_read_the_files(tmp_path: Path, shell: list[str]) -> None:
    write_through(tmp_path, SMALL_CAP, shell, b"secret\n")
    assert {oct((tmp_path / name).stat().st_mode & 0o777) for name in os.listdir(tmp_path)} == {"0o600"}


@pytest.mark.parametrize("cap", [1, 65_536, 100_000, 1 << 20, 16 << 20, 1 << 30])
def test_all_segments_together_fit_into_the_cap(cap: int) -> None:
    size = RingSize.of_cap(cap)
    assert size.segments >= 4
    assert size.segments * (size.fill + size.reads * 4096) <= max(cap, 65_536)


async def test_slow_output_continues_the_same_segment(tmp_path: Path, shell: list[str]) -> None:
    ring = start_ring(tmp_path, SMALL_CAP, shell)
    assert ring.stdin is not None
    written = b""
    for number in range(20):
        ring.stdin.write(b"%d\n" % number)
        ring.stdin.flush()
        written += b"%d\n" % number
        await wait_until(lambda: _content(tmp_path) == written)  # noqa: B023 - it is called at once
    assert len(segments_in(tmp_path)) == 1
    ring.communicate(timeout=10)


def _content(folder: Path) -> bytes:
    return b"".join((folder / one.name).read_bytes() for one in segments_in(folder))


async def test_a_folder_that_is_deleted_ends_the_program(tmp_path: Path, shell: list[str]) -> None:
    folder = tmp_path / "journal"
    folder.mkdir()
    ring = start_ring(folder, SMALL_CAP, shell)
    await wait_until(lambda: segments_in(folder))
    shutil.rmtree(folder)
    try:
        ring.communicate(LINES, timeout=30)
    except BrokenPipeError:
        ring.wait(timeout=10)
    assert ring.returncode == 1
    assert not folder.exists()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 48 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    options = ["-t", "tmpfs", "-o", "size=48k,mode=700", "muxpilot-test", str(disk)]
    if shutil.which("mount") is None or subprocess.run(["mount", *options], check=False).returncode:
        pytest.skip("this user cannot mount a file system")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_keeps_the_newest_output_and_marks_the_loss(tiny_disk: Path, shell: list[str]) -> None:
    write_through(tiny_disk, 1 << 20, shell, LINES)
    found = segments_in(tiny_disk)
    assert any(one.follows_unknown_loss for one in found)
    newest = (tiny_disk / found[-1].name).read_bytes()
    assert newest in LINES
    assert found[-1].offset + len(newest) <= len(LINES)
    assert (tiny_disk / "end").exists()


def test_a_disk_that_others_have_filled_lets_the_pane_go_on(tiny_disk: Path, shell: list[str]) -> None:
    (tiny_disk / "theirs").write_bytes(b"x" * 45_000)
    write_through(tiny_disk, 1 << 20, shell, LINES)
    assert (tiny_disk / "theirs").stat().st_size == 45_000


def test_what_is_dropped_is_counted_in_the_next_name(tmp_path: Path, shell: list[str]) -> None:
    """Fill the disk with a dd that fails as on a full disk, until a file says that there is room again."""
    programs = tmp_path / "programs"
    programs.mkdir()
    folder = tmp_path / "journal"
    folder.mkdir()
    real = shutil.which("dd")
    fail = f'[ "$2" != count=1 ] && [ ! -e {tmp_path}/room ] && {{ touch {tmp_path}/room; exit 1; }}'
    (programs / "dd").write_text(f'#!/bin/sh\n{fail}\nexec {real} "$@"\n')
    (programs / "dd").chmod(0o755)
    ring = start_ring(
        folder, 16 << 20, shell if shell != ["busybox", "sh"] else ["dash"], path=_path(programs)
    )
    ring.communicate(LINES, timeout=30)
    [*_, last] = segments_in(folder)
    assert last.offset > 0
    assert wrong_segments(folder, LINES) == []


def test_a_quota_marks_the_loss_and_lets_the_pane_go_on(tmp_path: Path, shell: list[str]) -> None:
    """dd has read a block that it may not write. It names the quota as the cause, until there is room."""
    programs, folder, real = tmp_path / "programs", tmp_path / "journal", shutil.which("dd")
    programs.mkdir()
    folder.mkdir()
    message = "dd: error writing 'standard output': Disk quota exceeded\\n1+0 records in\\n0+0 records out\\n"
    refuse = f'{real} bs=4096 count=1 of=/dev/null 2>/dev/null; printf "{message}" >&2; exit 1'
    room = f'[ -e {tmp_path}/3 ] || [ "$2" = count=1 ]'
    count = f"for n in 1 2 3; do [ -e {tmp_path}/$n ] || {{ : >{tmp_path}/$n; break; }}; done"
    (programs / "dd").write_text(f'#!/bin/sh\n{room} || {{ {count}; {refuse}; }}\nexec {real} "$@"\n')
    (programs / "dd").chmod(0o755)
    ring = start_ring(
        folder, 16 << 20, shell if shell != ["busybox", "sh"] else ["dash"], path=_path(programs)
    )
    ring.communicate(LINES, timeout=30)
    assert ring.returncode == 0
    [*_, last] = segments_in(folder)
    assert any(one.follows_unknown_loss for one in segments_in(folder))
    assert LINES.endswith((folder / last.name).read_bytes())
    assert (folder / "end").exists()


def _path(first: Path) -> str:
    return f"{first}:{os.environ['PATH']}"
