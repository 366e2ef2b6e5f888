"""Other terminal libraries beside our own model: how fast they are, and how often they show what tmux shows.

    pip install --target FOLDER pyavt wcwidth
    PYTHONPATH=FOLDER ./dev bench terminal_libraries [--streams N] [--tmux PROGRAM]

Generated streams of 100 sequences and recorded programs are drawn by a real tmux, by pyavt and by our model.
They look the same if all rows of the screen and the cursor do. The widths of all characters are compared with
those of tmux.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import machine, print_table
from bench.terminal_programs import record_programs
from bench.terminal_proof import LENGTH, ask_widths
from bench.terminal_streams import generate
from bench.terminal_tmux import C1, END, START, DrawingPane, drawing_panes
from muxpilot.shells.command_output import CommandOutput
from muxpilot.terminal.screen import Screen
from muxpilot.terminal.shape import ScreenShape
from muxpilot.terminal.width import EmojiCells, cell_width

SIZE = (80, 24)
MEGABYTE = 1 << 20
TEXTS = {
    "plain lines": "line with some text as a program logs it, once more\r\n",
    "coloured lines": "\x1b[32mINFO\x1b[0m line with some text, \x1b[1mbold\x1b[0m and more\r\n",
    "a progress bar": "\r\x1b[K[#####.....] 50 % of a task",
    "a full-screen program": "\x1b[5;10H\x1b[7mmenu item\x1b[m\x1b[6;10Hnext item\x1b[K\x1b[1;1Htitle",
}
Seen = tuple[list[str], tuple[int, int]]


def see_tmux(pane: DrawingPane, text: str) -> Seen:
    shown = pane.draw(text)
    rows = ["".join(char for char, _ in row) for row in shown.rows]
    return rows, (shown.state["cursor_x"], shown.state["cursor_y"])


def see_screen(text: str, shape: ScreenShape) -> Seen:
    screen = Screen(shape)
    screen.write(f"{START}{text}{END}")
    screen.row(screen.height - 1)
    return [row.text.rstrip(" ") for row in screen.rows], (screen.x, screen.y)


def see_avt(text: str, avt: Any) -> Seen:
    terminal = avt.Vt(*SIZE)
    terminal.feed_str(f"{START}{text}{END}")
    rows = [C1.sub("", line.text).rstrip(" ") for line in terminal.view()]
    return rows, (terminal.cursor.col, terminal.cursor.row)


def compare_streams(streams: list[str], pane: DrawingPane, avt: Any) -> tuple[int, int]:
    """Return for how many streams our model and avt show what tmux shows."""
    ours = theirs = 0
    for text in streams:
        wanted = see_tmux(pane, text)
        ours += see_screen(text, pane.shape) == wanted
        theirs += see_avt(text, avt) == wanted
    return ours, theirs


def feed_output(data: str) -> None:
    output = CommandOutput(ScreenShape(*SIZE), 1 << 26)
    try:
        output.feed(data.encode())
        output.finish()
    finally:
        output.close()


def speed(act: Callable[[str], object], data: str) -> str:
    """Return the megabytes per second of the fastest of three runs."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        act(data)
        taken.append(time.process_time() - began)
    return f"{len(data) / MEGABYTE / min(taken):.1f}"


def measure_speeds(avt: Any) -> None:
    rows = []
    for name, line in TEXTS.items():
        data = line * (2 * MEGABYTE // len(line))
        ways = (lambda text: avt.Vt(*SIZE).feed_str(text), Screen(ScreenShape(*SIZE)).write, feed_output)
        rows.append([name, *(speed(way, data) for way in ways)])
    print_table(("MB/s", "pyavt", "our screen", "our text of a command"), rows)


def compare_widths(wcwidth: Any, binary: str, emoji: EmojiCells) -> None:
    """Print how many characters have another width than in tmux, and how long a lookup takes."""
    asked = ask_widths(binary, step=1)
    wrong = [
        sum(width(char) != wanted for char, wanted in asked.items())
        for width in (wcwidth.wcwidth, lambda char: cell_width(char, emoji=emoji))
    ]
    print(f"other widths than tmux, of {len(asked)} characters: wcwidth {wrong[0]}, ours {wrong[1]}")


def main() -> int:
    parser = argparse.ArgumentParser(description="other terminal libraries beside our own model")
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--tmux", default="tmux")
    given = parser.parse_args()
    try:
        avt, wcwidth = importlib.import_module("avt"), importlib.import_module("wcwidth")
    except ImportError as error:
        print(f"{error}: see the head of bench/terminal_libraries.py")
        return 1
    version = subprocess.run([given.tmux, "-V"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{machine()}, {version}, pyavt {avt.__version__}, wcwidth {wcwidth.__version__}")
    measure_speeds(avt)
    with drawing_panes([SIZE], given.tmux) as [pane]:
        generated = ["".join(generate(Random(number), LENGTH)) for number in range(given.streams)]
        # What is no text is read in other ways by each, and is no part of this.
        generated = [text.encode("utf-8", "ignore").decode() for text in generated]
        recorded = list(record_programs().values())
        for name, streams in (("generated streams", generated), ("recorded programs", recorded)):
            ours, theirs = compare_streams(streams, pane, avt)
            print(f"{name} that look as in tmux, of {len(streams)}: pyavt {theirs}, ours {ours}")
        emoji = pane.shape.emoji
    compare_widths(wcwidth, given.tmux, emoji)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
