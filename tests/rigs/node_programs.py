"""The official clients for Node, installed once and kept in the user's cache."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

INSTALL_LIMIT_S = 300
_QUIET = ("--no-audit", "--no-fund", "--loglevel=error")
# The Inspector needs Node 22.19; the package `node` brings one along, whatever the machine has.
PACKAGES = {
    "node": "22.23.3",
    "@modelcontextprotocol/inspector": "2.12.0",
    "@modelcontextprotocol/sdk": "1.32.2",
    "@modelcontextprotocol/client": "2.4.0",
    "@anthropic-ai/mcpb": "2.1.2",
}
CLAUDE = {"@anthropic-ai/claude-code": "2.1.327"}


def _cache_folder() -> Path:
    home = os.environ.get("HOME")
    base = os.environ.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else None)
    return Path(base or Path(__file__).parents[2] / ".cache") / "muxpilot" / "node"


# Read at import: fixtures give each test a HOME of its own, and npm its settings from the person's.
CACHE = _cache_folder()
_ENVIRONMENT = dict(os.environ)


def node_programs() -> Path | str:
    """Return the folder with `node_modules`, or the reason to skip."""
    return _find_or_install(*PACKAGES.items())


def claude_code() -> Path | str:
    """Return the same for Claude Code. It is large, so it is installed only on request."""
    return _find_or_install(*CLAUDE.items())


def coding_agent(name: str) -> Path | str:
    """Return the program of a coding agent that is installed, or the reason to skip.

    They are large, and only Claude Code is installed by the tests. The others are found on the PATH, or where
    `npm install --prefix ~/.cache/muxpilot/clients/NAME PACKAGE` puts them.
    """
    place = claude_code() if name == "claude" else CACHE.parent / "clients" / name
    if isinstance(place, str):
        return place
    own, found = place / "node_modules/.bin" / name, shutil.which(name)
    if own.exists():
        return own
    return Path(found) if found else f"{name} is not installed"


@cache
def _find_or_install(*packages: tuple[str, str]) -> Path | str:
    place = CACHE / "-".join(version.replace(".", "_") for _, version in packages)
    try:
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.exists():
                _install(place, dict(packages))
        return place
    except subprocess.TimeoutExpired:
        return f"no Node clients: npm took longer than {INSTALL_LIMIT_S} s"
    except subprocess.CalledProcessError as failure:
        lines = [line for line in failure.stderr.splitlines() if "error" in line] or [str(failure)]
        return f"no Node clients: {lines[0]}"
    except OSError as failure:
        return f"no Node clients: {failure}"


def _install(place: Path, packages: dict[str, str]) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm is not installed")
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="installing-") as scratch:
        new = Path(scratch) / "new"
        new.mkdir()
        (new / "package.json").write_text(json.dumps({"private": True, "dependencies": packages}))
        # A connection that has stalled is given up long before the limit of the whole.
        _run(npm, "install", "--fetch-timeout=60000", *_QUIET, cwd=new)
        program = "node" if "node" in packages else "claude"
        _run(str(new / "node_modules/.bin" / program), "--version", cwd=new)
        new.rename(place)


def _run(*argv: str, cwd: Path) -> None:
    subprocess.run(
        argv,
        cwd=cwd,
        check=True,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=INSTALL_LIMIT_S,
        env=_ENVIRONMENT,
    )
