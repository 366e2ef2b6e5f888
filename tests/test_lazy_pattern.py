"""Patterns that are compiled at their first use."""

from __future__ import annotations

import re

import pytest

from muxpilot.lazy_pattern import lazy_pattern


def test_a_pattern_does_what_a_compiled_one_does() -> None:
    lazy, compiled = lazy_pattern("(?P<word>[a-z]+)", re.IGNORECASE), re.compile("(?P<word>[a-z]+)", re.I)
    assert lazy.findall("One two") == compiled.findall("One two")
    assert lazy.groupindex == compiled.groupindex
    assert lazy_pattern(rb"\d").sub(b"#", b"a1b2") == b"a#b#"


def test_a_pattern_is_compiled_once_and_not_before_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_pattern, compiled = re.compile, []

    def count(text: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(text)
        return compile_pattern(text, flags)

    monkeypatch.setattr(re, "compile", count)
    lazy = lazy_pattern("a+")
    assert compiled == []
    assert [lazy.sub("b", text) for text in ("aa", "c")] == ["b", "c"]
    assert compiled == ["a+"]
