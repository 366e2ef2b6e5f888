"""SPECIFICATION.md names tests that are there, and every promise of the bars has its row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.proof import PARTS

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "SPECIFICATION.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| promise"))
]


FAULTS = {f"F{number}" for number in range(1, 27)} | {"F5b", "F11b"}
GOALS = {f"G{number}" for number in range(1, 13)}
BARS = (
    "a plain call",
    "execute-command `true`",
    "a watched line",
    "50 panes watched",
    "a flood of 200 MB",
    "over ssh",
    "start to tools/list",
    "tools/list, scope agentic",
    "tools/list, scope debug",
)


def test_every_fault_goal_and_bar_has_its_row() -> None:
    numbered = [word for row in ROWS if re.fullmatch(r"[FG]\d+b?", word := row[0].split()[0])]
    assert sorted(numbered) == sorted(FAULTS | GOALS)
    for bar in BARS:
        assert sum(row[0].startswith(bar) for row in ROWS) == 1, bar


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_what_holds_a_promise_is_there(row: list[str]) -> None:
    """A test as `path::name`, a whole file, `./dev bench NAME` or `./dev proof PART`; else it is pending."""
    assert len(row) == 3, row
    named = re.findall(r"`([^`]+)`", row[2])
    assert named or row[2].startswith("pending"), row
    for name in named:
        if name.startswith("./dev "):
            _, command, part = name.split()
            assert part in PARTS if command == "proof" else (ROOT / "bench" / f"{part}.py").exists(), name
            continue
        path, _, test = name.partition("::")
        assert (ROOT / path).exists(), name
        assert not test or f"def {test}(" in (ROOT / path).read_text(), name
