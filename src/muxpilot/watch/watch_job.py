"""A background watch as a job: what is written down about it, and how it is continued from that.

Everything that was printed since the watch began counts: it is read again from the pane's journal.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import Any

from muxpilot.jobs.job_records import Fields, Job
from muxpilot.jobs.kept_output import open_kept_output
from muxpilot.journal.record_numbers import read_seconds, read_whole
from muxpilot.processes.quick_checks import foreground_group_of
from muxpilot.records import record
from muxpilot.terminal.text import render_lines
from muxpilot.tmux import Gap, Pane, PaneId, PaneStream, SessionId, Tmux, WindowId
from muxpilot.watch.pane_state import PaneState
from muxpilot.watch.result import WatchResult
from muxpilot.watch.start import StartWatch
from muxpilot.watch.watch_run import WatchPlan
from muxpilot.watch.watch_start import WatchStart

KIND = "watch"
_LONGEST_WATCH_S = 366 * 86_400.0
_NOT_KEPT = "the muxpilot that watched has ended, and what the pane printed then is not kept"
_NO_STREAM = "its program has ended, and its output is not kept"


@record
class WatchWork:
    """Where a watch began, for what and how long, and what the pane was like then."""

    journal: str
    offset: int
    began_ns: int
    triggers: list[str]
    timeout_s: float
    pane: Mapping[str, Any]
    command_pid: int | None

    @classmethod
    def parse(cls, fields: Fields) -> WatchWork:
        """Return what a record says, or raise ValueError, KeyError or TypeError if it is damaged."""
        pid = fields["command_pid"]
        return cls(
            journal=str(fields["journal"]),
            offset=read_whole(fields["offset"]),
            began_ns=read_whole(fields["began"]),
            triggers=[str(word) for word in fields["triggers"]],
            timeout_s=read_seconds(fields["timeout"], most=_LONGEST_WATCH_S),
            pane=dict(fields["pane"]),
            command_pid=None if pid is None else read_whole(pid),
        )


def describe_work(plan: WatchPlan, row: Pane, stream: PaneStream, offset: int) -> Fields:
    """Return what must be known to continue a watch that begins at an offset now."""
    reads_state = any(trigger.reads_state for trigger in plan.triggers) and row.remote_shell is None
    group = foreground_group_of(row.pid) if reads_state else None
    return {
        "journal": stream.name,
        "offset": offset,
        "began": time.monotonic_ns(),
        "triggers": [trigger.word for trigger in plan.triggers],
        "timeout": plan.timeout_s,
        "pane": {
            "width": row.width,
            "height": row.height,
            "pid": row.pid,
            "command": row.current_command,
            "path": row.current_path,
        },
        "command_pid": group if group != row.pid else None,
    }


def describe_result(result: WatchResult) -> Fields:
    """Return the result of a watch as data for its record."""
    state = result.pane_state
    fields = {name: getattr(result, name) for name in _RESULT_FIELDS}
    return {**fields, "pane_state": asdict(state) if isinstance(state, PaneState) else None}


def parse_result(fields: Fields) -> WatchResult:
    """Return the result that a record holds; raise one of DAMAGES if it holds none.

    A pane state of another version is left out.
    """
    try:
        state: object = PaneState(**fields["pane_state"])
    except TypeError:
        state = {}
    known: dict[str, Any] = {name: fields.get(name) for name in _RESULT_FIELDS}
    known["elapsed"] = read_seconds(known["elapsed"], most=_LONGEST_WATCH_S)
    for name in _RESULT_TEXTS:
        if not isinstance(known[name], str | None):
            raise TypeError(f"{name} is not a text")
    return WatchResult(**known, pane_state=state)


_RESULT_TEXTS = ("pane_id", "pane", "event", "detail", "output", "cursor")
_RESULT_FIELDS = (*_RESULT_TEXTS, "elapsed")


@asynccontextmanager
async def open_watched(tmux: Tmux, job: Job, work: WatchWork) -> AsyncIterator[tuple[Pane, PaneStream]]:
    """Yield the pane and the stream that a watch of another muxpilot watched.

    If the pane is gone, or another program was started in it, the stream is the one of the program that was
    watched, which has ended.
    """
    pane = PaneId(job.pane)
    async with open_kept_output(tmux, pane, work.journal) as output:
        row = output.pane
        if row is None or output.live is None:
            yield _gone_pane(pane, work), output.kept or _unknown_end(pane)
        elif output.live is output.kept or row.pid == work.pane["pid"]:
            # A program that has ended since: its end is news, and the stream has it.
            is_news = output.live is output.kept and output.live.end_event is not None
            yield replace(row, is_dead=False) if is_news else row, output.live
        else:
            yield replace(row, is_dead=False), output.kept or _unknown_end(pane)


def start_taken_over(work: WatchWork) -> StartWatch:
    """Return a start at the place where the watch of another muxpilot began."""

    async def start(tmux: Tmux, pane: Pane, stream: PaneStream) -> WatchStart:
        """Begin where the other muxpilot began, or now if the output since then is not kept."""
        begun_s_ago = max(0.0, (time.monotonic_ns() - work.began_ns) / 1e9)
        common = WatchStart(0, is_past=True, begun_s_ago=begun_s_ago, command_pid=work.command_pid)
        if stream.name != work.journal or work.offset > stream.end:
            # A journal that began later has only what was printed since.
            is_journal = await tmux.streams.journals.find(pane.id, stream.name) is not None
            offset = stream.start if is_journal else stream.end
            return replace(common, offset=offset, gap=Gap(offset, None, _NOT_KEPT))
        before = render_lines(stream.read(stream.line_start(work.offset), work.offset))
        return replace(
            common,
            offset=work.offset,
            recently_typed=lambda: tmux.input.recently_typed(pane.id),
            line_before=before[-1] if before else "",
        )

    return start


def _unknown_end(pane: PaneId) -> PaneStream:
    """Return the stream of a program that has ended and whose output is not kept."""
    stream = PaneStream(pane)
    stream.finish(None, _NO_STREAM)
    return stream


def _gone_pane(pane: PaneId, work: WatchWork) -> Pane:
    """Return a pane that is gone as it was when the watch began."""
    return Pane(
        id=pane,
        index=0,
        title="",
        is_active=False,
        width=int(work.pane["width"]),
        height=int(work.pane["height"]),
        current_command=str(work.pane["command"]),
        current_path=str(work.pane["path"]),
        pid=int(work.pane["pid"]),
        is_dead=False,
        dead_status=None,
        dead_signal=None,
        in_mode=False,
        window_id=WindowId("@0"),
        session_id=SessionId("$0"),
        tty="",
        is_alternate=False,
        cursor_column=0,
        server_pid=0,
    )
