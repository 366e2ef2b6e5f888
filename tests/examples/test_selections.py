"""The lines of the pages that select tests select some."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md")))
LINES = sorted(
    line.partition(" #")[0].removeprefix("./dev test ").strip()
    for page in PAGES
    for line in page.read_text().splitlines()
    if line.startswith("./dev test ") and " -k " in line
)


@pytest.mark.timeout(200)
@pytest.mark.parametrize("line", LINES)
def test_words_that_a_page_selects_tests_by_are_in_names_of_tests(line: str) -> None:
    argv = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*argv, *shlex.split(line)], capture_output=True, text=True, cwd=ROOT, timeout=150, check=False
    )
    assert done.returncode == 0, done.stdout[-500:]  # 5 where no test was found
