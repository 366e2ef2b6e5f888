"""What a watch answers: the event, the text that came since it began, and the state of the pane."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from muxpilot.errors import MuxpilotError
from muxpilot.records import record
from muxpilot.terminal.text import rendered
from muxpilot.tmux import Pane, PaneStream, Tmux
from muxpilot.watch.watch import Fired, Watch

_LARGEST_OUTPUT = 1 << 14
# Rendered bytes: enough for the text, however many colours it has.
_RENDERED = 1 << 17
_RENDERED_AT_ONCE = 1 << 14

# The answer of pane-state for a pane.
Describe = Callable[[Pane], Awaitable[object]]


@record
class WatchResult:
    """`output` begins with a line in brackets if something is not in it."""

    pane_id: str
    event: str
    detail: str
    elapsed: float
    output: str
    pane_state: object


async def outcome(
    tmux: Tmux, pane: Pane, stream: PaneStream, *, watch: Watch, fired: Fired, describe: Describe
) -> WatchResult:
    elapsed = asyncio.get_running_loop().time() - watch.began
    row = await _row(tmux, pane, watch)
    output, is_cut = await _output(tmux, row, stream, watch.offset)
    return WatchResult(
        pane_id=pane.id,
        event=fired.event,
        detail=fired.detail,
        elapsed=round(elapsed, 3),
        output=_note(watch, is_cut=is_cut) + output,
        pane_state=await describe(row),
    )


async def _row(tmux: Tmux, pane: Pane, watch: Watch) -> Pane:
    """The pane as it is now; one that is gone, or that cannot be asked for any more, as it was."""
    try:
        row = await tmux.panes.get(pane.id)
    except MuxpilotError:
        row = replace(pane, is_dead=True, is_alternate=False)
    if watch.ended is not None and row.exit_code is None:
        row = replace(row, dead_status=watch.ended.status)
    return row


async def _output(tmux: Tmux, row: Pane, stream: PaneStream, begin: int) -> tuple[str, bool]:
    """The last of the new text, and whether there was more; of a full-screen program, its screen."""
    if row.is_alternate and not row.is_dead:
        with suppress(MuxpilotError):  # it has gone in this moment: then what it printed is left
            return "\n".join(await tmux.capture.last(row.id, row.height)), False
    start = max(begin, stream.end - _RENDERED)
    data = stream.read(start, stream.end)
    if len(data) > _RENDERED_AT_ONCE:
        text = await asyncio.to_thread(_text, data, row.height)
    else:
        text = _text(data, row.height)
    kept = text.encode()[-_LARGEST_OUTPUT:].decode("utf-8", "ignore")
    is_cut = len(kept) < len(text) or len(data) < stream.end - begin
    return kept.partition("\n")[2] if is_cut and "\n" in kept else kept, is_cut


def _text(data: bytes, height: int) -> str:
    return "\n".join(rendered(data, height=height).lines).rstrip("\n ")


def _note(watch: Watch, *, is_cut: bool) -> str:
    notes = ["only the end; use read-pane for more"] if is_cut else []
    for gap in watch.gaps[:3]:
        lost = f"{gap.lost} bytes" if gap.lost is not None else "some output"
        notes.append(f"{lost} not seen: {gap.reason}")
    return f"[{'; '.join(notes)}]\n" if notes else ""
