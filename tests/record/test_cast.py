"""Files of recordings: whole characters, whole lines, and refusal of files that are not recordings."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from muxpilot.errors import BadInput
from muxpilot.files.any_path import AnyFolder
from muxpilot.record.cast import CastEvent, CastFile, CastPlace, paint_screen, read_events


def write_and_read(path: Path, *pieces: bytes) -> list[CastEvent]:
    file = CastFile.create(path, 80, 24, AnyFolder().create)
    for piece in pieces:
        file.write_output(piece)
    file.close()
    assert file.bytes == path.stat().st_size
    return list(read_events(path))


def test_a_character_that_comes_in_two_pieces_is_written_whole(tmp_path: Path) -> None:
    data = "aé世🎉\x1b[31m".encode()
    found = write_and_read(tmp_path / "a.cast", *(data[at : at + 1] for at in range(len(data))))
    assert "".join(event.text for event in found) == "aé世🎉\x1b[31m"
    assert [event.kind for event in found] == ["o"] * len(found)
    assert [event.seconds for event in found] == sorted(event.seconds for event in found)


def test_the_head_says_what_a_player_needs(tmp_path: Path) -> None:
    path = tmp_path / "a.cast"
    assert [(event.kind, event.text) for event in write_and_read(path, b"\xff")] == [("o", "\ufffd")]
    head = json.loads(path.read_text().splitlines()[0])
    assert (head["version"], head["width"], head["height"]) == (2, 80, 24)
    assert head["timestamp"] > 1_600_000_000
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_there_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    for name, words in [("there", "already exists"), ("link", "already exists"), ("gone/x", "No such file")]:
        with pytest.raises(BadInput, match=words):
            CastFile.create(tmp_path / name, 80, 24, AnyFolder().create)
    assert (tmp_path / "there").read_text() == "mine"


def test_the_first_look_paints_the_screen_and_puts_the_cursor_back() -> None:
    assert paint_screen(["ab  ", "c", "", ""], (1, 1)) == "\x1b[H\x1b[2Jab\r\nc\x1b[0m\x1b[2;2H"
    assert paint_screen(["x"], None).endswith("\x1b[?25l")


HEAD = '{"version": 2, "width": 80, "height": 24}'
BAD = {
    "empty": ("", 1),
    "another version": ('{"version": 1}', 1),
    "no object": ("[]", 1),
    "no JSON": (f"{HEAD}\n[0, ", 2),
    "too short": (f'{HEAD}\n[0, "o"]', 2),
    "a time that is none": (f'{HEAD}\n[0, "o", "x"]\n["0", "o", "x"]', 3),
    "not a number": (f'{HEAD}\n[NaN, "o", "x"]', 2),
    "before the beginning": (f'{HEAD}\n[-1, "o", "x"]', 2),
    "no text": (f'{HEAD}\n[0, "o", 5]', 2),
}


@pytest.mark.parametrize(("text", "line"), BAD.values(), ids=list(BAD))
def test_what_is_no_recording_is_said_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "bad.cast"
    path.write_text(text)
    with pytest.raises(BadInput, match=f"not an asciicast v2 file: see line {line}"):
        list(read_events(path))


def begin(path: Path, *events: str) -> tuple[CastFile, CastPlace]:
    """Return an open recording with these events, and its place after them."""
    file = CastFile.create(path, 80, 24, AnyFolder().create)
    for text in events:
        file.write_event("o", text)
    return file, file.place


def test_another_process_goes_on_at_the_known_place_with_the_same_clock(tmp_path: Path) -> None:
    path = tmp_path / "a.cast"
    first, place = begin(path, "one", "two")
    first.write_event("o", "not known any more")
    first.close()
    second = CastFile.reopen(path, place)
    assert second is not None
    second.write_event("o", "three")
    second.close()
    found = list(read_events(path))
    assert [event.text for event in found] == ["one", "two", "three"]
    assert [event.seconds for event in found] == sorted(event.seconds for event in found)
    assert second.seconds >= first.seconds
    assert second.bytes == path.stat().st_size


@pytest.mark.parametrize("cut", [1, 5])
def test_a_line_without_an_end_is_cut(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.cast"
    first, place = begin(path, "one", "世" * 50_000)
    first.close()
    os.truncate(path, path.stat().st_size - cut)
    second = CastFile.reopen(path, place)
    assert second is not None
    second.close()
    assert [event.text for event in read_events(path)] == ["one"]


def test_a_file_that_is_being_written_is_not_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "a.cast"
    first, place = begin(path, "one")
    assert CastFile.reopen(path, place) is None
    first.close()
    second = CastFile.reopen(path, place)
    assert second is not None
    second.close()


@pytest.mark.parametrize("kind", ["other", "link", "none"])
def test_another_file_of_the_same_name_is_never_written_to(tmp_path: Path, kind: str) -> None:
    path, other = tmp_path / "a.cast", tmp_path / "other"
    first, place = begin(path, "one")
    path.rename(tmp_path / "moved.cast")  # keeps its inode in use
    first.close()
    other.write_text("mine\n")
    if kind == "other":
        path.write_text("mine\n")
    elif kind == "link":
        path.symlink_to(other)
    with pytest.raises(OSError, match="cast"):
        CastFile.reopen(path, place)
    assert other.read_text() == "mine\n"
    assert kind != "other" or path.read_text() == "mine\n"


def test_bytes_that_wait_for_the_rest_of_a_character_are_counted(tmp_path: Path) -> None:
    file, _ = begin(tmp_path / "a.cast")
    file.write_output("a世".encode()[:-1])
    assert file.held_bytes == 2
    file.write_output("世".encode()[-1:])
    assert file.held_bytes == 0
    file.close()
