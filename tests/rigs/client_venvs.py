"""Python clients that need a virtual environment of their own, installed once and kept with the project."""

from __future__ import annotations

import asyncio
import fcntl
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from tests.contract.source import ROOT
from tests.rigs.wire import LIMIT_S, Place, environment

INSTALL_LIMIT_S = 180


@cache
def python_with(requirement: str, folder_name: str) -> Path | str:
    """Return a Python that has a requirement, or why there is none. The first call installs it."""
    folder = ROOT / ".cache" / folder_name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:  # tests run in several processes
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "installed").exists():
                _install(requirement, folder)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{requirement} cannot be installed: {type(error).__name__}"
    return folder / "bin" / "python"


def _install(requirement: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=INSTALL_LIMIT_S)
    argv = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", requirement]
    subprocess.run(argv, check=True, timeout=INSTALL_LIMIT_S, capture_output=True)
    (folder / "installed").touch()


async def run_client(python: Path, script: str, place: Place, *args: str) -> dict[str, Any]:
    """Run a script of this folder. Return what it saw, which it prints as JSON."""
    process = await asyncio.create_subprocess_exec(
        *(str(python), str(Path(__file__).with_name(script)), *args),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(place.home),
    )
    out, said = await asyncio.wait_for(process.communicate(), 2 * LIMIT_S)
    assert process.returncode == 0, said.decode()
    seen: dict[str, Any] = json.loads(out)
    return seen
