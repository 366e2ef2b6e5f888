"""Checks that SPECIFICATION.md names only tests that exist, with a row for every fault, goal and figure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

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
    assert [bar for bar in BARS if sum(row[0].startswith(bar) for row in ROWS) != 1] == []


def exists(name: str) -> bool:
    """Return whether a test (`path::name`, or a file), `./dev bench NAME` or `./dev proof PART` exists."""
    if name.startswith("./dev "):
        _, command, part = name.split()
        return part in PARTS if command == "proof" else (ROOT / "bench" / f"{part}.py").exists()
    path, _, test = name.partition("::")
    file = ROOT / path
    return file.exists() and (not test or f"def {test}(" in file.read_text())


def wrong_in(row: list[str]) -> Iterator[str]:
    """Yield what is wrong with a row: it needs three cells, and what holds the promise or "pending"."""
    if len(row) != 3:
        yield f"{row} does not have three cells"
        return
    names = re.findall(r"`([^`]+)`", row[2])
    if not names and not row[2].startswith("pending"):
        yield f"{row[0]} names nothing"
    yield from (f"{name} does not exist" for name in names if not exists(name))


def test_what_holds_a_promise_is_there() -> None:
    assert [problem for row in ROWS for problem in wrong_in(row)] == []
