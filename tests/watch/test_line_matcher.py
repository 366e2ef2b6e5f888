"""Patterns are matched line by line, in blocks of many lines."""

from __future__ import annotations

import pytest

from muxpilot.watch.line_matcher import LineMatcher


@pytest.mark.parametrize(
    ("pattern", "block", "expected"),
    [
        ("b", b"a\nb\nc", (2, b"b")),
        ("^b$", b"ab\nb", (3, b"b")),
        ("^a", b"b\nxa\na", (5, b"a")),
        (r"\Ab\z", b"a\nb", (2, b"b")),
        (r"a\s+b", b"a\nb", None),
        (r"a\s+b", b"a\nb\na b", (4, b"a b")),
        (r"[^x]+y", b"a\ny", None),
        ("(?s)a.b", b"a\nb", None),
        ("(?-m)^b", b"a\nb", (2, b"b")),
        ("(?i)ERR", b"ok\nerr", (3, b"err")),
        ("a|b", b"x\nb", (2, b"b")),
        ("", b"x", (0, b"x")),
        ("x*", b"", (0, b"")),
        ("grün", "so\ngrün".encode(), (3, "grün".encode())),
        (".", b"\xff\n\xc3\xa4", (2, "ä".encode())),
        ("no", b"a\nb", None),
    ],
)
def test_a_pattern_is_found_in_the_first_line_that_holds_it(
    pattern: str, block: bytes, expected: tuple[int, bytes] | None
) -> None:
    assert LineMatcher(pattern, "pattern").find_first(block) == expected
