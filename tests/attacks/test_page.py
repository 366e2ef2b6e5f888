"""Checks that docs/attacks.md names every attack once, each with tests that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.attacks.test_attacks import REFUSED, TYPED

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "attacks.md").read_text()
ROWS = [line for line in TEXT.splitlines() if re.match(r"\| (?!---|#|attack)", line)]
NUMBERED = {found[1]: row for row in ROWS if (found := re.match(r"\| (T[0-9]+) \|", row))}
TABLE = "tests/attacks/test_attacks.py::"


def test_every_attack_has_its_row() -> None:
    assert list(NUMBERED) == [f"T{number}" for number in range(1, 28)]


def wrong_in(row: str) -> Iterator[str]:
    """Yield what is wrong with a row: it must name tests, and each must exist."""
    names = re.findall(r"`(tests/[^`]+)`", row)
    if not names:
        yield f"{row[2:40]} names no test"
    for path, _, test in (name.partition("::") for name in names):
        file = ROOT / path
        if not file.exists() or (f"def {test}(" if test else "def test_") not in file.read_text():
            yield f"{path}::{test} does not exist"


def test_what_tries_an_attack_is_there() -> None:
    assert [problem for row in ROWS for problem in wrong_in(row)] == []


def test_a_row_of_a_table_is_named_by_its_attack() -> None:
    tried = {
        "test_it_is_refused_and_nothing_happened": {number for number, _, _ in REFUSED},
        "test_text_arrives_as_it_is": set(TYPED),
    }
    for test, numbers in tried.items():
        assert {number for number, row in NUMBERED.items() if f"{TABLE}{test}`" in row} == numbers
