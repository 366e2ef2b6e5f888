"""The reader: which statements it finds in a text, and whether the text can be read."""

from __future__ import annotations

import pytest

from muxpilot.policy.shell import read_statements
from tests.policy.shell.test_evasions import DENY_RM


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ls -l | wc", ["ls -l", "wc"]),
        ("echo 'a b' \"c d\"", ["echo a b c d"]),
        ("make > log 2>&1", ["make > log"]),
        ("sh -c 'ls; pwd'", ["ls", "pwd", "sh -c ls; pwd"]),
        ("find . -name x -exec wc -l {} +", ["wc -l {}", "find . -name x -exec wc -l {} +"]),
        ("A=1 B=2 ls", ["ls"]),
        ("cat <<E\n$(id)\nE", ["cat", "id"]),
    ],
)
def test_statements_are_the_words_that_programs_get(text: str, wanted: list[str]) -> None:
    assert sorted(row.text for row in read_statements(text).statements) == sorted(wanted)


@pytest.mark.parametrize(
    "text", ["(" * 20_000, "a=(" * 6_000, "<<E " * 5_000, "|!" * 10_000, "a" * 20_001, "x;" * 9_000]
)
def test_a_text_that_would_hold_up_the_parser_is_not_parsed(text: str) -> None:
    reading = read_statements(text)
    assert reading.problem is not None
    assert "longer than" in reading.problem


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("print('hello')", False),
        (":wq", False),
        ("select * from t;", False),
        ("it's fine", False),
        ("print(1); rm x (", True),
        ("if (x) { rm x", True),
        ("$'\\x72m' x (", True),
    ],
)
def test_typed_text_that_is_no_shell_is_judged_by_its_pieces(text: str, *, is_refused: bool) -> None:
    assert (DENY_RM.find_denial(text, is_typed=True) is not None) is is_refused
