"""A real tmux pane that draws given bytes, and what it then shows: the reference of the terminal proof."""

from __future__ import annotations

import codecs
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from muxpilot.terminal.capture_text import decode_styled_rows, looks_drawn
from muxpilot.terminal.cells import CellStyle, ScreenCell, parse_screen
from muxpilot.terminal.screen import Screen
from muxpilot.terminal.shape import ScreenShape
from muxpilot.terminal.width import EmojiCells
from muxpilot.tmux.objects.capture import write_blanks
from muxpilot.tmux.version import parse as parse_version
from muxpilot.tmux.version import screen_shape

LIMIT_S = 30.0
# The pane writes to its terminal what comes through the FIFO, and never ends.
SETTINGS = "set -g status off\nset -g history-limit 50000\n"
PROGRAM = "stty raw -echo; exec cat <>{fifo}"
FACTS = (
    *("pane_title", "history_size", "cursor_x", "cursor_y", "cursor_flag", "alternate_on", "insert_flag"),
    *("wrap_flag", "origin_flag", "scroll_region_upper", "scroll_region_lower"),
)
ASK = " ".join(f"#{{{name}}}" for name in FACTS)
# Ends every sequence and string, leaves the alternate screen, resets, erases the scrollback. The cursor that
# mode 1049 saves is at home afterwards; tmux never forgets it.
START = "\x18\x1b\\\x1b[?1049l\x1bc\x1b7\x1b[?1049h\x1b[?1049l\x1bc\x1b[3J"
END = "\x18\x1b\\"


C1 = re.compile("[\x80-\x9f]")
Row = list[tuple[str, CellStyle]]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a terminal shows: its rows, the text as joined lines, cursor and modes."""

    rows: list[Row]
    history: list[Row]
    lines: list[str]
    state: dict[str, int]


class DrawingPane:
    """One pane of a private tmux."""

    def __init__(self, client: subprocess.Popen[bytes], shape: ScreenShape, fifo: int, target: str) -> None:
        self.shape = shape
        self.is_newer = False  # tmux 3.6 and newer
        self._client, self._fifo, self._target = client, fifo, target
        self._number = 0

    def draw(self, text: str) -> Shown:
        """Reset the pane, let it draw the text, and return what it shows."""
        self._number += 1
        data = f"{START}{text}{END}\x1b]2;{self._number}\x07".encode("utf-8", "surrogateescape")
        while data:
            data = data[os.write(self._fifo, data) :]
        deadline = time.monotonic() + LIMIT_S
        while self._ask(f"display-message -p -t {self._target} '#{{pane_title}}'") != [[str(self._number)]]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"tmux has not drawn {text!r} within {LIMIT_S:g} s")
        [facts], screen, joined = self._ask(
            f"display-message -p -t {self._target} '{ASK}'",
            f"capture-pane -p -e -S - -t {self._target}",
            f"capture-pane -p -e -J -S - -t {self._target}",
        )
        _, *numbers = facts.split()
        state = dict(zip(FACTS[1:], map(int, numbers), strict=True))
        history = state["history_size"]
        # Twice the columns: a wide character that lost its second half is captured whole. Part by part: where
        # the cursor was moved, an emoji is not joined to what is beside it.
        size = (2 * self.shape.columns, len(screen))
        every = parse_screen(write_blanks(screen), *size, emoji=EmojiCells.SEPARATE).rows
        cells = [strip(row) for row in every]
        lines = decode_styled_rows([row.encode() for row in joined], colors=False, keeps_blanks=True)
        return Shown(cells[history:], cells[:history], tidy_lines(write_blanks(lines)), state)

    def misses_drawing(self, text: str) -> bool:
        """Return True if the pane then shows line drawing, and a capture without styles does not tell it."""
        self.draw(text)
        plain, styled = self._ask(
            f"capture-pane -p -t {self._target}", f"capture-pane -p -e -t {self._target}"
        )
        is_drawn = any("\x0e" in row for row in styled)
        return is_drawn and not looks_drawn([row.encode() for row in plain])

    def _ask(self, *commands: str) -> list[list[str]]:
        """Return what each command prints, all of one moment."""
        assert self._client.stdin is not None
        self._client.stdin.write(" ; ".join(commands).encode() + b"\n")
        self._client.stdin.flush()
        return [self._read_block() for _ in commands]

    def _read_block(self) -> list[str]:
        stdout = self._client.stdout
        assert stdout is not None
        while not (line := stdout.readline()).startswith(b"%begin"):
            if not line:
                raise EOFError("the tmux client has ended")
        end = b"%end" + line.rstrip(b"\n").removeprefix(b"%begin") + b"\n"
        failed = b"%error" + end[4:]
        lines = []
        while (line := stdout.readline()) not in (end, failed):
            lines.append(line.rstrip(b"\n").decode("utf-8", "replace"))
        return lines


@contextmanager
def drawing_panes(sizes: Sequence[tuple[int, int]], binary: str = "tmux") -> Iterator[list[DrawingPane]]:
    """Start a private tmux with a pane of each size (columns and rows)."""
    told = subprocess.run([binary, "-V"], capture_output=True, text=True, check=True).stdout
    version = parse_version(told)
    with tempfile.TemporaryDirectory(prefix="terminal-proof-") as folder:
        settings = Path(folder) / "tmux.conf"
        settings.write_text(SETTINGS)
        argv = (binary, "-S", f"{folder}/socket", "-u", "-f", str(settings))
        fifos = []
        clients = []
        try:
            panes = []
            for number, (columns, rows) in enumerate(sizes):
                fifo = Path(folder) / f"fifo{number}"
                os.mkfifo(fifo)
                fifos.append(os.open(fifo, os.O_RDWR))
                size = ("-x", str(columns), "-y", str(rows))
                program = f"sh -c '{PROGRAM.format(fifo=fifo)}'"
                new = ("new-session", "-d", "-s", f"s{number}", *size, program)
                subprocess.run([*argv, *new], check=True, env=environment())
                subprocess.run([*argv, "resize-window", "-t", f"s{number}:", *size], check=True)
                client = subprocess.Popen(
                    [*argv, "-C", "attach", "-f", "no-output,ignore-size", "-t", f"s{number}"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
                clients.append(client)
                shape = screen_shape(columns, rows, told)
                panes.append(DrawingPane(client, shape, fifos[-1], f"s{number}:0.0"))
                panes[-1].is_newer = version >= (3, 6)
                panes[-1]._read_block()
            yield panes
        finally:
            subprocess.run([*argv, "kill-server"], check=False, capture_output=True)
            for client in clients:
                client.communicate(timeout=LIMIT_S)
            for descriptor in fifos:
                os.close(descriptor)


def environment() -> dict[str, str]:
    return {**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}


def draw_model(text: str, shape: ScreenShape, *, is_newer: bool = False, pieces: int = 1) -> Shown:
    """Return what our own screen shows of the same text, given in so many pieces of bytes.

    tmux 3.6 and newer draw a replacement character for bytes that are no UTF-8, older ones draw nothing.
    """
    screen = Screen(shape, has_styles=True)
    data = f"{START}{text}{END}".encode("utf-8", "surrogateescape")
    decoder = codecs.getincrementaldecoder("utf-8")("replace" if is_newer else "ignore")
    size = len(data) // pieces + 1
    for at in range(0, len(data), size):
        screen.write(decoder.decode(data[at : at + size]))
    screen.row(screen.height - 1)
    read = [
        strip([ScreenCell(text, 1, style) for text, style in zip(row.cells, row.styles, strict=True) if text])
        for row in (*screen.history, *screen.rows)
    ]
    history = len(screen.history)
    lines = [""]
    for row in (*screen.history, *screen.rows):
        lines[-1] += "".join(row.cells[: row.used]) + " " * (row.used - len(row.cells))
        if not row.is_wrapped:
            lines.append("")
    state = {
        "history_size": history,
        "cursor_x": screen.x,
        "cursor_y": screen.y,
        "cursor_flag": int(screen.is_cursor_visible),
        "alternate_on": int(screen.is_alternate),
        "insert_flag": int(screen.inserts),
        "wrap_flag": int(screen.wraps),
        "origin_flag": int(screen.is_origin),
        "scroll_region_upper": screen.top,
        "scroll_region_lower": screen.bottom,
    }
    return Shown(read[history:], read[:history], tidy_lines(lines), state)


def strip(row: Sequence[ScreenCell]) -> Row:
    """Return each character with its style, without what cannot be seen.

    That is the blanks at the end, of which tmux does not capture those that were only erased; the colour of
    an underline where there is none, which tmux does not always keep; and C1 characters, which tmux 3.4 and
    newer keep in the cell before them.
    """
    cells = [(char, _visible(cell.style)) for cell in row for char in C1.sub("", cell.text)]
    while cells and cells[-1][0] == " ":
        cells.pop()
    return cells


def _visible(style: CellStyle) -> CellStyle:
    return style if style.underline or style.line is None else replace(style, line=None)


def tidy_lines(lines: Sequence[str]) -> list[str]:
    """Return the text of lines without blanks at their ends and blank lines at the end of all."""
    texts = [C1.sub("", line).rstrip(" ") for line in lines]
    while texts and not texts[-1]:
        texts.pop()
    return texts
