"""`muxpilot replay`: show a recording in this terminal, as fast as it was or faster."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from pathlib import Path

from muxpilot.config import Settings
from muxpilot.errors import BadInput
from muxpilot.record.cast import events

_TIDY = "\x1b[0m\x1b[?25h\x1b[?1049l\n"


def run(settings: Settings, arguments: Namespace) -> int:
    if not arguments.speed > 0 or not arguments.idle >= 0:
        raise BadInput("--speed must be above 0, and --idle not below.")
    shown = False
    try:
        before = 0.0
        for event in events(Path(arguments.file)):
            pause = min(max(event.seconds - before, 0.0), arguments.idle) / arguments.speed
            before = max(event.seconds, before)
            if event.kind == "o":
                time.sleep(pause)
                sys.stdout.write(event.text)
                sys.stdout.flush()
                shown = True
    finally:
        if shown and sys.stdout.isatty():
            sys.stdout.write(_TIDY)
            sys.stdout.flush()
    return 0
