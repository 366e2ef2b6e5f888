"""Render a recording as frames: a private tmux plays it, and its screen is captured.

The pane of that tmux has no program. `display-message -I` writes the recording into it and returns when tmux
has read all of it. So each frame is exactly what tmux shows, and no frame needs a wait.
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
from muxpilot.record.cast import CastEvent, parse_resize, play_events, read_sizes
from muxpilot.terminal.cells import CellGrid, parse_screen
from muxpilot.terminal.escapes import RESET_TERMINAL
from muxpilot.tmux.version import emoji_cells, parse

_MOST_FRAMES = 400
_SHORTEST_S = 0.1
_LAST_S = 3.0
_LARGEST = (500, 200)
_DEADLINE_S = 30
_WAIT_FOR_PARENT = """\
trap "" HUP
while kill -0 "$0" 2>/dev/null; do sleep 1; done
tmux -S "$1" kill-server; rm -f "$1"; rmdir "$2"
"""
# Until it is reset, a pane without a program has no cursor and starts each line at the left margin.
_CURSOR = "#{cursor_x} #{cursor_y} #{cursor_flag} #{version}"


def render_frames(path: Path, *, speed: float, idle: float) -> Iterator[Frame]:
    """Yield a frame with its duration whenever the screen changes, at most about 400 of them."""
    columns, rows = (max(sides) for sides in zip(*read_sizes(path), strict=True))
    if columns > _LARGEST[0] or rows > _LARGEST[1]:
        what = f"A screen of {columns} by {rows} is too large for a GIF."
        raise BadInput(what, "The largest is 500 by 200.")
    end = max((event.seconds for event in play_events(path, speed=speed, idle=idle)), default=0.0)
    step = max(_SHORTEST_S, end / _MOST_FRAMES)
    with _PlayerTmux(columns, rows) as player:
        player.resize(*next(read_sizes(path)))
        yield from _time_frames(player, play_events(path, speed=speed, idle=idle), step, end)


def _time_frames(
    player: _PlayerTmux, events: Iterable[CastEvent], step: float, end: float
) -> Iterator[Frame]:
    shown, since = player.show(RESET_TERMINAL), 0.0
    for number, together in groupby(events, lambda event: int(event.seconds / step)):
        now = _play_together(player, together)
        if now != shown:
            if number:
                yield shown, number * step - since
            shown, since = now, number * step
    yield shown, max(end - since, 0.0) + _LAST_S


def _play_together(player: _PlayerTmux, events: Iterable[CastEvent]) -> CellGrid:
    """Play the events of one frame and return the screen after them."""
    text = ""
    for event in events:
        if event.kind == "o":
            text += event.text
        elif (size := parse_resize(event)) is not None:
            player.show(text)
            player.resize(*size)
            text = ""
    return player.show(text)


class _PlayerTmux:
    """The private tmux server. A script in its other pane ends it when our process has ended in any way."""

    def __init__(self, columns: int, rows: int) -> None:
        self._columns, self._rows = columns, rows
        self._cleanup = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as leaving:
            folder = Path(leaving.enter_context(tempfile.TemporaryDirectory(prefix="muxpilot-frames-")))
            self._socket = folder / "s"
            leaving.callback(self._run_tmux, "kill-server")
            guard = shlex.join(
                ("sh", "-c", _WAIT_FOR_PARENT, str(os.getpid()), str(self._socket), str(folder))
            )
            new = ("split-window", "-d", "-P", "-F", "#{pane_id}", "")
            self._pane = self._run_tmux("new-session", "-d", guard, ";", *new).strip()
            self._run_tmux("break-pane", "-d", "-s", self._pane)
            self._cleanup = leaving.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._cleanup.close()

    def resize(self, columns: int, rows: int) -> None:
        self._run_tmux("resize-window", "-t", self._pane, "-x", str(columns), "-y", str(rows))

    def show(self, text: str) -> CellGrid:
        """Write text to the pane and return the screen."""
        first, *lines = self._run_tmux(
            *("display-message", "-I", "-t", self._pane, ";"),
            *("display-message", "-p", "-t", self._pane, _CURSOR, ";"),
            *("capture-pane", "-p", "-e", "-N", "-t", self._pane),
            given=text,
        ).split("\n")
        *numbers, version = first.split()
        x, y, is_visible = map(int, numbers)
        emoji = emoji_cells(parse(version))
        return parse_screen(lines, self._columns, self._rows, (x, y) if is_visible else None, emoji=emoji)

    def _run_tmux(self, *command: str, given: str = "") -> str:
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
