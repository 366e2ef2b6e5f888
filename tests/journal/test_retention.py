"""What is removed: journals of panes that are gone for long, and the oldest bytes beyond the limit."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from muxpilot.journal.folders import JOBS_FILE, Generation, JournalFolders, ServerIdentity
from muxpilot.journal.retention import clean_journals

SERVER = ServerIdentity("/tmp/none/s", 17, 1000)
HOUR_S = 3600.0


@pytest.fixture
def folders(tmp_path: Path) -> JournalFolders:
    return JournalFolders(tmp_path / "root")


def write_segments(generation: Generation, count: int, *, age_s: float = 0) -> list[Path]:
    paths = [generation.path / f"{number * 1000:015}-{0:012}" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_bytes(b"x" * 1000)
        then = time.time() - age_s + number
        os.utime(path, (then, then))
    return paths


def age_everything(folder: Path, age_s: float) -> None:
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (time.time() - age_s, time.time() - age_s))


def test_the_journal_of_a_pane_that_is_gone_long_enough_goes(folders: JournalFolders) -> None:
    old, new = folders.new_generation(SERVER, "%1"), folders.new_generation(SERVER, "%2")
    write_segments(old, 2)
    write_segments(new, 2)
    age_everything(old.path.parent, 5 * HOUR_S)
    clean_journals(folders, total_bytes=1 << 30, kept_s=4 * HOUR_S)
    assert list(folders.pane_folders()) == [new.path.parent]


def test_a_pane_whose_pipe_runs_keeps_its_journal_however_old(folders: JournalFolders) -> None:
    generation = folders.new_generation(SERVER, "%1")
    write_segments(generation, 1)
    argv = ["sh", "-c", f": {generation.name}; echo runs; read x"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"runs\n"
        (generation.path / "pid").write_text(str(writer.pid))
        age_everything(generation.path.parent, 50 * HOUR_S)
        clean_journals(folders, total_bytes=1 << 30, kept_s=HOUR_S)
        assert list(folders.pane_folders()) == [generation.path.parent]
        writer.communicate(b"\n", timeout=10)


def test_records_beside_the_journal_keep_the_folder(folders: JournalFolders) -> None:
    folder = folders.pane_folder(SERVER, "%1")
    age_everything(folder, 5 * HOUR_S)
    (folder / "records").write_text("{}")
    clean_journals(folders, total_bytes=1 << 30, kept_s=4 * HOUR_S)
    assert (folder / "records").exists()


def test_the_oldest_segments_of_all_panes_go_first(folders: JournalFolders) -> None:
    first = write_segments(folders.new_generation(SERVER, "%1"), 3, age_s=300)
    second = write_segments(folders.new_generation(SERVER, "%2"), 3, age_s=200)
    clean_journals(folders, total_bytes=4000, kept_s=HOUR_S)
    assert [path.exists() for path in (*first, *second)] == [False, False, True, True, True, True]


def test_foreign_files_are_never_removed(folders: JournalFolders, tmp_path: Path) -> None:
    generation = folders.new_generation(SERVER, "%1")
    write_segments(generation, 3)
    theirs = [generation.path / "big.bin", tmp_path / "root" / "journals" / "1" / "note.txt"]
    for path in theirs:
        path.write_bytes(b"x" * 100_000)
    clean_journals(folders, total_bytes=0, kept_s=HOUR_S)
    assert all(path.exists() for path in theirs)
    assert list(generation.path.glob("0*")) == []


def test_the_jobs_of_a_server_go_with_its_last_pane(folders: JournalFolders) -> None:
    write_segments(folders.new_generation(SERVER, "%1"), 1)
    server = folders.server_folder(SERVER)
    jobs = server / JOBS_FILE
    jobs.write_text("")
    age_everything(server, 2 * HOUR_S)
    os.utime(jobs)
    clean_journals(folders, total_bytes=1 << 20, kept_s=HOUR_S)
    assert list(server.iterdir()) == [jobs], "the jobs are newer"
    write_segments(folders.new_generation(SERVER, "%2"), 1)
    age_everything(server, 2 * HOUR_S)
    clean_journals(folders, total_bytes=1 << 20, kept_s=HOUR_S)
    assert not server.exists()


def test_the_jobs_of_a_server_without_panes_stay_for_a_month(folders: JournalFolders) -> None:
    server = folders.server_folder(SERVER)
    (server / JOBS_FILE).write_text("")
    for days, is_kept in ((30, True), (32, False)):
        age_everything(server, 24 * days * HOUR_S)
        clean_journals(folders, total_bytes=1 << 20, kept_s=HOUR_S)
        assert server.exists() is is_kept
