"""Programs that a test runs with a home and a folder of their own, as a person's MCP clients run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

LIMIT_S = 100  # Gemini takes 8 s on an idle machine
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def trust_folder(home: Path, folder: Path) -> None:
    """Say yes in advance to what Gemini and Copilot ask a person."""
    files = {
        ".gemini/trustedFolders.json": {str(folder): "TRUST_FOLDER"},
        ".copilot/config.json": {"trustedFolders": [str(folder)]},
    }
    for name, content in files.items():
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(json.dumps(content))


def run_program(
    argv: Sequence[str | Path], env: Mapping[str, str], *, limit_s: float, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program that must succeed, with nothing to read."""
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        check=False,
        timeout=limit_s,
        stdin=subprocess.DEVNULL,
        env=env,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs a program in a folder with a home of its own, and returns its output."""
    home, folder = tmp_path / "home", tmp_path / "work"
    folder.mkdir()
    trust_folder(home, folder)
    scripts = Path(sys.executable).parent
    env = {"HOME": str(home), "PATH": f"{scripts}:{os.environ['PATH']}", "NO_COLOR": "1"}

    def call(*argv: str | Path) -> str:
        variables = env | {"TMUX_TMPDIR": str(tmp_path)}
        done = run_program(argv, variables, limit_s=LIMIT_S, cwd=folder)
        return ESCAPES.sub("", done.stdout + done.stderr)

    return call
