"""The answer of a watch: the event, the text that was printed since it began, and the state of the pane."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from muxpilot.errors import MuxpilotError
from muxpilot.records import record
from muxpilot.terminal.shape import ScreenShape
from muxpilot.terminal.text import render_lines, render_text
from muxpilot.tmux import Pane, PaneStream, Tmux
from muxpilot.watch.pane_state import PaneState
from muxpilot.watch.pane_watch import PaneWatch, WatchEvent

_MOST_OUTPUT_BYTES = 1 << 14
# Bytes that are rendered: enough for the text, however many colours it has.
_MOST_RENDERED = 1 << 17
# More than this is rendered in a thread.
_MOST_RENDERED_AT_ONCE = 1 << 14
_MOST_GAPS = 3

# The line that a text goes on with is looked at so far back.
_MOST_BEFORE = 1 << 12

# Gets the unfinished line before a text, and the text. Returns the beginning of the text that must not be
# shown, because it is the rest of a secret, and what is shown instead; empty texts if there is none.
FindContinued = Callable[[str, str], tuple[str, str]]


@record
class WatchResult:
    """`output` begins with a line in brackets if something is missing in it.

    `pane` is the pane's name, if it has one. `cursor` is where read-pane and watch-pane go on without a gap;
    None if the pane is gone. `created` is there where the call could open the pane.
    """

    pane_id: str
    pane: str | None
    event: str
    detail: str
    elapsed: float
    output: str
    pane_state: object  # a PaneState; its fields are not in the tool's schema, which every client pays for
    cursor: str | None
    created: bool | None = None


async def build_result(
    tmux: Tmux,
    pane: Pane,
    stream: PaneStream,
    *,
    watch: PaneWatch,
    event: WatchEvent,
    end: int,
    find_continued: FindContinued | None = None,
) -> WatchResult:
    """Return what a watch answers, without a cursor.

    `pane` is the pane as it was when the watch began, `end` the offset at which the output ends.
    """
    elapsed = asyncio.get_running_loop().time() - watch.began
    row = await _read_pane(tmux, pane, watch)
    output, is_cut = await _read_output(tmux, row, stream, watch.offset, end)
    detail = event.detail
    if find_continued is not None and not is_cut:
        hidden, shown = find_continued(read_line_before(stream, watch.offset, watch.line_before), output)
        if hidden:
            output, detail = shown + output[len(hidden) :], detail.replace(hidden.strip(), shown)
    return WatchResult(
        pane_id=pane.id,
        pane=None,
        event=event.event,
        detail=detail,
        elapsed=round(elapsed, 3),
        output=describe_missing(watch, is_cut=is_cut) + output,
        pane_state=await PaneState.read(row),
        cursor=None,
    )


async def _read_pane(tmux: Tmux, pane: Pane, watch: PaneWatch) -> Pane:
    """Return the pane as it is now, or as it was if it is gone or tmux does not answer."""
    try:
        row = await tmux.panes.get(pane.id)
    except MuxpilotError:
        row = replace(pane, is_dead=True, is_alternate=False)
    if watch.stream_end is not None and row.exit_code is None:
        row = replace(row, dead_status=watch.stream_end.status)
    return row


async def _read_output(tmux: Tmux, row: Pane, stream: PaneStream, begin: int, end: int) -> tuple[str, bool]:
    """Return the end of the new text and whether there was more; of a full-screen program, its screen."""
    if row.is_alternate and not row.is_dead:
        with suppress(MuxpilotError):  # it is gone by now: then its output is left
            return "\n".join(await tmux.capture.last_lines(row.id, row.height)), False
    return await render_new_text(stream, begin, end, shape=row.shape)


async def render_new_text(
    stream: PaneStream, begin: int, end: int, *, shape: ScreenShape, is_alternate: bool = False
) -> tuple[str, bool]:
    """Return the end of the text between two offsets, and whether there was more.

    `is_alternate`: a full-screen program covered the screen at `begin`.
    """
    data = stream.read(max(begin, end - _MOST_RENDERED), end)
    if len(data) > _MOST_RENDERED_AT_ONCE:
        text = await asyncio.to_thread(_render, data, shape, is_alternate=is_alternate)
    else:
        text = _render(data, shape, is_alternate=is_alternate)
    kept = text.encode()[-_MOST_OUTPUT_BYTES:].decode("utf-8", "ignore")
    is_cut = len(kept) < len(text) or len(data) < end - begin
    return kept.partition("\n")[2] if is_cut and "\n" in kept else kept, is_cut


def read_line_before(stream: PaneStream, offset: int, line_before: str) -> str:
    """Return the unfinished line before an offset; `line_before` if the stream does not know it.

    Unlike on the screen, rows that the terminal has wrapped are one line here.
    """
    start = max(stream.line_start(offset), offset - _MOST_BEFORE)
    lines = render_lines(stream.read(start, offset))
    known = (stream.text_before if start == 0 else "") + (lines[-1] if lines else "")
    return known or line_before


def _render(data: bytes, shape: ScreenShape, *, is_alternate: bool) -> str:
    return "\n".join(render_text(data, shape=shape, is_alternate=is_alternate).lines).rstrip("\n ")


def describe_missing(watch: PaneWatch, *, is_cut: bool) -> str:
    """Return a line in brackets about what is missing in a text; nothing if it is whole."""
    notes = ["only the end; use read-pane for more"] if is_cut else []
    for gap in watch.gaps[:_MOST_GAPS]:
        lost = f"{gap.lost_bytes} bytes" if gap.lost_bytes is not None else "some output"
        notes.append(f"{lost} not seen: {gap.reason}")
    return f"[{'; '.join(notes)}]\n" if notes else ""
