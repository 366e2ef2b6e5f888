"""Where journals are: private folders, one for each pane of each server, and names that are not believed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from muxpilot.errors import UnsafeSocket
from muxpilot.journal.folders import Generation, JournalFolders, ServerIdentity, first_usable
from muxpilot.journal.journals import Journals, root_candidates

SERVER = ServerIdentity("/tmp/none/s", 17, 1000)


@pytest.fixture
def folders(tmp_path: Path) -> JournalFolders:
    return JournalFolders(tmp_path / "root")


def test_another_server_on_the_same_socket_has_other_folders(folders: JournalFolders) -> None:
    servers = [SERVER, ServerIdentity(SERVER.socket, 18, 1000), ServerIdentity(SERVER.socket, 17, 1001)]
    made = [folders.pane_folder(server, "%3") for server in servers]
    assert len(set(made)) == 3
    assert sorted(folders.pane_folders()) == sorted(made)
    assert list(folders.pane_folders(SERVER)) == [made[0]]


def test_generations_come_in_order(folders: JournalFolders) -> None:
    made = [folders.new_generation(SERVER, "%3").name for _ in range(12)]
    assert [generation.name for generation in folders.generations(SERVER, "%3")] == made
    assert made[-1].startswith("0012-")


@pytest.mark.parametrize(
    "name", ["", "..", "../0001-abcdef", "0001-abcdeg", "/etc", "0001-abcdef\n", "x" * 999]
)
def test_a_name_from_elsewhere_finds_only_a_generation(folders: JournalFolders, name: str) -> None:
    folders.new_generation(SERVER, "%3")
    assert folders.find_generation(SERVER, "%3", name) is None


def test_nothing_is_created_by_looking(folders: JournalFolders, tmp_path: Path) -> None:
    assert folders.generations(SERVER, "%3") == []
    assert list(folders.pane_folders()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_others_can_enter_is_refused(folders: JournalFolders) -> None:
    folder = folders.pane_folder(SERVER, "%3")
    folder.chmod(0o755)
    with pytest.raises(UnsafeSocket, match="only you can enter"):
        folders.new_generation(SERVER, "%3")
    assert list(folders.pane_folders()) == []


def test_a_link_is_not_taken_for_a_folder(folders: JournalFolders, tmp_path: Path) -> None:
    folder = folders.pane_folder(SERVER, "%3")
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir(0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafeSocket):
        folders.new_generation(SERVER, "%3")


def test_the_first_private_folder_is_used(tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    private = tmp_path / "a" / "b" / "private"
    assert first_usable([open_to_all, private]) == private
    assert first_usable([open_to_all]) is None


def test_the_place_is_told_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert root_candidates() == [tmp_path / "muxpilot", Path("/home/me/.local/state/muxpilot")]
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert root_candidates() == [Path("/state/muxpilot")]


def test_another_layout_version_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    newer = tmp_path / "muxpilot" / "journals" / "2" / "whatever"
    newer.mkdir(parents=True, mode=0o700)
    (tmp_path / "muxpilot").chmod(0o700)
    folders = Journals().folders
    assert folders is not None
    (tmp_path / "muxpilot" / "journals").chmod(0o700)
    folders.new_generation(SERVER, "%3")
    assert [path.name for path in folders.pane_folders()] == ["3"]
    assert newer.exists()


@pytest.fixture
def generation(folders: JournalFolders) -> Generation:
    return folders.new_generation(SERVER, "%3")


@pytest.fixture
def writer(generation: Generation) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process with the name of the generation in its command line."""
    argv = ["sh", "-c", f": {generation.name}; echo runs; read x"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"runs\n"
        yield process
        process.kill()


def test_a_generation_is_written_while_its_program_runs(
    generation: Generation, writer: subprocess.Popen[bytes]
) -> None:
    states = [generation.is_being_written]
    (generation.path / "pid").write_text(f"{writer.pid}\n")
    states.append(generation.is_being_written)
    (generation.path / "end").touch()
    states.append(generation.is_being_written)
    assert states == [False, True, False]


@pytest.mark.parametrize("text", ["own", "0", "-1", "x", "", "9" * 30])
def test_another_process_with_the_same_number_is_not_the_writer(generation: Generation, text: str) -> None:
    (generation.path / "pid").write_text(str(os.getpid()) if text == "own" else text)
    assert not generation.is_being_written
