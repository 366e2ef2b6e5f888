"""`muxpilot replay`: play a recording in this terminal, at any speed, or make a GIF of it."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from pathlib import Path

from muxpilot.config.model import Settings
from muxpilot.errors import BadInput
from muxpilot.record.cast import play_events
from muxpilot.terminal.escapes import ALTERNATE_SWITCH, LEAVE_ALTERNATE_SCREEN, RESTORE_DEFAULTS
from muxpilot.terminal.safe_output import SafeOutputFilter

_LOWEST_SPEED = 0.001


def run(settings: Settings, arguments: Namespace) -> int:
    """Play the recording, or write the GIF."""
    if not arguments.speed >= _LOWEST_SPEED or not arguments.idle >= 0:
        raise BadInput(f"--speed must be at least {_LOWEST_SPEED}, and --idle 0 or more.")
    if arguments.gif is not None:
        _make_gif(Path(arguments.file), Path(arguments.gif), arguments)
    else:
        _show(Path(arguments.file), arguments)
    return 0


def _show(file: Path, arguments: Namespace) -> None:
    """Write the recording to stdout. A terminal gets only harmless sequences, and is reset at the end."""
    terminal = _ReplayTerminal() if sys.stdout.isatty() else None
    at = 0.0
    try:
        for event in play_events(file, speed=arguments.speed, idle=arguments.idle):
            if event.kind == "o":
                time.sleep(event.seconds - at)
                at = event.seconds
                _write(terminal.filter_output(event.text) if terminal else event.text)
    finally:
        if terminal:
            _write(terminal.end)


class _ReplayTerminal:
    """The terminal that a recording is played in. `end` resets it; it is empty if nothing was shown."""

    def __init__(self) -> None:
        self._harmless = SafeOutputFilter()
        self.end = ""

    def filter_output(self, text: str) -> str:
        """Return the text without sequences that could harm the terminal, and note how to reset it."""
        shown = self._harmless.feed(text.encode("utf-8", "replace"))
        self.end = self.end or f"{RESTORE_DEFAULTS}\r\n"
        for switch in ALTERNATE_SWITCH.findall(shown):
            self.end = RESTORE_DEFAULTS + (LEAVE_ALTERNATE_SCREEN if switch == "h" else "\r\n")
        return shown


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _make_gif(file: Path, target: Path, arguments: Namespace) -> None:
    from muxpilot.pictures.gif import encode_gif
    from muxpilot.pictures.palette import THEMES
    from muxpilot.record.frames import render_frames  # most replays do not need them

    if target.suffix.lower() != ".gif":
        raise BadInput(f"The path {str(target)!r} must end in .gif.")
    frames = render_frames(file, speed=arguments.speed, idle=arguments.idle)
    try:
        size = target.write_bytes(b"".join(encode_gif(frames, THEMES[arguments.theme])))
    except OSError as error:
        raise BadInput(f"The file {str(target)!r} cannot be written: {error.strerror}.") from None
    print(f"{target}: {size} bytes")
