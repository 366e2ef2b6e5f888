"""docs/attacks.md names every attack once, each with tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.attacks.test_attacks import REFUSED, TYPED

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "attacks.md").read_text()
ROWS = [line for line in TEXT.splitlines() if re.match(r"\| (?!---|#|attack)", line)]
NUMBERED = {found[1]: row for row in ROWS if (found := re.match(r"\| (T[0-9]+) \|", row))}
TABLE = "tests/attacks/test_attacks.py::"


def test_every_attack_has_its_row() -> None:
    assert list(NUMBERED) == [f"T{number}" for number in range(1, 28)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:40])
def test_what_tries_an_attack_is_there(row: str) -> None:
    named = re.findall(r"`(tests/[^`]+)`", row)
    assert named
    for path, _, test in (name.partition("::") for name in named):
        text = (ROOT / path).read_text()
        assert "def test_" in text
        assert not test or f"def {test}(" in text, test


def test_a_row_of_a_table_is_named_by_its_attack() -> None:
    tried = {
        "test_it_is_refused_and_nothing_happened": {number for number, _, _ in REFUSED},
        "test_text_arrives_as_it_is": set(TYPED),
    }
    for test, numbers in tried.items():
        assert {number for number, row in NUMBERED.items() if f"{TABLE}{test}`" in row} == numbers
