"""Home folders for programs that tests start."""

from __future__ import annotations

import os
from pathlib import Path

# Where this folder is missing, fish 3.6 reads every manual page of the system when it first starts
# interactively, in the background and for ten seconds of CPU.
_COMPLETIONS = Path(".local", "share", "fish", "generated_completions")


def make_home(path: Path) -> Path:
    """Create a home folder, with nothing in it but an empty folder of fish."""
    (path / _COMPLETIONS).mkdir(parents=True)
    return path


def is_new_home(path: Path) -> bool:
    """Return whether a home folder is still as `make_home` has created it."""
    for part in _COMPLETIONS.parts:
        if os.listdir(path) != [part]:
            return False
        path /= part
    return os.listdir(path) == []
