"""Pane text: characters that no person sees are removed, everything that people write stays."""

from __future__ import annotations

import pytest

from muxpilot.terminal.sanitize import sanitize_text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("zero\u200bwidth\u200c\u200d\u2060\ufeff", "zerowidth"),
        ("\u202eover\u202c \u2066isolated\u2069 \u200fmark", "over isolated mark"),
        ("tag\U000e0069\U000e0067\U000e006e\U000e007f", "tag"),
        ("soft\u00adhyphen", "softhyphen"),
        ("smuggled\ufe00\ufe01\U000e0100\U000e01ef", "smuggled"),
        ("a\ufe0f\ufe0fb", "ab"),
        ("filler\u3164\u115f\uffa0", "filler"),
        ("bell\x07back\x08nul\x00c1\x9b31m", "bellbacknulc131m"),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07\x1bPdcs\x1b\\done\x1b[2J\x1b(B", "red done"),
        ("\x1b", ""),
    ],
)
def test_what_could_speak_unseen_is_gone(text: str, wanted: str) -> None:
    assert sanitize_text(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "plain\ttext\nof two lines",
        "👨‍👩‍👧 👩🏽‍💻 🏳️‍🌈 ❤️ 1️⃣ ✔️ ☺︎",
        "שלום עולם, مرحبا",
        "日本語 한국어 e\u0301 ñ नमस्ते",
        "│ box ─ ✓ → 🚀 │",
        "",
    ],
)
def test_what_people_write_stays(text: str) -> None:
    assert sanitize_text(text) == text


def test_colours_stay_where_they_were_asked_for_and_nothing_else_does() -> None:
    text = "\x1b[1;38;5;9mred\x1b[0m\x1b[2J\x1b]52;c;aGk=\x07\u202e"
    assert sanitize_text(text, colors=True) == "\x1b[1;38;5;9mred\x1b[0m"
