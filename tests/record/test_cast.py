"""Files of recordings: whole characters, whole lines, and refusal of files that are not recordings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muxpilot.errors import BadInput
from muxpilot.files.any_path import AnyFolder
from muxpilot.record.cast import CastEvent, CastFile, paint_screen, read_events


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
