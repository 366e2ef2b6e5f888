"""SPECIFICATION.md names tests that are there, and every promise of the bars has its row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "SPECIFICATION.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| promise"))
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_what_holds_a_promise_is_there(row: list[str]) -> None:
    """A test as `path::name`, a whole file, or `./dev bench NAME`; else the row says that it is pending."""
    assert len(row) == 3, row
    named = re.findall(r"`([^`]+)`", row[2])
    assert named or row[2].startswith("pending"), row
    for name in named:
        if name.startswith("./dev "):
            _, command, part = (*name.split(), "")[:3]
            assert command == "proof" or (ROOT / "bench" / f"{part}.py").exists(), name
            continue
        path, _, test = name.partition("::")
        assert (ROOT / path).exists(), name
        assert not test or f"def {test}(" in (ROOT / path).read_text(), name
