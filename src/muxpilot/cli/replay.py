"""`muxpilot replay`: show a recording in this terminal, as fast as it was or faster, or make a GIF of it."""

from __future__ import annotations

import re
import sys
import time
from argparse import Namespace
from pathlib import Path

from muxpilot.config import Settings
from muxpilot.errors import BadInput
from muxpilot.record.cast import played
from muxpilot.terminal.safe_output import Harmless

_SLOWEST = 0.001
_ALTERNATE = re.compile(r"\x1b\[\?(?:1049|1047|47)([hl])")
# Margins (which send the cursor home), colours, characters, the cursor and how lines go on.
_AS_BEFORE = "\x1b7\x1b[r\x1b8\x1b[0m\x1b(B\x0f\x1b[?5;6l\x1b[?7;25h\x1b[0 q"


def run(settings: Settings, arguments: Namespace) -> int:
    if not arguments.speed >= _SLOWEST or not arguments.idle >= 0:
        raise BadInput(f"--speed must be above 0, at least {_SLOWEST}, and --idle not below 0.")
    if arguments.gif is not None:
        _make_gif(Path(arguments.file), Path(arguments.gif), arguments)
    else:
        _show(Path(arguments.file), arguments)
    return 0


def _show(file: Path, arguments: Namespace) -> None:
    """A file or a pipe gets what was recorded; a person's terminal what is harmless, and stays as it was."""
    terminal = _Terminal() if sys.stdout.isatty() else None
    at = 0.0
    try:
        for event in played(file, speed=arguments.speed, idle=arguments.idle):
            if event.kind == "o":
                time.sleep(event.seconds - at)
                at = event.seconds
                _write(terminal.shown(event.text) if terminal else event.text)
    finally:
        if terminal:
            _write(terminal.end)


class _Terminal:
    """What it is shown, and what then leaves it as it was: nothing if nothing was shown."""

    def __init__(self) -> None:
        self._harmless = Harmless()
        self.end = ""

    def shown(self, text: str) -> str:
        shown = self._harmless.pass_on(text.encode("utf-8", "replace"))
        self.end = self.end or f"{_AS_BEFORE}\r\n"
        for switch in _ALTERNATE.findall(shown):
            self.end = _AS_BEFORE + ("\x1b[?1049l" if switch == "h" else "\r\n")
        return shown


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _make_gif(file: Path, target: Path, arguments: Namespace) -> None:
    from muxpilot.pictures.gif import gif
    from muxpilot.pictures.palette import THEMES
    from muxpilot.record.frames import film  # few replays need them

    if target.suffix.lower() != ".gif":
        raise BadInput(f"The path {str(target)!r} must end in .gif.")
    frames = film(file, speed=arguments.speed, idle=arguments.idle)
    try:
        size = target.write_bytes(b"".join(gif(frames, THEMES[arguments.theme])))
    except OSError as error:
        raise BadInput(f"The file {str(target)!r} cannot be written: {error.strerror}.") from None
    print(f"{target}: {size} bytes")
