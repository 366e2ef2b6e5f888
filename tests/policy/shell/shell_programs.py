"""A PATH for texts that nobody knows: few programs, and an rm that only tells that it ran."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path


def harmless(folder: Path, told: str, names: Iterable[str]) -> Path:
    """No links: what a random text writes over must be ours."""
    folder.mkdir()
    scripts = {name: f'exec {shutil.which(name) or name} "$@"' for name in names}
    for name, line in {**scripts, "rm": f'echo {told} >>"$TOLD"'}.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return folder
