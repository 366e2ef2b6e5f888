"""Text that needs no terminal is recognized, and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muxpilot.terminal.printable import is_printable_ascii


@given(st.text(st.characters(max_codepoint=0x100), max_size=60))
def test_printable_text_is_ascii_without_controls(text: str) -> None:
    shown = text.replace("\n", "").replace("\t", "")
    assert is_printable_ascii(text) is (shown.isascii() and shown.isprintable())


def test_each_control_character_counts() -> None:
    assert [code for code in range(0x80) if is_printable_ascii(chr(code))] == [9, 10, *range(0x20, 0x7F)]
