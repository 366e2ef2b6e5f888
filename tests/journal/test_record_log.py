"""The append-only record log: what several processes write, all of them read, in one order."""

from __future__ import annotations

import errno
import multiprocessing
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from muxpilot.journal.record_log import RecordLog


def _texts(log: RecordLog) -> list[object]:
    return [fields["text"] for fields in log.read_new()]


def test_a_record_is_read_once_by_each_reader(tmp_path: Path) -> None:
    writer, reader = RecordLog(tmp_path / "records"), RecordLog(tmp_path / "records")
    writer.append({"t": "ask", "text": "one\nline\0"})
    assert reader.read_new() == [{"t": "ask", "text": "one\nline\0"}]
    assert reader.read_new() == []
    assert _texts(RecordLog(tmp_path / "records")) == ["one\nline\0"]


def test_a_missing_log_has_no_records(tmp_path: Path) -> None:
    assert RecordLog(tmp_path / "records").read_new() == []


def test_a_torn_line_and_a_damaged_one_are_skipped_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "records"
    log = RecordLog(path)
    log.append({"text": "before"})
    with path.open("ab") as file:
        file.write(b'\n00000000 {"text":"forged"}\n1234abcd {"text":"to')
    log.append({"text": "after"})
    assert _texts(log) == ["before", "after"]


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 100_000, b"[1]", b"9" * 5000, b"\xff"])
def test_a_record_that_no_muxpilot_has_written_is_skipped(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "records"
    log = RecordLog(path)
    log.append({"text": "before"})
    with path.open("ab") as file:
        file.write(b"\n%08x %s\n" % (zlib.crc32(text), text))
    log.append({"text": "after"})
    assert _texts(log) == ["before", "after"]


def test_a_record_that_is_half_written_is_read_when_the_rest_has_come(tmp_path: Path) -> None:
    path = tmp_path / "records"
    log = RecordLog(path)
    log.append({"text": "first"})
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    reader = RecordLog(path)
    assert _texts(reader) == []
    with path.open("ab") as file:
        file.write(whole[-5:])
    assert _texts(reader) == ["first"]


def test_a_large_log_is_put_aside_and_nothing_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "records"
    log, reader = RecordLog(path, most_bytes=100), RecordLog(path)
    log.append({"text": "a" * 200})
    assert _texts(reader) == ["a" * 200]
    assert log.is_large
    log.append({"text": "b"})
    assert log.put_aside()
    log.append({"text": "c"})
    assert list(dict.fromkeys(_texts(reader))) == ["b", "c"]
    assert list(dict.fromkeys(_texts(RecordLog(path)))) == ["a" * 200, "b", "c"]
    assert not log.put_aside()


def test_a_log_whose_folder_is_gone_says_so_when_it_is_written(tmp_path: Path) -> None:
    log = RecordLog(tmp_path / "gone" / "records")
    with pytest.raises(OSError, match="No such file"):
        log.append({"text": "lost"})
    assert log.read_new() == []


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"")
    (tmp_path / "records").symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        RecordLog(tmp_path / "records").append({"text": "x"})
    assert target.read_bytes() == b""


@pytest.mark.timeout(10)
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "records")
    log = RecordLog(tmp_path / "records")
    with pytest.raises(OSError, match=r"not a file of this user|directory"):
        log.append({"text": "x"})
    assert log.mentions(b"x")  # it may: nobody knows
    assert (log.read_new(), log.read_failure is None) == ([], False)


def test_records_after_a_cut_are_read(tmp_path: Path) -> None:
    path = tmp_path / "records"
    log, reader = RecordLog(path), RecordLog(path)
    log.append({"text": "before" * 100})
    assert len(reader.read_new()) == 1
    os.truncate(path, 0)
    log.append({"text": "after"})
    assert _texts(reader) == ["after"]


FULL = pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT], ids=["disk", "quota"])


@FULL
def test_a_full_disk_or_quota_leaves_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    log = RecordLog(tmp_path / "records")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        with pytest.raises(OSError, match=os.strerror(number)):
            log.append({"text": "x"})
    assert os.listdir(tmp_path) == []


@FULL
def test_a_record_that_fits_in_part_is_told_with_its_reason_and_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The first write takes what there is room for. Only the next one says what is full."""
    log, reader, write, room = RecordLog(tmp_path / "records"), RecordLog(tmp_path / "records"), os.write, 10

    def write_a_part(file: int, data: bytes) -> int:
        nonlocal room
        if room == 0:
            raise OSError(number, os.strerror(number))
        written = write(file, data[:room])
        room -= written
        return written

    log.append({"text": "before"})
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_a_part)
        with pytest.raises(OSError, match=os.strerror(number)):
            log.append({"text": "torn"})
    log.append({"text": "after"})
    assert _texts(reader) == ["before", "after"]


def _write_many(path: Path, name: str, count: int) -> None:
    log = RecordLog(path, most_bytes=90_000)
    for number in range(count):
        log.append({"text": f"{name}-{number}", "filler": "x" * 100})
        if log.is_large:
            log.put_aside()


def test_five_writers_and_a_reader_at_once_lose_nothing(tmp_path: Path) -> None:
    """A file is put aside meanwhile; one old file is kept."""
    path, names, count = tmp_path / "records", "abcde", 200
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_many, args=(path, name, count)) for name in names]
    reader, seen = RecordLog(path), []
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        seen += _texts(reader)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    seen += _texts(reader)
    for name in names:
        of_one = [text for text in dict.fromkeys(seen) if str(text).startswith(name)]
        assert of_one == [f"{name}-{number}" for number in range(count)]
    assert os.listdir(tmp_path).count("records") == 1
