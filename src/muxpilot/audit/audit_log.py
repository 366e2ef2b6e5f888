"""The audit: every call, allowed or not, becomes a line. It never stops a call."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from muxpilot.audit.log_files import Captures, Log, opened
from muxpilot.audit.redact import SECRET, asks_for_secret, hides_typing, hides_typing_there, redacted
from muxpilot.config import Audit as AuditSettings
from muxpilot.dispatch import Record, Request
from muxpilot.errors import MuxpilotError
from muxpilot.tmux import PaneId, SessionId, Tmux, WindowId
from muxpilot.tmux.objects.owner import made_by_others
from muxpilot.toolkit.argument_flags import Mark
from muxpilot.toolkit.spec import Effect, Tool

log = logging.getLogger("muxpilot")

# Arguments that hold what is typed, in every tool that types.
_TYPED = frozenset({"keys", "content", "hex", "input", "command"})


class Audit:
    """`lost` counts the lines that could not be written."""

    def __init__(self, settings: AuditSettings) -> None:
        """An unwritable place is an error here, and only here."""
        self._log: Log | None
        self._captures: Captures | None
        self._log, self._captures = opened(
            settings.path, settings.full, max_bytes=settings.max_bytes, keep=settings.keep
        )
        self.lost = 0
        self._untold = 0

    async def look(self, record: Record) -> None:
        """What only shows before: whether a secret is asked for, and who made what is about to end."""
        request = record.request
        if request is None:
            return
        pane = request.arguments.get("pane_id")
        if request.tool.effect is Effect.TYPE and isinstance(pane, PaneId):
            record.is_secret = await _asks_for_secret(request.tmux, pane)
        elif request.tool.effect is Effect.DESTROY:
            record.made_by = await _made_by(request)

    def write(self, record: Record) -> None:
        try:
            line = self._line(record)
            if self._log is not None:
                self._log.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
                self._untold = 0
        except (OSError, ValueError) as error:
            self._missed(error)

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def _missed(self, error: Exception) -> None:
        if not self.lost:
            log.warning("the audit log cannot be written (%s); calls go on without it", error)
        self.lost += 1
        self._untold += 1

    def _line(self, record: Record) -> dict[str, Any]:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        answer = record.answer
        line: dict[str, Any] = {
            "ts": now,
            "tool": redacted(record.name)[:100],
            **(answer.noted if answer else {}),
        }
        if record.uri is not None:
            line["resource"] = redacted(record.uri)
        for name, value in _arguments(record).items():
            line.setdefault(redacted(name)[:100], value)
        line["output_bytes"] = len(answer.text.encode("utf-8", "replace")) if answer is not None else 0
        line["ok"] = record.outcome == "ok"
        line["ms"] = round(record.seconds * 1000, 1)
        if record.request is not None and record.uri is None and record.request.tool.name != record.name:
            line["native"] = record.request.tool.name
        if record.made_by is not None and record.outcome == "ok":
            line["made_by"] = record.made_by
        if record.outcome != "ok":
            line["error"] = record.outcome
        if answer is not None and answer.is_error:
            line["reason"] = SECRET if record.is_secret else redacted(answer.text)
        return line | self._kept(record) | ({"lost": self._untold} if self._untold else {})

    def _kept(self, record: Record) -> dict[str, Any]:
        """The capture, where captures are kept."""
        request, answer = record.request, record.answer
        if self._captures is None or request is None or answer is None or answer.is_error:
            return {}
        text = answer.text if answer.structured is None else answer.structured.get("text")
        if request.tool.group != "capture" or not isinstance(text, str):
            return {}
        known = {**request.arguments, **answer.noted}
        pane = known.get("pane_id") or known.get("name") or request.tool.name
        try:
            return {"capture": self._captures.keep(str(pane), text)}
        except OSError as error:
            return {"capture_lost": error.strerror or "it could not be written"}


def _arguments(record: Record) -> Mapping[str, Any]:
    """As they were given; targets as the ids that they meant."""
    tool = record.request.tool if record.request is not None else None
    resolved = record.request.arguments if record.request is not None else {}
    secret = _secret_names(tool) if tool is not None else frozenset()
    found: dict[str, Any] = {}
    for name, value in record.raw.items():
        argument = (
            next((row for row in tool.arguments if name in (row.name, row.wire)), None) if tool else None
        )
        if name in secret or (record.is_secret and name in _TYPED):
            found[name] = SECRET
        elif argument is not None and argument.kind.target is not None:
            found[name] = redacted(resolved.get(argument.name, value))
        else:
            found[name] = redacted(value, name)
    return found


def _secret_names(tool: Tool) -> frozenset[str]:
    return frozenset(
        name for row in tool.arguments if Mark.SECRET in row.marks for name in (row.name, row.wire)
    )


async def _made_by(request: Request) -> str | None:
    """`muxpilot` if a muxpilot, this one or another, made every pane that goes; else `others`."""
    targets = [row for row in request.arguments.values() if isinstance(row, SessionId | WindowId | PaneId)]
    try:
        theirs = [await made_by_others(request.tmux.connection, target) for target in targets]
    except MuxpilotError:
        return None  # the call itself tells what is wrong
    return ("others" if any(theirs) else "muxpilot") if targets else None


async def _asks_for_secret(tmux: Tmux, pane: PaneId) -> bool:
    """By the terminal, else by the line that the cursor is on. What cannot be seen is taken for a secret."""
    try:
        row = await tmux.panes.get(pane)
        if await hides_typing_there(row.far, row.tty) if row.far is not None else hides_typing(row.tty):
            return True
        lines = await tmux.capture.last(pane, 1)
    except MuxpilotError:
        return True
    return bool(lines) and asks_for_secret(lines[-1])
