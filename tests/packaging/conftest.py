"""Programs that a test runs with a home and a folder of their own, as a person's MCP clients run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
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


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs a program in a folder with a home of its own, and returns its output."""
    home, folder = tmp_path / "home", tmp_path / "work"
    folder.mkdir()
    trust_folder(home, folder)
    scripts = Path(sys.executable).parent
    env = {"HOME": str(home), "PATH": f"{scripts}:{os.environ['PATH']}", "NO_COLOR": "1"}

    def call(*argv: str | Path) -> str:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
            env=env | {"TMUX_TMPDIR": str(tmp_path)},
            cwd=folder,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return ESCAPES.sub("", done.stdout + done.stderr)

    return call
