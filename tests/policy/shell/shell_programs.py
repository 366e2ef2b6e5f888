"""A PATH for random texts: few programs, and an rm that only records that it ran."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path


def make_programs(folder: Path, told: str, names: Iterable[str]) -> Path:
    """Write programs into a folder, not as links: a random text may overwrite them."""
    folder.mkdir()
    scripts = {name: f'exec {shutil.which(name) or name} "$@"' for name in names}
    for name, line in {**scripts, "rm": f'echo {told} >>"$TOLD"'}.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return folder
