"""Build a history from records: what those of commands and of jobs have in common. No I/O happens here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from muxpilot.journal.record_numbers import DAMAGES
from muxpilot.trace import Trace

History = TypeVar("History")
Changed = TypeVar("Changed")

# By the kind of a record, the function of a history that applies it. It returns what the record changed.
RecordActions = Mapping[str, Callable[[History, Mapping[str, Any]], Changed | None]]


def apply_record(
    history: History, actions: RecordActions[History, Changed], fields: Mapping[str, Any], *, trace: Trace
) -> Changed | None:
    """Apply a record. Return what it changed, or None if it says nothing new, is unknown or is damaged."""
    kind = fields.get("t")
    action = actions.get(str(kind))
    try:
        return action(history, fields) if action is not None else None
    except DAMAGES as error:
        trace.warning("record ignored: its fields are damaged", kind=kind, error=error)
        return None


def choose_forgotten(ended: Iterable[tuple[str, int]], *, most: int, before_ns: int) -> list[str]:
    """Return the ids to forget of what has ended, given as id and time, oldest first.

    They are too many, or ended before a time.
    """
    rows = list(ended)
    surplus = max(0, len(rows) - most)
    return [row_id for at, (row_id, ended_ns) in enumerate(rows) if at < surplus or ended_ns < before_ns]
