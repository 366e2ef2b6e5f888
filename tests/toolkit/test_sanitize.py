"""Pane text: what nobody sees is gone, what people write stays."""

from __future__ import annotations

import pytest

from muxpilot.toolkit.answers import Answer
from muxpilot.toolkit.sanitize import seen, visible


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
    assert visible(text) == wanted


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
    assert visible(text) == text


def test_colours_stay_where_they_were_asked_for_and_nothing_else_does() -> None:
    text = "\x1b[1;38;5;9mred\x1b[0m\x1b[2J\x1b]52;c;aGk=\x07\u202e"
    assert visible(text, colors=True) == "\x1b[1;38;5;9mred\x1b[0m"


def test_an_answer_with_data_is_cleaned_in_both_its_forms() -> None:
    data = {"paneId": "%1", "text": "a\u200bb\x1b[31m", "before": ["\u202ex"], "newLines": 1}
    answer = seen(Answer("…\u200b", data))
    assert answer.structured == {"paneId": "%1", "text": "ab", "before": ["x"], "newLines": 1}
    assert answer.text == '{"paneId":"%1","text":"ab","before":["x"],"newLines":1}'


def test_an_answer_with_nothing_hidden_is_the_same_one() -> None:
    answer = Answer('{"text":"é"}', {"text": "é"})
    assert seen(answer) is answer
