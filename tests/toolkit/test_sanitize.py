"""Answers of tools: hidden characters of panes are removed from the text and from the data."""

from __future__ import annotations

from muxpilot.toolkit.answers import Answer
from muxpilot.toolkit.sanitize import sanitize_answer


def test_an_answer_with_data_is_cleaned_in_both_its_forms() -> None:
    data = {"paneId": "%1", "text": "a\u200bb\x1b[31m", "before": ["\u202ex"], "newLines": 1}
    answer = sanitize_answer(Answer("…\u200b", data))
    assert answer.structured == {"paneId": "%1", "text": "ab", "before": ["x"], "newLines": 1}
    assert answer.text == '{"paneId":"%1","text":"ab","before":["x"],"newLines":1}'


def test_an_answer_with_nothing_hidden_is_the_same_one() -> None:
    answer = Answer('{"text":"é"}', {"text": "é"})
    assert sanitize_answer(answer) is answer
