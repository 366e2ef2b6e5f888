"""Act and see: type something into a pane, wait for what it does, and tell what has changed.

The place in the pane's stream and its screen are noted before the input, so that nothing is missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from muxpilot.errors import MuxpilotError
from muxpilot.processes.decide import WaitingFor
from muxpilot.processes.quick_checks import foreground_group_of
from muxpilot.processes.screen_programs import describe_screen_program
from muxpilot.records import record
from muxpilot.shells.occupant import find_input_kind
from muxpilot.terminal.screen_text import changed_rows, draws_rows, find_highlighted, row_text
from muxpilot.timing import WatchTiming
from muxpilot.tmux import Pane, PaneStream, Tmux
from muxpilot.tmux.objects.capture import CapturedScreen
from muxpilot.trace import area
from muxpilot.watch.mark_tracker import MarkTracker
from muxpilot.watch.pane_state import read_settled_state
from muxpilot.watch.pane_watch import PaneWatch, WatchEvent
from muxpilot.watch.probes import Probes
from muxpilot.watch.result import FindContinued, describe_missing, read_line_before, render_new_text
from muxpilot.watch.trigger import Trigger
from muxpilot.watch.watch_start import WatchStart

if TYPE_CHECKING:
    from muxpilot.terminal.cells import CellGrid


# So much of what was printed last is searched for signs of a full-screen program on the normal screen.
_SEARCHED_BYTES = 1 << 16


@record
class ScreenCursor:
    row: int
    column: int
    visible: bool


@record
class ScreenChange:
    """What an input did. `reason` names a pager or an editor in front, and how to leave it.

    `changed` has the new lines, or of a full-screen program the rows that differ: `4: text of the row`.
    `cursor` is None if the pane is gone.
    """

    event: str
    changed: str
    cursor: ScreenCursor | None
    highlighted: list[str]
    alternate_screen: bool
    waiting_for: WaitingFor | None
    reason: str = ""


class ActWatch:
    """One input and the watch for what it does: `begin`, then type, then `wait`."""

    def __init__(
        self,
        tmux: Tmux,
        row: Pane,
        stream: PaneStream,
        *,
        marks: MarkTracker,
        timing: WatchTiming,
        call: int = 0,
        mask: Callable[[CapturedScreen], CapturedScreen] | None = None,
        find_continued: FindContinued | None = None,
    ) -> None:
        """Prepare. `mask` hides what the answer must not show of a screen; triggers see all of it."""
        self._find_continued = find_continued
        self._mask = mask or (lambda shown: shown)
        self._tmux = tmux
        self._row = row
        self._stream = stream
        self._marks = marks
        self._timing = timing
        self._trace = area("watch").child(server=tmux.socket, pane=row.id, watch=f"call-{call}", call=call)
        self._start = WatchStart(stream.end)
        self._before: CapturedScreen | None = None

    async def begin(self) -> None:
        """Note the screen and the place in the stream. What is printed from now on is new."""
        tmux, pane = self._tmux, self._row.id
        self._before = before = await tmux.capture.screen(pane)
        await tmux.streams.catch_up(pane, is_exact=True)
        self._start = WatchStart(
            self._stream.end,
            recently_typed=lambda: tmux.input.recently_typed(pane),
            line_before=_text_before_cursor(before),
            command_pid=self._find_program(),
            screen=self,
        )
        await self._marks.begin(self._start.offset, catch_up_s=self._timing.marks_catch_up_s)
        self._trace.debug("input follows", offset=self._start.offset, is_alternate=before.is_alternate)

    async def wait(self, triggers: Sequence[Trigger], *, timeout_s: float, probes: Probes) -> ScreenChange:
        """Wait for the first trigger, at most so long, and return what has changed since `begin`."""
        watch = PaneWatch(
            self._row,
            self._start,
            triggers=triggers,
            timeout_s=timeout_s,
            probes=probes,
            marks=self._marks,
            timing=self._timing,
            trace=self._trace,
        )
        event = await watch.run(self._stream)
        await self._wait_until_drawn()
        change = await self._read_change(watch, event)
        self._trace.debug(
            "change read",
            characters=len(change.changed),
            highlighted=len(change.highlighted),
            is_alternate=change.alternate_screen,
            waiting_for=change.waiting_for,
        )
        return change

    async def read_line(self) -> str:
        """Return the text before the cursor; empty if the pane is gone."""
        with suppress(MuxpilotError):
            return await self._tmux.capture.text_before_cursor(self._row.id)
        return ""

    async def read_changed_rows(self) -> bytes:
        """Return the rows that a full-screen program has changed, as lines; nothing if there is none."""
        with suppress(MuxpilotError):
            shown = await self._tmux.capture.screen(self._row.id)
            if shown.is_alternate or (self._find_program() is not None and self._draws_rows()):
                return "\n".join(self._find_changed_rows(shown).values()).encode()
        return b""

    def _draws_rows(self) -> bool:
        """Return whether a program has drawn on the whole screen since the input."""
        end = self._stream.end
        return draws_rows(self._stream.read(max(self._start.offset, end - _SEARCHED_BYTES), end))

    def _find_program(self) -> int | None:
        """Return the process group in the foreground, unless it is the pane's own program."""
        if self._row.remote_shell is not None:
            return None
        group = foreground_group_of(self._row.pid)
        return group if group != self._row.pid else None

    async def _wait_until_drawn(self) -> None:
        """Wait until nothing was printed for a moment: a screen is drawn in several writes."""
        for _ in range(self._timing.drawn_checks):
            end = self._stream.end
            if self._stream.end_event is not None:
                return
            await asyncio.sleep(self._timing.drawn_check_s)
            if self._stream.end == end:
                return

    async def _read_change(self, watch: PaneWatch, event: WatchEvent) -> ScreenChange:
        try:
            row = await self._tmux.panes.get(self._row.id)
            shown = await self._tmux.capture.screen(self._row.id)
        except MuxpilotError:  # the pane is gone, and its last lines are in the stream
            lines = await self._read_lines(watch)
            return ScreenChange(event.event, lines, None, [], alternate_screen=False, waiting_for=None)
        column, line = shown.cursor_at
        waiting_for, reason = await self._read_waiting(row, shown)
        is_full_screen = shown.is_alternate or (waiting_for == "key" and self._draws_rows())
        return ScreenChange(
            event=event.event,
            changed=self._describe_rows(shown) if is_full_screen else await self._read_lines(watch),
            cursor=ScreenCursor(line, column, visible=shown.cursor is not None),
            highlighted=find_highlighted(to_grid(self._mask(shown))),
            alternate_screen=shown.is_alternate,
            waiting_for=waiting_for,
            reason=reason,
        )

    async def _read_waiting(self, row: Pane, shown: CapturedScreen) -> tuple[WaitingFor | None, str]:
        """Return what the program waits for, and of a pager or an editor how to leave it."""
        if row.is_dead:
            return None, ""
        state, line = await read_settled_state(row, self._timing), _text_before_cursor(shown)
        if state.waiting_for in ("pager", "editor"):
            return state.waiting_for, describe_screen_program(state.foreground_cmd)
        kind = find_input_kind(state, line, is_cursor_shown=shown.cursor is not None)
        if state.waiting_for == "key" and kind == "line":
            return "line", ""  # its line editor reads keys
        return state.waiting_for, ""

    def _describe_rows(self, shown: CapturedScreen) -> str:
        rows = to_grid(self._mask(shown)).rows
        return "\n".join(f"{number}: {row_text(rows[number])}" for number in self._find_changed_rows(shown))

    def _find_changed_rows(self, shown: CapturedScreen) -> dict[int, str]:
        before = self._before
        is_same_screen = before is not None and before.is_alternate == shown.is_alternate
        return changed_rows(to_grid(before) if before and is_same_screen else None, to_grid(shown))

    async def _read_lines(self, watch: PaneWatch) -> str:
        """Return the new lines, after a line in brackets if some are missing."""
        text, is_cut = await render_new_text(
            self._stream,
            self._start.offset,
            self._stream.end,
            shape=self._row.shape,
            is_alternate=self._before is not None and self._before.is_alternate,
        )
        if self._find_continued is not None and not is_cut:
            start = self._start
            line = read_line_before(self._stream, start.offset, start.line_before)
            hidden, shown = self._find_continued(line, text)
            text = shown + text[len(hidden) :]
        return describe_missing(watch, is_cut=is_cut) + text


def to_grid(shown: CapturedScreen) -> CellGrid:
    """Return a captured screen as cells."""
    from muxpilot.terminal.cells import parse_screen  # not needed at the start of a server

    return parse_screen(shown.lines, shown.columns, shown.rows, shown.cursor, emoji=shown.emoji)


def _text_before_cursor(shown: CapturedScreen) -> str:
    column, line = shown.cursor_at
    if line >= len(shown.lines):
        return ""
    cells = to_grid(replace(shown, lines=shown.lines[: line + 1])).rows[line]
    return row_text(cells).ljust(column)[:column]
