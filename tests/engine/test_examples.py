"""The examples in docs/ run as they stand there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
ENGINE_PAGE = EXAMPLES.parent / "engine.md"


def run(name: str, *args: str) -> str:
    argv = [sys.executable, str(EXAMPLES / name), *args]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_library_example_prints_everything_and_the_status(folder: Path) -> None:
    assert run("library.py", str(folder / "s")).splitlines() == ["1", "2", "3", "status 7"]


def test_the_page_shows_the_example_that_runs() -> None:
    code = ENGINE_PAGE.read_text().split("```python\n")[1].split("```")[0]
    written = [line.strip() for line in (EXAMPLES / "library.py").read_text().splitlines()]
    assert [line for line in code.splitlines() if line.strip() not in written] == []


def test_the_demonstration_ends_well_and_leaves_nothing(tmp_path: Path) -> None:
    told = run("demo.py")
    assert "99999\\n100000" in told
    assert "'killed'" in told
