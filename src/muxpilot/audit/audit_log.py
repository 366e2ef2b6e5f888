"""Write one line for every call, allowed or denied. A failure to write never stops a call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from datetime import UTC, datetime
from typing import Any

from muxpilot.audit.log_files import CaptureFolder, RotatingLog, open_files
from muxpilot.audit.redact import SECRET, is_echo_off, is_remote_echo_off, redact
from muxpilot.calls import CallRecord, CallRequest
from muxpilot.config.model import AuditSettings
from muxpilot.errors import MuxpilotError
from muxpilot.terminal.prompt_signs import asks_for_secret
from muxpilot.tmux import PaneId, SessionId, Tmux, WindowId
from muxpilot.tmux.objects.owner import list_foreign_panes
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.spec import Effect, Tool
from muxpilot.trace import area

_trace = area("audit")

# Flags of arguments whose value is typed into a pane.
_TYPED = frozenset({ArgumentFlag.SHELL, ArgumentFlag.LINES, ArgumentFlag.TYPED})
_BEGUN_IDS = ("commandId", "watchId")


class AuditLog:
    """The log file and the folder of captures. `lost` counts the lines that could not be written."""

    def __init__(self, settings: AuditSettings) -> None:
        """Open the files. Raise BadInput if one cannot be written; later failures are only counted."""
        self._log: RotatingLog | None
        self._captures: CaptureFolder | None
        self._log, self._captures = open_files(
            settings.path, settings.full, max_bytes=settings.max_bytes, keep=settings.keep
        )
        self.lost = 0
        self._lost_since_last_line = 0

    async def inspect_before_call(self, record: CallRecord) -> None:
        """Note whether the pane asks for a secret, and who made what the call would kill."""
        request = record.request
        if request is None:
            return
        pane = request.arguments.get("pane_id")
        if request.tool.effect is Effect.TYPE and isinstance(pane, PaneId):
            record.is_secret = await _asks_for_secret(request.tmux, pane)
        elif request.tool.effect is Effect.DESTROY:
            record.made_by = await _find_maker(request)

    def write(self, record: CallRecord) -> None:
        """Append the line of a call that has ended."""
        try:
            line = self._line(record)
            if self._log is not None:
                self._log.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
                self._lost_since_last_line = 0
        except (OSError, ValueError) as error:
            self._count_lost_line(error)

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def _count_lost_line(self, error: Exception) -> None:
        if not self.lost:
            reason = getattr(error, "strerror", None) or type(error).__name__
            _trace.warning("audit log cannot be written; calls continue without it", reason=reason)
        self.lost += 1
        self._lost_since_last_line += 1

    def _line(self, record: CallRecord) -> dict[str, Any]:
        """Return the fields of a call's line, in their order."""
        lost = {"lost": self._lost_since_last_line} if self._lost_since_last_line else {}
        return {
            **_describe_call(record),
            **_describe_opened(record),
            **_describe_begun(record),
            **_describe_asked(record),
            **_describe_outcome(record),
            **_describe_approval(record),
            **_describe_error(record),
            **self._save_capture(record),
            **lost,
        }

    def _save_capture(self, record: CallRecord) -> dict[str, Any]:
        """Save a capture to its own file, if captures are kept. Return the line's fields for it."""
        request, answer = record.request, record.answer
        if self._captures is None or request is None or answer is None or answer.is_error:
            return {}
        text = answer.text if answer.structured is None else answer.structured.get("text")
        if request.tool.group != "capture" or not isinstance(text, str):
            return {}
        known = {**request.arguments, **answer.audit_fields}
        pane = known.get("pane_id") or known.get("name") or request.tool.name
        try:
            return {"capture": self._captures.save(str(pane), text)}
        except OSError as error:
            return {"capture_lost": error.strerror or "it could not be written"}


def _describe_call(record: CallRecord) -> dict[str, Any]:
    """Return the time, the tool and the arguments. An argument never overwrites a field of the answer."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line: dict[str, Any] = {"ts": now, "tool": redact(record.name)[:100]}
    if record.answer is not None:
        line |= record.answer.audit_fields
    if record.uri is not None:
        line["resource"] = redact(record.uri)
    for name, value in _describe_arguments(record).items():
        line.setdefault(redact(name)[:100], value)
    return line


def _describe_arguments(record: CallRecord) -> Mapping[str, Any]:
    """Return the arguments as they were given, but targets as the ids that they meant, and no secrets."""
    tool = record.request.tool if record.request is not None else None
    resolved = record.request.arguments if record.request is not None else {}
    flags = {ArgumentFlag.SECRET} | (_TYPED if record.is_secret else set())
    secret = _flagged_arguments(tool, flags) if tool is not None else frozenset()
    found: dict[str, Any] = {}
    for name, value in record.raw.items():
        argument = (
            next((row for row in tool.arguments if name in (row.name, row.wire_name)), None) if tool else None
        )
        if name in secret:
            found[name] = SECRET
        elif argument is not None and argument.type.target is not None:
            found[name] = redact(resolved.get(argument.name, value))
        else:
            found[name] = redact(value, name)
    return {**found, **_describe_default_pane(record)}


def _describe_default_pane(record: CallRecord) -> dict[str, Any]:
    """Return the pane that was meant by a call that named none."""
    request = record.request
    if request is None or {"paneId", "pane_id"} & record.raw.keys():
        return {}
    pane = request.arguments.get("pane_id")
    return {"paneId": pane} if isinstance(pane, PaneId) else {}


def _describe_opened(record: CallRecord) -> dict[str, Any]:
    """Return the pane that was opened for the call, by its name and id. The call may have named none."""
    opened = record.request.opened if record.request is not None else None
    if opened is None:
        return {}
    return {"paneId": opened.id, "pane": opened.name, "created": opened.is_new}


def _describe_begun(record: CallRecord) -> dict[str, Any]:
    """Return the id of the command or watch that the call has begun: later lines name it by that."""
    data = record.answer.structured if record.answer is not None else None
    return {name: data[name] for name in _BEGUN_IDS if name in data} if data is not None else {}


def _describe_asked(record: CallRecord) -> dict[str, Any]:
    """Return the people whom a call has asked, who answered or declined, and how the question ended."""
    request = record.request
    if request is None or not (request.asked or request.settled_by):
        return {}
    how = {"how": redact(request.settled_how)} if request.settled_how else {}
    return {"asked": redact(request.asked), "by": redact(request.settled_by), **how}


def _describe_outcome(record: CallRecord) -> dict[str, Any]:
    """Return how the call ended, how long it took, and the tool behind it where it has another name."""
    answer, tool = record.answer, record.request.tool if record.request is not None else None
    line: dict[str, Any] = {
        "output_bytes": len(answer.text.encode("utf-8", "replace")) if answer is not None else 0,
        "ok": record.outcome == "ok",
        "ms": round(record.seconds * 1000, 1),
    }
    if tool is not None and record.uri is None and tool.name != record.name:
        line["native"] = tool.name
    if record.made_by is not None and record.outcome == "ok":
        line["made_by"] = record.made_by
    return line


def _describe_approval(record: CallRecord) -> dict[str, Any]:
    """Return what a person said who was asked to allow the call."""
    approval = record.approval
    if approval is None:
        return {}
    said = {"key": approval.key, "how": approval.how, "said": approval.said}
    return {"approval": {**said, "asked": redact(approval.asked), "by": redact(approval.by)}}


def _describe_error(record: CallRecord) -> dict[str, Any]:
    """Return why the call failed, without the text of an answer that may hold a secret."""
    line: dict[str, Any] = {} if record.outcome == "ok" else {"error": record.outcome}
    if record.answer is not None and record.answer.is_error:
        line["reason"] = SECRET if record.is_secret else redact(record.answer.text)
    return line


def _flagged_arguments(tool: Tool, flags: Set[ArgumentFlag]) -> frozenset[str]:
    """Return both spellings of every argument that has one of the flags."""
    return frozenset(
        name for row in tool.arguments if row.flags & flags for name in (row.name, row.wire_name)
    )


async def _find_maker(request: CallRequest) -> str | None:
    """Return `muxpilot` if this or another muxpilot made every pane that the call kills, else `others`."""
    targets = [row for row in request.arguments.values() if isinstance(row, SessionId | WindowId | PaneId)]
    try:
        theirs = [await list_foreign_panes(request.tmux.connection, target) for target in targets]
    except MuxpilotError:
        return None  # the call itself reports the error
    return ("others" if any(theirs) else "muxpilot") if targets else None


async def _asks_for_secret(tmux: Tmux, pane: PaneId) -> bool:
    """Return whether the pane asks for a secret: by its terminal's echo, else by the line of its cursor.

    Return True where neither can be read.
    """
    try:
        row = await tmux.panes.get(pane)
        if (
            await is_remote_echo_off(row.remote_shell, row.tty)
            if row.remote_shell is not None
            else is_echo_off(row.tty)
        ):
            return True
        lines = await tmux.capture.last_lines(pane, 1)
    except MuxpilotError:
        return True
    return bool(lines) and asks_for_secret(lines[-1])
