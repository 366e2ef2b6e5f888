"""Redact the answers of tools; see `muxpilot.redaction`. Dispatch does this to every answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from muxpilot.toolkit.answers import Answer, compact_json


class ValueRedactor(Protocol):
    """Takes secrets out of texts and data."""

    def redact_field(self, text: str, *, is_screen: bool = False) -> str:
        """Return a text without secrets."""

    def redact_value(self, value: Any) -> Any:
        """Return JSON data without secrets."""

    def redact_data(self, data: Any) -> Any:
        """Return the JSON data of an answer without secrets; the same object if it holds none."""


def redact_answer(answer: Answer, redactor: ValueRedactor, *, is_screen: bool) -> Answer:
    """Return the answer without secrets. `is_screen`: a text is rows of a pane, which may be wrapped."""
    if answer.is_redacted:
        return answer
    if answer.structured is None:
        return replace(answer, text=redactor.redact_field(answer.text, is_screen=is_screen))
    data = redactor.redact_data(answer.structured)
    if data is answer.structured:
        return answer
    return replace(answer, text=compact_json(data), structured=data)
