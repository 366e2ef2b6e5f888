"""A recording as a film: a private tmux plays it, and its own cells become frames.

The pane has no program: what is shown there is written by `display-message -I`, which is done when tmux has
taken all of it. So a frame is what tmux says that the recording looks like, and waits for nothing.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Self

from muxpilot.errors import BadInput, Refused
from muxpilot.pictures.gif import Frame
from muxpilot.record.cast import Event, played, resized, sizes
from muxpilot.terminal.cells import Screen, screen
from muxpilot.tmux.version import EMOJI_ARE_JOINED, parse

_MOST_FRAMES = 400
_SHORTEST_S = 0.1
_LAST_S = 3.0
_LARGEST = (500, 200)
_DEADLINE_S = 30
_GUARD = """\
trap "" HUP
while kill -0 "$0" 2>/dev/null; do sleep 1; done
tmux -S "$1" kill-server; rm -f "$1"; rmdir "$2"
"""
# A pane without a program has no cursor, and begins each line at the left, until it is told to be a terminal.
_RESET = "\x1bc"
_CURSOR = "#{cursor_x} #{cursor_y} #{cursor_flag} #{version}"


def film(path: Path, *, speed: float, idle: float) -> Iterator[Frame]:
    """What the recording shows, a new frame where that changes, and not too many of them."""
    columns, rows = (max(sides) for sides in zip(*sizes(path), strict=True))
    if columns > _LARGEST[0] or rows > _LARGEST[1]:
        raise BadInput(f"A screen of {columns} by {rows} is too large for a GIF.", "500 by 200 are possible.")
    end = max((event.seconds for event in played(path, speed=speed, idle=idle)), default=0.0)
    step = max(_SHORTEST_S, end / _MOST_FRAMES)
    with _Stage(columns, rows) as stage:
        stage.resize(*next(sizes(path)))
        yield from _timed(stage, played(path, speed=speed, idle=idle), step, end)


def _timed(stage: _Stage, events: Iterable[Event], step: float, end: float) -> Iterator[Frame]:
    shown, since = stage.screen(_RESET), 0.0
    for number, together in groupby(events, lambda event: int(event.seconds / step)):
        now = _after(stage, together)
        if now != shown:
            if number:
                yield shown, number * step - since
            shown, since = now, number * step
    yield shown, max(end - since, 0.0) + _LAST_S


def _after(stage: _Stage, events: Iterable[Event]) -> Screen:
    text = ""
    for event in events:
        if event.kind == "o":
            text += event.text
        elif (size := resized(event)) is not None:
            stage.screen(text)
            stage.resize(*size)
            text = ""
    return stage.screen(text)


class _Stage:
    """The private tmux. It ends with us, however we end: its other pane looks whether we are there."""

    def __init__(self, columns: int, rows: int) -> None:
        self._columns, self._rows = columns, rows
        self._leaving = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as leaving:
            folder = Path(leaving.enter_context(tempfile.TemporaryDirectory(prefix="muxpilot-film-")))
            self._socket = folder / "s"
            leaving.callback(self._tmux, "kill-server")
            guard = shlex.join(("sh", "-c", _GUARD, str(os.getpid()), str(self._socket), str(folder)))
            new = ("split-window", "-d", "-P", "-F", "#{pane_id}", "")
            self._pane = self._tmux("new-session", "-d", guard, ";", *new).strip()
            self._tmux("break-pane", "-d", "-s", self._pane)
            self._leaving = leaving.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._leaving.close()

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-t", self._pane, "-x", str(columns), "-y", str(rows))

    def screen(self, text: str) -> Screen:
        """What is shown after this text, too."""
        first, *lines = self._tmux(
            *("display-message", "-I", "-t", self._pane, ";"),
            *("display-message", "-p", "-t", self._pane, _CURSOR, ";"),
            *("capture-pane", "-p", "-e", "-N", "-t", self._pane),
            given=text,
        ).split("\n")
        *numbers, version = first.split()
        x, y, is_visible = map(int, numbers)
        is_joined = parse(version) >= EMOJI_ARE_JOINED
        return screen(lines, self._columns, self._rows, (x, y) if is_visible else None, is_joined=is_joined)

    def _tmux(self, *command: str, given: str = "") -> str:
        argv = ("tmux", "-u", "-f", "/dev/null", "-S", str(self._socket), *command)
        try:
            done = subprocess.run(
                argv,
                input=given.encode("utf-8", "replace"),
                capture_output=True,
                timeout=_DEADLINE_S,
                check=True,
            )
        except subprocess.CalledProcessError as error:
            raise Refused(
                f"tmux could not play the recording: {error.stderr.decode(errors='replace')}"
            ) from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Refused(f"tmux could not play the recording: {error}.") from None
        return done.stdout.decode("utf-8", "replace")
