"""Read the audit log: which calls there were, and which panes they named."""

from __future__ import annotations

import json
import math
import os
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from muxpilot.records import record
from muxpilot.terminal.sanitize import sanitize_text
from muxpilot.tmux import PaneId
from muxpilot.view.log_tail import LogTail

MOST_ENTRIES = 500
_LONGEST_TEXT = 300
_MOST_PANES = 2000

# The fields that name panes in any scope, and those that say what a call was about, the best one first.
_PANES = (
    *("paneId", "pane_id", "sourcePaneId", "source_pane_id", "targetPaneId", "target_pane_id"),
    *("paneIds", "pane_ids", "panes", "target"),
)
_ABOUT = tuple("command input keys content text pattern query name title resource path".split())
# A call with one of these errors reached no pane, whatever it named.
_REACHED_NONE = frozenset(
    "ambiguous bad-input denied no-server no-tmux not-found unknown unsafe-socket".split()
)
_KNOWN = frozenset({*"ts tool native ok ms output_bytes error reason socket capture".split(), *_PANES})


# The server that a call named, if it named one, and the pane.
PanePlace = tuple[str | None, str]


@record
class AuditEntry:
    """One call in the audit log, and the panes that it named."""

    at: str
    tool: str
    places: tuple[PanePlace, ...]
    is_ok: bool
    error: str
    reason: str
    ms: float
    about: str

    def to_json(self) -> dict[str, Any]:
        """Return the entry for the page."""
        return {
            "at": self.at,
            "tool": self.tool,
            "ok": self.is_ok,
            "error": self.error,
            "reason": self.reason,
            "ms": self.ms,
            "about": self.about,
        }


class AuditReader:
    """The newest entries of the audit log.

    `count` is the number of all entries that were ever read. `problem` says why there are none.
    `last_calls` has the time of the last call that reached a pane, by the server that the call named.
    """

    def __init__(self, path: str | None) -> None:
        self.path = os.path.abspath(os.path.expanduser(path)) if path else None
        self.entries: deque[AuditEntry] = deque(maxlen=MOST_ENTRIES)
        self.count = 0
        self.last_calls: dict[PanePlace, float] = {}
        self.problem: str | None = (
            None if path else "No audit log. Start muxpilot and this page with --audit PATH."
        )
        self._tail = LogTail(self.path) if self.path else None

    def read_new_lines(self) -> None:
        """Read the lines that were written since the last time."""
        if self._tail is None:
            return
        try:
            for line in self._tail.read_lines():
                if (entry := _gap_entry() if line is None else _parse_line(line)) is not None:
                    self._add(entry)
            self.problem = None
        except OSError as error:
            self.problem = f"The audit log {self.path} cannot be read: {error.strerror}."

    def entries_since(self, count: int) -> list[AuditEntry]:
        """Return the entries after the first `count`, as far as they are kept."""
        new = min(self.count - count, len(self.entries))
        return list(self.entries)[len(self.entries) - new :] if new > 0 else []

    def close(self) -> None:
        if self._tail is not None:
            self._tail.close()

    def _add(self, entry: AuditEntry) -> None:
        self.entries.append(entry)
        self.count += 1
        for place in entry.places if entry.error not in _REACHED_NONE else ():
            self.last_calls.pop(place, None)
            self.last_calls[place] = _parse_time(entry.at)
        while len(self.last_calls) > _MOST_PANES:
            del self.last_calls[next(iter(self.last_calls))]


def _parse_line(line: bytes) -> AuditEntry | None:
    """Parse a line; return None if it is not a line of an audit log."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not isinstance(row.get("tool"), str):
        return None
    return AuditEntry(
        at=_clean_text(row.get("ts")),
        tool=_clean_text(row["tool"]),
        places=tuple(dict.fromkeys(_find_places(row, None))),
        is_ok=row.get("ok") is True,
        error=_clean_text(row.get("error")),
        reason=_clean_text(row.get("reason")),
        ms=_parse_duration(row.get("ms")),
        about=_summarize(row),
    )


def _gap_entry() -> AuditEntry:
    """Return the entry that marks where lines may be missing."""
    return AuditEntry(
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        tool="some lines are missing",
        places=(),
        is_ok=False,
        error="gap",
        reason="The log was truncated, or rotated more often than it was read: calls may be missing here.",
        ms=0.0,
        about="",
    )


def _find_places(row: Mapping[str, Any], outer: str | None) -> Iterator[PanePlace]:
    """Yield the panes that a call names. A pane without a server is on the server of the call."""
    named = row.get("socket")
    socket = named if isinstance(named, str) else outer
    for name in _PANES:
        value = row.get(name)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str) and (name != "target" or PaneId.matches(item)):
                yield socket, _clean_text(item)
            elif isinstance(item, dict):
                yield from _find_places(item, socket)


def _summarize(row: Mapping[str, Any]) -> str:
    named = next((row[name] for name in _ABOUT if isinstance(row.get(name), str) and row[name]), None)
    if named is not None:
        return _clean_text(named)
    rest = {name: value for name, value in row.items() if name not in _KNOWN}
    return _clean_text(", ".join(f"{name} {value}" for name, value in rest.items()))


def _clean_text(value: object) -> str:
    text = sanitize_text(str(value)[: 2 * _LONGEST_TEXT]) if value is not None else ""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def _parse_duration(value: object) -> float:
    try:
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0
    except OverflowError:
        return 0.0


def _parse_time(text: str) -> float:
    """Return seconds since the epoch, 0 if the text is not a time."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):
        return 0.0
