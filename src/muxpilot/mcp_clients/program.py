"""The command that starts muxpilot later, from another program with another PATH."""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote

from muxpilot.config.environment import variable

NAME = "muxpilot"
_NAMES = (NAME, "tmux-mcp")
# Folders of programs that run a package once and may remove it later, with the words that run it again.
_CACHES = {
    "uv": ("uvx", "--from"),
    "pipx": ("pipx", "run", "--spec"),
}


def command_to_start(*, is_absolute: bool) -> list[str]:
    """Return the words that start muxpilot. `is_absolute` is for programs that do not have the shell's PATH.

    The name alone stands where it is on the PATH of every shell. A virtual environment is on the PATH only
    while it is active, so there the absolute path stands, as for a program that the PATH does not lead to.
    uvx and pipx remove what they ran, so they run it.
    """
    archive = _archive()
    if archive is not None:
        return [str(archive)]
    found, is_named = _find_program()
    runner = _runner_of(found or sys.prefix)
    if runner is not None:
        program = (shutil.which(runner[0]) or runner[0]) if is_absolute else runner[0]
        return [program, *runner[1:], _requirement(), NAME]
    if found is None:
        return [sys.executable, "-m", NAME]
    is_in_venv = (Path(found).parent.parent / "pyvenv.cfg").is_file()
    return [os.path.abspath(found) if is_absolute or is_in_venv or not is_named else NAME]


def _find_program() -> tuple[str | None, bool]:
    """Return the program that runs now, else the one on the PATH, and whether its name leads to it.

    Another muxpilot may be on the PATH, such as an older version, when this one is started by its path.
    """
    started, found = Path(sys.argv[0]).absolute(), shutil.which(NAME)
    own = started.with_name(NAME)
    if started.name not in _NAMES or not os.access(own, os.X_OK) or (found and own.samefile(found)):
        return found, True
    return str(own), False


def _archive() -> Path | None:
    """Return the file muxpilot.pyz that this program was unpacked from, by release/start_app.py."""
    note = Path(sys.prefix) / "started-from"
    path = Path(note.read_text()) if note.is_file() else None
    return path if path is not None and path.is_file() else None


def _runner_of(path: str) -> tuple[str, ...] | None:
    """Return the words of uvx or pipx if this program lies in the cache of one of them."""
    place = Path(path).absolute()
    home = Path.home()
    caches = Path(variable("XDG_CACHE_HOME") or home / ".cache")
    for name, runner in _CACHES.items():
        folders = [caches / name, home / "Library/Caches" / name, home / ".local" / name / ".cache"]
        folders += [home / ".local/share" / name / ".cache"]
        folders += [Path(text)] if (text := variable(f"{name.upper()}_CACHE_DIR")) else []
        if any(folder in place.parents for folder in folders):
            return runner
    return None


def _requirement() -> str:
    """Return where this muxpilot came from: a file, a folder or a repository, or else its name."""
    try:
        told = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        told = None
    if not told:
        return NAME
    origin = json.loads(told)
    url = str(origin["url"])
    if "vcs_info" in origin:
        return f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    return unquote(url.removeprefix("file://")) if url.startswith("file://") else url
