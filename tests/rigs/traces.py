"""Looks for a secret in files and in processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def find_traces(secret: str, *folders: Path) -> list[str]:
    """Return the files below these folders, and the processes, that hold a secret."""
    needle, found = secret.encode(), []
    for folder in folders:
        for path in list_files(folder):
            with suppress(OSError):
                if path.is_file() and needle in path.read_bytes():
                    found.append(str(path))
    return [*found, *find_in_processes(needle)]


def list_files(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder. Others may remove folders meanwhile, where `Path.rglob` fails."""
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)


def find_in_processes(needle: bytes) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            with suppress(OSError):
                if needle in (process / name).read_bytes():
                    found.append(f"{process / name}: {(process / 'comm').read_text()}")
    return found
