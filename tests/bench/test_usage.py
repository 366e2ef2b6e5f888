"""Every benchmark explains itself: `./dev bench NAME --help` prints its usage, and measures nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path for path in ROOT.glob("bench/*.py") if "__main__" in path.read_text())
# It starts a server for other benchmarks.
BENCHMARKS = [path for path in SCRIPTS if path.stem != "variants"]


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_help_prints_the_usage_of_a_benchmark_and_measures_nothing(path: Path) -> None:
    argv = [sys.executable, "-P", str(path), "--help"]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, timeout=50, check=True)
    assert done.stdout.startswith(f"usage: {path.name} ")
