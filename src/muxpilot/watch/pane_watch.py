"""One watch: a pane's stream, the clock and the system; the first trigger that fires ends it.

The loop of `PaneWatch.run` waits for the first of: new output, a probe that has found something, and the next
moment at which the clock matters. It then calls the hooks of all triggers (`trigger.py`). Of several triggers
that fire in one round, the first in the caller's list wins.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from muxpilot.records import record
from muxpilot.tasks import cancel_and_wait
from muxpilot.timing import WatchTiming
from muxpilot.tmux import Data, End, Gap, Pane, PaneStream
from muxpilot.tmux.streams import StreamEvent
from muxpilot.trace import Trace, area
from muxpilot.watch.foreground import ForegroundTracker
from muxpilot.watch.mark_tracker import MarkTracker
from muxpilot.watch.probes import Probes
from muxpilot.watch.progress import ProgressReporter
from muxpilot.watch.state_checks import StateChecks
from muxpilot.watch.trigger import (
    COMMAND_INCOMPLETE,
    NEVER,
    PANE_ENDED,
    TIMED_OUT,
    Ending,
    ForegroundCheck,
    Trigger,
)
from muxpilot.watch.trigger_matcher import Fired, TriggerMatcher
from muxpilot.watch.watch_log import WatchLog
from muxpilot.watch.watch_start import WatchStart

# After so many chunks the clock is checked, and after so many other tasks may run. The second must be more
# than a source adds in one turn, or a flood of output would overrun the stream's memory.
_MOST_CHUNKS, _CHUNKS_IN_A_TURN = 64, 4

_AT_PROMPT = "the shell is back at its prompt"


@record
class WatchEvent:
    """What ended a watch."""

    event: str
    detail: str
    exit_code: int | None = None


class PaneWatch:
    """Reads a stream until a trigger fires. Cancelling it leaves nothing behind."""

    def __init__(
        self,
        pane: Pane,
        start: WatchStart,
        *,
        triggers: Sequence[Trigger],
        timeout_s: float,
        probes: Probes | None = None,
        progress: ProgressReporter | None = None,
        marks: MarkTracker | None = None,
        timing: WatchTiming | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.began = asyncio.get_running_loop().time() - start.begun_s_ago
        self.last_output = self.began
        self.last_change: float | None = None
        self.gaps = [start.gap] if start.gap is not None else []
        self.is_waiting = asyncio.Event()  # set when all that was printed before the call has been checked
        self.stream_end: End | None = None
        self._pane = pane
        self._start = start
        self._triggers = triggers
        self._timeout_s = timeout_s
        self._timing = timing or WatchTiming()
        self._trace = trace or area("watch").child(pane=pane.id)
        self._log = WatchLog(self._trace, triggers)
        self._probes = (probes or Probes(self._timing)).with_trace(self._trace)
        self._progress = progress or ProgressReporter(timing=self._timing)
        self._marks = marks or MarkTracker()
        self._matcher = TriggerMatcher(
            triggers, start.recently_typed, line_before=start.line_before, joins_lines=start.is_past
        )
        self._foreground = ForegroundTracker(pane, self._timing, self._trace, command_pid=start.command_pid)
        self._reads_state = any(trigger.reads_state for trigger in triggers)
        self._lines = 0
        self._open_line_due = self._rows_due = NEVER
        self._state_checks = StateChecks(self._timing, self.began, due=self._first_state_check())
        self._exit_code: int | None = None
        self._read_offset = start.offset
        self._fired: Fired = {}
        self._over: WatchEvent | None = None  # the event if no trigger fires and none can any more

    @property
    def offset(self) -> int:
        """Return where the watched output begins in the stream."""
        return self._start.offset

    @property
    def line_before(self) -> str:
        """Return the text before the cursor when the watch began."""
        return self._start.line_before

    async def run(self, stream: PaneStream) -> WatchEvent:
        """Watch until a trigger fires, the pane ends or the time is over."""
        self._log.log_begin(
            timeout_s=self._timeout_s,
            offset=self._start.offset,
            is_dead=self._pane.is_dead,
            has_own_stream=self._start.command_stream is not None,
            marks_report_ends=self._marks.reports_every_end,
        )
        events = stream.follow(self._start.offset)
        probing = self._start_probes()
        reading: asyncio.Task[StreamEvent] | None = None
        if self._pane.is_dead:  # the stream of a dead pane does not report its end to a new reader
            await self._read_rest(stream, events)
        elif self._start.is_past:
            await self._read_past(stream, events)
        if self.stream_end is None:
            reading = asyncio.ensure_future(anext(events))
        try:
            while True:
                await _wait_for_first([*probing, reading], self._next_due())
                if reading is not None and reading.done():
                    await self._read(reading.result(), stream, events)
                    reading = None if self.stream_end is not None else asyncio.ensure_future(anext(events))
                self._fire({probing[task]: task.result() for task in probing if task.done()}, "probe")
                await self._check_clock(asyncio.get_running_loop().time())
                event = self._decide()
                if event is not None:
                    return event
                self.is_waiting.set()
        finally:
            await cancel_and_wait(task for task in (*probing, reading) if task is not None)
            await self._progress.close()

    def _start_probes(self) -> dict[asyncio.Task[str], int]:
        return {
            asyncio.ensure_future(probe(trigger, self._probes, self._pane.current_path)): index
            for index, trigger in enumerate(self._triggers)
            if (probe := trigger.type.probe) is not None
        }

    def _first_state_check(self) -> float:
        if not self._reads_state:
            return NEVER
        # A command or an input that was just typed has not been read yet.
        is_typed = self._start.command_stream is not None or self._start.screen is not None
        return self.began + (self._timing.state_checks_s[0] if is_typed else 0.0)

    def _next_due(self) -> float:
        """Return when the clock alone has something to do. The first round waits for nothing."""
        if self._over is not None or self._fired or not self.is_waiting.is_set():
            return self.began
        return min(
            self.began + self._timeout_s,
            self._open_line_due,
            self._rows_due,
            self._state_checks.due,
            self._progress.due,
            *(due for _, due, _ in self._alarms()),
        )

    def _alarms(self) -> Iterable[tuple[int, float, str]]:
        """Yield the index of each trigger that fires by the clock, when it does, and the detail."""
        for index, trigger in enumerate(self._triggers):
            if trigger.type.on_clock is not None:
                yield (index, *trigger.type.on_clock(trigger, self))

    # What comes from the stream

    async def _read(self, event: StreamEvent, stream: PaneStream, events: AsyncIterator[StreamEvent]) -> None:
        """Handle an event and those that are there already: as long as there are any, nothing here waits."""
        self._handle(event)
        for count in range(1, _MOST_CHUNKS):
            if self._fired or self.stream_end is not None or self._read_offset >= stream.end:
                return
            self._handle(await anext(events))
            if count % _CHUNKS_IN_A_TURN == 0:
                await asyncio.sleep(0)

    async def _read_rest(self, stream: PaneStream, events: AsyncIterator[StreamEvent]) -> None:
        """Read what a dead pane has printed after the beginning of the watch, and then its end."""
        while not self._fired and self.stream_end is None and self._read_offset < stream.end:
            self._handle(await anext(events))
        if not self._fired and self.stream_end is None:
            reason = "its program had ended already"
            self._end(End(self._read_offset, self._pane.exit_code, reason), self.began)

    async def _read_past(self, stream: PaneStream, events: AsyncIterator[StreamEvent]) -> None:
        """Read what was printed before the call. It counts also if the time of the watch is over."""
        end, count = stream.end, 0
        while not self._fired and self.stream_end is None and self._read_offset < end:
            self._handle(await anext(events))
            count += 1
            if count % _CHUNKS_IN_A_TURN == 0:
                await asyncio.sleep(0)
        if self.stream_end is None and stream.end_event is not None and not self._fired:
            self._handle(await anext(events))
        now = asyncio.get_running_loop().time()
        if not self._fired and self.stream_end is None and now >= self.began + self._timeout_s:
            self._check_open_line()
            await self._check_clock(now)

    def _handle(self, event: StreamEvent) -> None:
        now = asyncio.get_running_loop().time()
        self._read_offset = event.offset
        if isinstance(event, Data):
            self._read_offset += len(event.data)
            self._check_output(event.data, now)
        elif isinstance(event, Gap):
            self.gaps.append(event)
            self._marks.note_gap()
            self._trace.debug("gap in output", at=event.offset, lost=event.lost_bytes, reason=event.reason)
        else:
            self._end(event, now)

    def _check_output(self, data: bytes, now: float) -> None:
        output = self._marks.feed(data)
        matches = self._matcher.match(output.pieces)
        self.last_output, self._open_line_due = now, now + self._timing.open_line_s
        if matches.is_change:
            self.last_change = now
        if self._start.screen is not None and self._matcher.reads_lines:
            self._rows_due = min(self._rows_due, self._open_line_due)
        if self._reads_state:
            self._foreground.note_output(data, now)
            self._state_checks.note_output(now)
        self._lines += matches.lines
        self._progress.note_lines(matches.lines)
        if self._trace.is_debug:
            typed = sum(len(piece.data) for piece in output.pieces if piece.is_typing)
            self._log.log_output(len(data), typed, matches, self._matcher.ignored_echoes)
        self._fire(matches.fired, "output")
        if output.has_prompt:
            self._fire_by(lambda trigger: trigger.check_prompt(), "prompt mark")
        if output.exit_code is not None:
            self._trace.debug("command ended", by="mark", exit_code=output.exit_code)
            if not matches.fired and self._fire_on_end(Ending(output.exit_code, _AT_PROMPT)):
                self._exit_code = output.exit_code

    def _end(self, end: End, now: float) -> None:
        self.stream_end = end
        self._fire(self._matcher.match_open_line(), "last line")
        self._open_line_due = self._rows_due = NEVER
        self._state_checks.stop()
        self._trace.debug("stream ended", status=end.status, reason=end.reason)
        if self._start.is_incomplete():
            self._over = WatchEvent(COMMAND_INCOMPLETE, end.reason)
            return
        is_new = not self._pane.is_dead
        if is_new:
            self.last_change = now
        ending = Ending(end.status, end.reason, is_pane=True, is_new=is_new)
        self._exit_code = end.status
        self._fire_on_end(ending)
        if self._fired or not any(trigger.outlives_pane for trigger in self._triggers):
            self._over = WatchEvent(PANE_ENDED, ending.describe(), end.status)

    # What comes from the clock

    async def _check_clock(self, now: float) -> None:
        """Do what is due by now, and nothing earlier."""
        if now >= self._open_line_due:
            self._open_line_due = NEVER
            self._check_open_line()
        if now >= self._rows_due and self._start.screen is not None:
            self._rows_due = NEVER
            rows = await self._start.screen.read_changed_rows()
            self._fire(self._matcher.match_rows(rows), "screen")
        if now >= self._state_checks.due:
            await self._check_state(now)
        self._fire({index: detail for index, due, detail in self._alarms() if now >= due}, "clock")
        self._progress.report_if_due(now)

    def _check_open_line(self) -> None:
        """Match the line that has no end, after a pause, or else lines of a background job."""
        fired = self._matcher.match_open_line()
        self._fire(fired or self._matcher.feed(self._marks.take_background_lines()).fired, "pause")

    async def _check_state(self, now: float) -> None:
        """Look at the foreground program, ever less often: it may begin to read without any output."""
        self._state_checks.note_check(now)
        if not self._start.has_begun():
            self._trace.debug("state not read", reason="the command is still queued")
            return
        state = await self._foreground.check()
        if state is None and self._start.screen is not None:
            state = self._foreground.state  # the same, but the screen may show more of what was printed
        if state is None:
            return
        check = await self._look_at_line(ForegroundCheck(state, await self._find_unmarked_end()))
        if check.ending is not None:
            self._exit_code = check.ending.status
        self._log.log_state(check)
        self._fire_by(lambda trigger: trigger.check_state(check), "state")

    async def _look_at_line(self, check: ForegroundCheck) -> ForegroundCheck:
        """Add the line at the cursor, where an input was typed."""
        if self._start.screen is None:
            return check
        return replace(
            check,
            line=await self._start.screen.read_line(),
            line_before=self._start.line_before,
            has_moved_on=self._foreground.has_moved_on,
        )

    async def _find_unmarked_end(self) -> Ending | None:
        """Return the end of a command that only the system shows: marks and a command's stream are exact.

        The system may show it before the shell's own reader has come to the status.
        """
        if self._start.command_stream is not None or not self._foreground.has_command_ended():
            return None
        if not self._marks.reports_every_end:
            await self._marks.catch_up(self._timing.marks_catch_up_s)
        return None if self._marks.reports_every_end else Ending(self._marks.last_exit_code(), _AT_PROMPT)

    # What fires

    def _fire_on_end(self, ending: Ending) -> bool:
        return self._fire_by(lambda trigger: trigger.check_end(ending), "end")

    def _fire_by(self, hook: Callable[[Trigger], str | None], cause: str) -> bool:
        """Fire the triggers for which a hook returns a detail. Return whether there are any."""
        details = {index: hook(trigger) for index, trigger in enumerate(self._triggers)}
        fired = {index: detail for index, detail in details.items() if detail is not None}
        self._fire(fired, cause)
        return bool(fired)

    def _fire(self, fired: Mapping[int, str], cause: str) -> None:
        if fired:
            self._fired |= fired
            self._log.log_fired(cause, fired)

    def _decide(self) -> WatchEvent | None:
        """Return the event that ends the watch now, if one does."""
        event = None
        if self._fired:
            first = min(self._fired)
            event = WatchEvent(self._triggers[first].word, self._fired[first], self._exit_code)
        elif self._over is not None:
            event = self._over
        elif asyncio.get_running_loop().time() >= self.began + self._timeout_s:
            event = WatchEvent(TIMED_OUT, f"Timed out after {self._timeout_s:g}s")
        if event is not None:
            self._log.log_end(
                event.event,
                self._fired,
                exit_code=event.exit_code,
                lines=self._lines,
                gaps=len(self.gaps),
                ignored_echoes=self._matcher.ignored_echoes,
            )
        return event


async def _wait_for_first(tasks: Iterable[asyncio.Task[Any] | None], due: float) -> None:
    """Wait until one of the tasks is done or the time has come."""
    waiting = [task for task in tasks if task is not None]
    seconds = max(0.0, due - asyncio.get_running_loop().time())
    if waiting:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    else:
        await asyncio.sleep(seconds)
