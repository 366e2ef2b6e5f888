"""Reading a journal: every byte once and in order, or a note that says what is missing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from muxpilot.journal.folders import Generation
from muxpilot.journal.reader import JournalReader, Missing
from muxpilot.journal.segments import SegmentFiles

Events = list[bytes | Missing]
pieces = st.lists(
    st.text(st.sampled_from("ab\n"), min_size=1, max_size=20).map(str.encode), min_size=1, max_size=9
)


def write_segment(folder: Path, offset: int, data: bytes, *, newlines: int = 0, mark: str = "") -> Path:
    path = folder / f"{offset:015}-{newlines:012}{mark}"
    path.write_bytes(data)
    return path


def write_all(folder: Path, pieces: list[bytes]) -> bytes:
    """Write one segment for each piece, and return all of them together."""
    whole = b""
    for piece in pieces:
        write_segment(folder, len(whole), piece, newlines=whole.count(b"\n"))
        whole += piece
    return whole


def read_all(reader: JournalReader) -> Events:
    events: Events = []
    while new := reader.read_new(1 << 16):
        events += new
    return events


def read_from_begin(folder: Path) -> Events:
    reader = JournalReader(Generation(folder))
    reader.begin(1 << 20)
    events = read_all(reader)
    reader.close()
    return events


def lost(events: Events) -> list[int | None]:
    return [event.lost_bytes for event in events if isinstance(event, Missing)]


def test_segments_are_read_one_after_the_other(tmp_path: Path) -> None:
    write_segment(tmp_path, 0, b"one")
    write_segment(tmp_path, 3, b"two")
    assert b"".join(event for event in read_from_begin(tmp_path) if isinstance(event, bytes)) == b"onetwo"


def test_what_is_appended_is_read_next(tmp_path: Path) -> None:
    path = write_segment(tmp_path, 0, b"one")
    reader = JournalReader(Generation(tmp_path))
    reader.begin(1 << 20)
    assert read_all(reader) == [b"one"]
    with path.open("ab") as file:
        file.write(b"two")
    assert read_all(reader) == [b"two"]
    write_segment(tmp_path, 6, b"three")
    reader.note_created("000000000000006-000000000000")
    assert read_all(reader) == [b"three"]
    assert reader.offset == 11
    reader.close()


def test_a_hole_is_counted(tmp_path: Path) -> None:
    write_segment(tmp_path, 0, b"one")
    write_segment(tmp_path, 10, b"two", newlines=4)
    first, missing, second = read_from_begin(tmp_path)
    assert (first, second) == (b"one", b"two")
    assert isinstance(missing, Missing)
    assert (missing.offset, missing.lost_bytes, missing.newlines) == (10, 7, 4)


def test_a_loss_of_unknown_size_is_told(tmp_path: Path) -> None:
    write_segment(tmp_path, 0, b"one")
    write_segment(tmp_path, 3, b"two", mark="-x")
    assert lost(read_from_begin(tmp_path)) == [None]


def test_holes_in_older_segments_are_known_before_they_are_read(tmp_path: Path) -> None:
    write_segment(tmp_path, 0, b"a" * 10)
    write_segment(tmp_path, 20, b"b" * 10, mark="-x")
    write_segment(tmp_path, 30, b"c" * 10)
    reader = JournalReader(Generation(tmp_path))
    offset, _, holes = reader.begin(5)
    assert offset == 35
    assert read_all(reader) == [b"c" * 5]
    assert [(hole.offset, hole.lost_bytes) for hole in holes] == [(20, 10), (20, None)]
    reader.close()


def test_a_segment_that_was_removed_before_it_was_read_is_counted(tmp_path: Path) -> None:
    path = write_segment(tmp_path, 0, b"one")
    write_segment(tmp_path, 3, b"two")
    reader = JournalReader(Generation(tmp_path))
    reader.begin(1 << 20)
    path.unlink()
    assert lost(read_all(reader)) == [3]
    reader.close()


def test_a_slow_reader_gets_segments_that_were_removed_meanwhile(tmp_path: Path) -> None:
    """The ring removes its oldest segment for each new one, also if a reader has not come to it yet."""
    write_segment(tmp_path, 0, b"000")
    reader = JournalReader(Generation(tmp_path))
    reader.begin(1 << 20)
    assert read_all(reader) == [b"000"]
    paths = [write_segment(tmp_path, 3 * at, b"%03d" % at) for at in range(1, 40)]
    for path in paths:
        reader.note_created(path.name)
    for path in paths[:-4]:
        path.unlink()
        reader.note_removed(path.name)
    reader.scan()
    assert read_all(reader) == [b"%03d" % at for at in range(1, 40)]
    reader.close()


def test_a_segment_that_was_cut_is_a_loss_and_offsets_do_not_go_back(tmp_path: Path) -> None:
    path = write_segment(tmp_path, 0, b"a" * 100)
    reader = JournalReader(Generation(tmp_path))
    reader.begin(1 << 20)
    read_all(reader)
    os.truncate(path, 10)
    assert lost(read_all(reader)) == [None]
    write_segment(tmp_path, 10, b"new", mark="-x")
    reader.note_created("000000000000010-000000000000-x")
    assert read_all(reader)[-1] == b"new"
    assert reader.offset == 103
    reader.close()


def test_what_is_not_a_segment_is_not_read(tmp_path: Path) -> None:
    write_segment(tmp_path, 0, b"ours")
    (tmp_path / "000000000000004-000000000000-y").write_bytes(b"theirs")
    (tmp_path / "pid").write_text("1")
    (tmp_path / "000000000000004-000000000000").symlink_to("/etc/passwd")
    (tmp_path / "000000000000005-000000000000").mkdir()
    os.mkfifo(tmp_path / "000000000000006-000000000000")
    assert [event for event in read_from_begin(tmp_path) if isinstance(event, bytes)] == [b"ours"]


@given(pieces)
def test_the_newest_bytes_are_read_with_their_offset_and_line(pieces: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        whole = write_all(Path(name), pieces)
        for recent in range(len(whole) + 5):
            reader = JournalReader(Generation(Path(name)))
            offset, newlines, _ = reader.begin(recent)
            assert offset == max(0, len(whole) - recent)
            assert newlines == whole[:offset].count(b"\n")
            assert b"".join(event for event in read_all(reader) if isinstance(event, bytes)) == whole[offset:]
            reader.close()


@given(pieces)
def test_bytes_and_lines_are_found_by_their_offset(pieces: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        whole = write_all(Path(name), pieces)
        files = SegmentFiles(Path(name))
        files.scan()
        for offset in range(len(whole)):
            assert files.read(offset, offset + 7) == whole[offset : offset + 7]
            assert files.newlines_before(offset) == whole[:offset].count(b"\n")
