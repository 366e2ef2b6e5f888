"""Sanitize the answers of tools that contain pane text; see `muxpilot.terminal.sanitize`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from muxpilot.terminal.sanitize import is_clean_json, sanitize_text
from muxpilot.toolkit.answers import Answer, compact_json


def sanitize_answer(answer: Answer, *, colors: bool = False) -> Answer:
    """Return the answer with its text, or every string in its data, sanitized."""
    if answer.structured is None:
        return replace(answer, text=sanitize_text(answer.text, colors=colors))
    if is_clean_json(answer.text):
        return answer
    data = _sanitize_value(answer.structured)
    return replace(answer, text=compact_json(data), structured=data)


def _sanitize_value(value: Any) -> Any:
    if isinstance(value, str):
        return sanitize_text(value)
    if isinstance(value, list):
        return [_sanitize_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _sanitize_value(item) for key, item in value.items()}
    return value
