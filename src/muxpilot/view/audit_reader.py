"""The audit trail: which calls there were, of which panes, by the lines of the log."""

from __future__ import annotations

import json
import math
import os
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from muxpilot.records import record
from muxpilot.tmux import PaneId
from muxpilot.toolkit.sanitize import visible
from muxpilot.view.log_tail import Tail

KEPT = 500
_LONGEST_TEXT = 300
_MOST_USED = 2000

# Where the lines of any scope name panes, and what a call was about, the telling one first.
_PANES = (
    *("paneId", "pane_id", "sourcePaneId", "source_pane_id", "targetPaneId", "target_pane_id"),
    *("paneIds", "pane_ids", "panes", "target"),
)
_ABOUT = tuple("command input keys content text pattern query name title resource path".split())
# With these a call came to no pane, whatever it named.
_REACHED_NONE = frozenset(
    "ambiguous bad-input denied no-server no-tmux not-found unknown unsafe-socket".split()
)
_KNOWN = frozenset({*"ts tool native ok ms output_bytes error reason socket capture".split(), *_PANES})


# A pane, and the server that a call named with it, if it named one.
Place = tuple[str | None, str]


@record
class Entry:
    """One call, and the panes that it named."""

    at: str
    tool: str
    places: tuple[Place, ...]
    is_ok: bool
    error: str
    reason: str
    ms: float
    about: str

    def told(self) -> dict[str, Any]:
        return {
            "at": self.at,
            "tool": self.tool,
            "ok": self.is_ok,
            "error": self.error,
            "reason": self.reason,
            "ms": self.ms,
            "about": self.about,
        }


class Trail:
    """`entries` are the newest, `count` all that were ever seen; `problem` says why there are none.

    `used` are the panes that calls reached, by the server that they named, with the time of the last call.
    """

    def __init__(self, path: str | None) -> None:
        self.path = os.path.abspath(os.path.expanduser(path)) if path else None
        self.entries: deque[Entry] = deque(maxlen=KEPT)
        self.count = 0
        self.used: dict[Place, float] = {}
        self.problem: str | None = (
            None if path else "No audit log: start muxpilot and this with --audit PATH."
        )
        self._tail = Tail(self.path) if self.path else None

    def poll(self) -> None:
        """Take up what was written since the last time."""
        if self._tail is None:
            return
        try:
            for line in self._tail.new():
                if (entry := _gap() if line is None else _entry(line)) is not None:
                    self._take(entry)
            self.problem = None
        except OSError as error:
            self.problem = f"The audit log {self.path} cannot be read: {error.strerror}."

    def since(self, count: int) -> list[Entry]:
        """What came after so many entries, as far as it is kept."""
        new = min(self.count - count, len(self.entries))
        return list(self.entries)[len(self.entries) - new :] if new > 0 else []

    def close(self) -> None:
        if self._tail is not None:
            self._tail.close()

    def _take(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.count += 1
        for place in entry.places if entry.error not in _REACHED_NONE else ():
            self.used.pop(place, None)
            self.used[place] = _time(entry.at)
        while len(self.used) > _MOST_USED:
            del self.used[next(iter(self.used))]


def _entry(line: bytes) -> Entry | None:
    """What is no line of an audit log is passed over."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not isinstance(row.get("tool"), str):
        return None
    return Entry(
        at=_text(row.get("ts")),
        tool=_text(row["tool"]),
        places=tuple(dict.fromkeys(_places(row, None))),
        is_ok=row.get("ok") is True,
        error=_text(row.get("error")),
        reason=_text(row.get("reason")),
        ms=_duration(row.get("ms")),
        about=_about(row),
    )


def _gap() -> Entry:
    """What stands where lines may be missing."""
    return Entry(
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        tool="some lines were not seen",
        places=(),
        is_ok=False,
        error="gap",
        reason="The log was cut, or put aside more often than it was read: calls may be missing here.",
        ms=0.0,
        about="",
    )


def _places(row: Mapping[str, Any], outer: str | None) -> Iterator[Place]:
    """A pane that is named without a server is on that of the call."""
    named = row.get("socket")
    socket = named if isinstance(named, str) else outer
    for name in _PANES:
        value = row.get(name)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str) and (name != "target" or PaneId.matches(item)):
                yield socket, _text(item)
            elif isinstance(item, dict):
                yield from _places(item, socket)


def _about(row: Mapping[str, Any]) -> str:
    named = next((row[name] for name in _ABOUT if isinstance(row.get(name), str) and row[name]), None)
    if named is not None:
        return _text(named)
    rest = {name: value for name, value in row.items() if name not in _KNOWN}
    return _text(", ".join(f"{name} {value}" for name, value in rest.items()))


def _text(value: object) -> str:
    text = visible(str(value)[: 2 * _LONGEST_TEXT]) if value is not None else ""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def _duration(value: object) -> float:
    try:
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0
    except OverflowError:
        return 0.0


def _time(text: str) -> float:
    """Seconds since the epoch; a time that is none is long ago."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):
        return 0.0
