"""The terminal model against a real tmux: the same streams, and whether both show the same.

    ./dev proof terminal
    ./dev bench terminal_proof [--sequences N] [--seed N] [--tmux PROGRAM] [--corpus FOLDER]

Generated streams come from the grammar in `bench/terminal_streams.py`; one that differs is shortened and
printed. Programs that are installed here are recorded in a pane and their bytes drawn again, whole and in
pieces. `--corpus` draws the files of a folder: recordings or tests of other projects, which are not kept
here.
Then each character is compared: tmux says how wide it is. The text of a command is compared with the lines
that tmux has of the same bytes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.terminal_programs import PROGRAMS, record_programs
from bench.terminal_streams import generate, shrink
from bench.terminal_tmux import DrawingPane, Shown, draw_model, drawing_panes, environment
from muxpilot.shells.command_output import CommandOutput
from muxpilot.terminal.shape import ScreenShape
from muxpilot.terminal.width import EmojiCells, cell_width

# Generated streams are drawn on all but the last, recorded ones on all.
SIZES = ((20, 6), (80, 24), (7, 3), (2, 2), (133, 5), (200, 50))
LENGTH = 100
CUTS = (1, 1, 7, 1, 200)  # in how many pieces our model gets a stream
MOST_SHOWN = 5
DRAWN_PARTS = 8
WIDTHS_AT_ONCE = 500


def draw_same(pane: DrawingPane, text: str, pieces: int = 1) -> Shown:
    """Return what our model shows of what a pane is to draw."""
    return draw_model(text, pane.shape, is_newer=pane.is_newer, pieces=pieces)


def differs(pane: DrawingPane, text: str, pieces: int = 1) -> bool:
    return pane.draw(text) != draw_same(pane, text, pieces)


def describe(shown: Shown, model: Shown) -> str:
    """Say what differs first."""
    for name, value in shown.state.items():
        if model.state[name] != value:
            return f"{name}: tmux {value}, model {model.state[name]}"
    for name in ("rows", "history"):
        pairs = zip(getattr(shown, name), getattr(model, name), strict=False)
        for number, (ours, theirs) in enumerate(pairs):
            if ours != theirs:
                texts = ["".join(char for char, _ in row) for row in (ours, theirs)]
                return f"{name} {number}: tmux {texts[0]!r}, model {texts[1]!r}" + " (style)" * (
                    texts[0] == texts[1]
                )
    return f"lines: tmux {shown.lines}, model {model.lines}"


def draw_generated(panes: list[DrawingPane], sequences: int, seed: int) -> Iterator[str]:
    """Draw streams and yield a line for each that differs."""
    for number in range(max(1, sequences // LENGTH)):
        pane = panes[number % len(panes)]
        cuts = CUTS[number % len(CUTS)]
        pieces = generate(Random(seed + number), LENGTH)
        if pane.is_newer:  # a tab is a cell of its own there, and its width is in no capture
            pieces = [piece.replace("\t", "") for piece in pieces]
        if differs(pane, "".join(pieces), cuts):
            fewer = shrink(pieces, partial(differs, pane, pieces=cuts))
            text = "".join(fewer)
            shape = f"{pane.shape.columns}x{pane.shape.rows}"
            told = describe(pane.draw(text), draw_same(pane, text, cuts))
            yield f"seed {seed + number}, {shape}: {text!r}: {told}"


def draw_recorded(panes: list[DrawingPane], streams: dict[str, str]) -> Iterator[str]:
    """Draw whole streams, and their first halves and quarters, and yield a line for each that differs."""
    for name, stream in streams.items():
        for parts in (1, 2, 4):
            text = stream[: len(stream) // parts]
            for pane in panes:
                if differs(pane, text):
                    told = describe(pane.draw(text), draw_same(pane, text))
                    yield f"{name}, 1/{parts}, {pane.shape.columns} columns: {told}"


def find_missed_drawing(panes: list[DrawingPane], streams: dict[str, str]) -> Iterator[str]:
    """Yield a line for each part of a stream whose line drawing a plain capture does not tell."""
    for name, stream in streams.items():
        for part in range(1, DRAWN_PARTS + 1):
            if panes[1].misses_drawing(stream[: len(stream) * part // DRAWN_PARTS]):
                yield f"{name}, {part}/{DRAWN_PARTS}: its line drawing is captured as letters"


def command_text(text: str, shape: ScreenShape) -> list[str]:
    output = CommandOutput(shape, 1 << 24)
    try:
        output.feed(text.encode())
        output.finish()
        return [line for line in map(str.rstrip, output.full_text()[0].split("\n")) if line]
    finally:
        output.close()


# What commands print. Tabs are left out: the text of a command keeps them. Blank lines are not compared: when
# the screen is cleared, tmux also keeps rows in which cells were only moved.
FULL_SCREEN = "\x1b[?1049hfull screen\x1b[?1049l"
PRINTED = (
    *("word ", "a line of text that is long enough to wrap around\r\n", "\r\n", "10%\r", "\x1b[K"),
    *("\x1b[31m", "\x1b[0m", "世界 ", "e\u0301", "\x1b(0lqk\x1b(B", "\b", "\x1b[A\r", "=\x1b[5b"),
    *("\x1b]0;t\x07", "\x1b[3C", "\x1b[2J\x1b[H", FULL_SCREEN, "\x1b[32mgreen\x1b[m"),
    *("\x1b[2A\r", "\x1b[2B\r", "Ω", "\x1b[2P", "\x1b[3@", "\x1b[4X", "\x1b7\x1b[1;1H*\x1b8"),
)


def is_another_text(pane: DrawingPane, text: str) -> bool:
    """Return True if the text of a command differs from the lines that its pane has.

    At a full-screen program tmux ends a line that goes on from the scrollback; in our text it stays one line.
    """
    ours, theirs = command_text(text, pane.shape), list(filter(None, pane.draw(text).lines))
    if FULL_SCREEN in text:
        return "".join("".join(ours).split()) != "".join("".join(theirs).split())
    return ours != theirs


def compare_commands(panes: list[DrawingPane], count: int, seed: int) -> Iterator[str]:
    """Compare the text of commands with the lines of the pane in which they have printed it."""
    for number in range(count):
        pane = panes[number % 2]
        pieces = Random(seed + number).choices(PRINTED, k=40)

        fails = partial(is_another_text, pane)
        if fails("".join(pieces)):
            text = "".join(shrink(pieces, fails))
            yield f"{text!r}: tmux {pane.draw(text).lines}, command {command_text(text, pane.shape)}"


def ask_widths(binary: str, *, step: int) -> dict[str, int]:
    """Return the width that tmux gives each character, or each of so many."""
    chars = [chr(code) for code in range(0xA0, 0x20000, step) if is_shown(chr(code))]
    widths: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="widths-") as folder:
        argv = (binary, "-S", f"{folder}/socket", "-u", "-f", "/dev/null")
        subprocess.run([*argv, "new-session", "-d", "sleep 600"], check=True, env=environment())
        try:
            for at in range(0, len(chars), WIDTHS_AT_ONCE):
                part = chars[at : at + WIDTHS_AT_ONCE]
                asked = " ".join(f"#{{w:#{{l:{char}}}}}" for char in part)
                done = subprocess.run(
                    [*argv, "display-message", "-p", asked],
                    capture_output=True,
                    text=True,
                    check=True,
                    env=environment(),
                )
                widths |= zip(part, map(int, done.stdout.split()), strict=True)
        finally:
            subprocess.run([*argv, "kill-server"], check=False)
    return widths


def compare_widths(widths: dict[str, int], emoji: EmojiCells) -> list[str]:
    """Return the characters for which we have another width."""
    return [
        f"U+{ord(char):04X}: tmux {width}"
        for char, width in widths.items()
        if width != cell_width(char, emoji=emoji)
    ]


def is_shown(char: str) -> bool:
    """Return True for characters that Unicode has assigned: libraries guess the width of others."""
    return char.isprintable() and not "\ud800" <= char <= "\udfff"


def read_corpus(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size < 1 << 20)
    return {path.name: path.read_bytes().decode("utf-8", "replace") for path in files}


def report(title: str, wrong: Iterator[str] | list[str]) -> bool:
    """Print the first differences; return True if there are none."""
    begun, count = time.monotonic(), 0
    for line in wrong:
        count += 1
        if count <= MOST_SHOWN:
            print(f"  {line}", flush=True)
    print(f"{title}: {count} differences, {time.monotonic() - begun:.0f} s", flush=True)
    return count == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="the terminal model against a real tmux")
    parser.add_argument("--sequences", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tmux", default="tmux")
    parser.add_argument("--corpus", type=Path, help="a folder of files with terminal output")
    given = parser.parse_args()
    version = subprocess.run([given.tmux, "-V"], capture_output=True, text=True, check=True).stdout.strip()
    with drawing_panes(SIZES, given.tmux) as panes:
        results = [
            report(
                f"{version}: {given.sequences} sequences, seed {given.seed}",
                draw_generated(panes[:-1], given.sequences, given.seed),
            ),
            report(
                f"{version}: text of {given.sequences // 500} commands",
                compare_commands(panes, given.sequences // 500, given.seed),
            ),
        ]
        recorded = record_programs()
        if missing := [name for name in PROGRAMS if name not in recorded]:
            print(f"not installed here, or silent: {', '.join(missing)}", flush=True)
        results.append(report(f"{version}: {', '.join(recorded)}", draw_recorded(panes, recorded)))
        results.append(
            report(f"{version}: line drawing in captures of those", find_missed_drawing(panes, recorded))
        )
        if given.corpus is not None:
            corpus = read_corpus(given.corpus)
            results.append(report(f"{version}: {len(corpus)} files", draw_recorded(panes, corpus)))
        emoji = panes[0].shape.emoji
    widths = ask_widths(given.tmux, step=1 if given.sequences >= 10**6 else 7)
    results.append(report(f"{version}: widths of {len(widths)} characters", compare_widths(widths, emoji)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
