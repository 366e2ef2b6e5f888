"""`muxpilot replay`: a recording in a terminal, in a pipe, and as a GIF."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image, ImageSequence

from muxpilot.cli.main import main
from muxpilot.pictures.palette import DARK, LIGHT
from muxpilot.pictures.png import encode_png
from muxpilot.terminal.cells import parse_screen
from tests.rigs.waiting import eventually, is_running, server_pid

HEAD = '{"version": 2, "width": 80, "height": 24}'
LIMIT_S = 50


def test_a_replay_shows_what_was_printed_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.cast"
    path.write_text(
        f'{HEAD}\n[0, "o", "one "]\n[5, "m", "mark"]\n\n[9999, "r", "9x9"]\n[99999, "o", "two"]\n'
    )
    assert main(["replay", str(path), "--idle", "0"]) == 0
    assert capsys.readouterr().out == "one two"
    assert main(["replay", str(path), "--speed", "1e9"]) == 0
    assert capsys.readouterr().out == "one two"


@pytest.mark.parametrize(
    "flags", [["--speed", "0"], ["--speed", "1e-300"], ["--speed", "nan"], ["--idle", "-1"]]
)
def test_a_replay_at_no_speed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    assert main(["replay", str(tmp_path / "gone.cast"), *flags]) == 2
    assert "--speed must be at least 0.001" in capsys.readouterr().err


def test_a_replay_of_what_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path / "gone.cast")]) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err


def cast(path: Path, *events: tuple[float, str, str], width: int = 100, height: int = 3) -> Path:
    head = {"version": 2, "width": width, "height": height}
    path.write_text("".join(json.dumps(value) + "\n" for value in (head, *events)))
    return path


@contextmanager
def run_in_terminal(*argv: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "muxpilot", *argv]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        try:
            yield process, ours
        finally:
            process.kill()
            os.close(ours)


def read_terminal(terminal: int, until: bytes = b"") -> bytes:
    """Return the output until a word, or until the program ends."""
    found = b""
    while not until or until not in found:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # Linux: nobody has the other end any more
            break
        if not data:
            break
        found += data
    return found


def test_a_person_s_terminal_gets_nothing_that_it_would_answer(tmp_path: Path) -> None:
    file = cast(tmp_path / "a.cast", (0, "o", "a\x1b[6"), (0, "o", "n\x1b]52;c;YQ==\x07\x1b[31mb\x1b[?1003h"))
    with run_in_terminal("replay", str(file)) as (process, terminal):
        found = read_terminal(terminal)
        assert process.wait(LIMIT_S) == 0
    assert found.startswith(b"a\x1b[31mb\x1b7\x1b[r\x1b8\x1b[0m")
    assert found.endswith(b"\r\n")


def test_a_replay_that_is_interrupted_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    file = cast(tmp_path / "a.cast", (0, "o", "\x1b[?1049h\x1b[?25lhere"), (999, "o", "never"))
    with run_in_terminal("replay", str(file), "--idle", "999") as (process, terminal):
        read_terminal(terminal, until=b"here")
        process.send_signal(signal.SIGINT)
        rest = read_terminal(terminal)
        assert process.wait(LIMIT_S) == 130
    assert b";25h" in rest
    assert rest.endswith(b"\x1b[?1049l")
    assert b"Traceback" not in rest


def frames(path: Path) -> list[tuple[bytes, float]]:
    with Image.open(path) as image:
        found = ((frame.convert("RGB").tobytes(), frame.info) for frame in ImageSequence.Iterator(image))
        return [(pixels, info["duration"] / 1000) for pixels, info in found]


def picture(*lines: str, cursor: tuple[int, int] | None = None) -> bytes:
    with Image.open(io.BytesIO(encode_png(parse_screen(lines, 100, 3, cursor), DARK))) as image:
        return image.convert("RGB").tobytes()


def test_a_gif_has_a_frame_for_what_each_change_looked_like(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = cast(
        tmp_path / "a.cast",
        (0, "o", "one\x1b["),  # a sequence that is cut goes on later
        (1, "o", "31m red 世\x1b[0m"),
        (1.01, "m", "a mark"),
        (1.5, "o", "\r\r"),
        (30, "o", "\x1b[2J\x1b[?25l\x1b[1;1Ha\n┌─┐"),  # a line feed only goes down
    )
    target = tmp_path / "a.gif"
    assert main(["replay", str(file), "--gif", str(target)]) == 0
    assert capsys.readouterr().out == f"{target}: {target.stat().st_size} bytes\n"
    red = "one\x1b[31m red 世\x1b[0m"
    assert frames(target) == [
        (picture("one", cursor=(3, 0)), 1.0),
        (picture(red, cursor=(10, 0)), 0.5),
        (picture(red, cursor=(0, 0)), 2.0),
        (picture("a", " ┌─┐"), 3.0),
    ]


def test_a_gif_is_as_large_as_the_screen_ever_was_and_has_a_theme(tmp_path: Path) -> None:
    file = cast(
        tmp_path / "a.cast", (0, "o", "x"), (1, "r", "30x4"), (1, "o", "\x1b[4;30Hy"), width=20, height=2
    )
    assert main(["replay", str(file), "--gif", str(tmp_path / "a.gif"), "--theme", "light"]) == 0
    with Image.open(tmp_path / "a.gif") as image:
        assert image.size == (30 * 8 + 16, 4 * 16 + 16)
        assert image.convert("RGB").getpixel((0, 0)) == LIGHT.bg
        image.seek(1)
        cell = image.convert("RGB").crop((8 + 29 * 8, 8 + 3 * 16, 8 + 30 * 8, 8 + 4 * 16))
        assert len(cell.getcolors() or ()) == 2


def test_a_long_recording_has_fewer_frames_and_takes_as_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muxpilot.record.frames._MOST_FRAMES", 20)
    events = [(at / 5, "o", f"\r{at}") for at in range(91)]
    file = cast(tmp_path / "a.cast", *events, width=10, height=1)
    assert main(["replay", str(file), "--gif", str(tmp_path / "a.gif")]) == 0
    shown = frames(tmp_path / "a.gif")
    assert 15 < len(shown) <= 21
    assert sum(seconds for _, seconds in shown) == pytest.approx(18 + 3, abs=0.1)


def test_a_recording_that_nobody_would_make_is_filmed_all_the_same(tmp_path: Path) -> None:
    """Replay half a character, controls, a bad size, a huge time, and an endless text."""
    events = [
        (0, "o", "\ud800\0\x1b]52;c;YQ==\x07"),
        (1, "r", "0x0"),
        (1e308, "o", "y" * 1_000_000),
        (2, "o", "z"),
    ]
    file = cast(tmp_path / "a.cast", *events)
    assert main(["replay", str(file), "--gif", str(tmp_path / "a.gif"), "--idle", "inf"]) == 0
    assert len(frames(tmp_path / "a.gif")) == 2


def test_a_gif_that_cannot_be_made_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = cast(tmp_path / "a.cast", (0, "o", "x"))
    bad = tmp_path / "bad.cast"
    bad.write_text(HEAD + "\n[")
    for file, target, words in [
        (good, tmp_path / "a.png", "must end in .gif"),
        (good, tmp_path / "gone" / "a.gif", "cannot be written: No such file"),
        (bad, tmp_path / "a.gif", "see line 2"),
        (cast(tmp_path / "b.cast", width=501), tmp_path / "a.gif", "too large"),
    ]:
        assert main(["replay", str(file), "--gif", str(target)]) == 2
        assert words in capsys.readouterr().err
    assert not (tmp_path / "a.gif").exists()


async def test_nothing_is_left_of_a_gif_whose_maker_is_killed(folder: Path) -> None:
    """Check that not even its tmux is left."""
    events = [(at / 10, "o", f"\r{at}") for at in range(4000)]  # more than it films before it is killed
    file = cast(folder / "a.cast", *events)
    command = [sys.executable, "-m", "muxpilot", "replay", str(file), "--gif", str(folder / "a.gif")]

    async def server() -> int | None:
        pids = (server_pid("tmux", str(path)) for path in folder.glob("*/s"))
        return next((pid for pid in pids if pid is not None), None)

    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(folder)}) as process:
        try:
            found = await eventually(server)
        finally:
            process.kill()
    assert isinstance(found, int)

    async def is_gone() -> bool:
        return not is_running(found) and not list(folder.glob("muxpilot-*"))

    await eventually(is_gone)
    assert not (folder / "a.gif").exists()
