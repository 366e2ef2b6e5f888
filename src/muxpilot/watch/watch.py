"""One watch: what a pane prints, the clock and the system; the first trigger that fires ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any

from muxpilot.records import record
from muxpilot.tmux import Data, End, Gap, Pane, PaneStream
from muxpilot.tmux.streams import Event
from muxpilot.watch.foreground import PAUSES_S, Foreground, is_at_prompt
from muxpilot.watch.mark_tracker import Ends
from muxpilot.watch.probes import NAMES as READY
from muxpilot.watch.probes import ready
from muxpilot.watch.progress import Teller
from muxpilot.watch.trigger_matcher import Sieve
from muxpilot.watch.triggers import Trigger

# A line without an end counts when nothing more comes for so long: prompts have no newline.
_PAUSE_S = 0.12
# So many chunks are read before the clock is looked at, and so many before others have their turn: more
# than a source can add in one, or a flood would outrun the stream's memory.
_AT_A_TIME, _IN_A_TURN = 64, 4
_ON_STATE = frozenset({"exit", "shell", "user_input", "password"})
# These may still happen when the pane's program has ended.
_WITHOUT_PANE = READY | {"idle", "quiet"}
_NEVER = float("inf")


@record
class Fired:
    """What ended a watch."""

    event: str
    detail: str
    exit_code: int | None = None


@record
class Start:
    """Where a watch begins in the pane's stream, or in a command's own; `leave` is called when it ends.

    `typed` answers what was typed into the pane lately, `before` is what stood on the line already."""

    offset: int
    own: PaneStream | None = None
    leave: Callable[[], Awaitable[None]] | None = None
    has_begun: Callable[[], bool] = lambda: True
    typed: Callable[[], Sequence[str]] = tuple
    before: str = ""
    # Whether a command was typed whose rest the shell still waits for.
    is_incomplete: Callable[[], bool] = lambda: False


class Watch:
    """Reads a stream until a trigger fires; cancelling it leaves nothing behind."""

    def __init__(
        self,
        pane: Pane,
        start: Start,
        *,
        triggers: Sequence[Trigger],
        timeout_s: float,
        teller: Teller | None = None,
        ends: Ends | None = None,
    ) -> None:
        self.began = asyncio.get_running_loop().time()
        self.last_change: float | None = None
        self.gaps: list[Gap] = []
        self.ended: End | None = None
        self._pane = pane
        self._start = start
        self._triggers = triggers
        self._timeout_s = timeout_s
        self._teller = teller or Teller()
        self._ends = ends or Ends()
        self._names = frozenset(trigger.name for trigger in triggers)
        self._sieve = Sieve(triggers, start.typed, before=start.before)
        self._front = Foreground(pane)
        self._last_output = self.began
        self._pause_due = _NEVER
        self._look_due = self._first_look()
        self._looks = 0
        self._looked = self.began
        self._exit_code: int | None = None
        self._seen = start.offset
        self._hits: dict[int, str] = {}
        self._over: Fired | None = None

    @property
    def offset(self) -> int:
        """Where what it watches begins in the stream."""
        return self._start.offset

    async def run(self, stream: PaneStream) -> Fired:
        events = stream.follow(self._start.offset)
        probes = self._probes()
        following: asyncio.Task[Event] | None = None
        if self._pane.is_dead:  # whoever follows it from now on is told nothing
            self._end(End(self._seen, self._pane.exit_code, "its program had ended already"), self.began)
        else:
            following = asyncio.ensure_future(anext(events))
        try:
            while True:
                await _first_of([*probes, following], self._due())
                if following is not None and following.done():
                    await self._read(following.result(), stream, events)
                    following = None if self.ended is not None else asyncio.ensure_future(anext(events))
                self._hits |= {probes[task]: task.result() for task in probes if task.done()}
                await self._tick(asyncio.get_running_loop().time())
                fired = self._fired()
                if fired is not None:
                    return fired
        finally:
            self._teller.close()
            await _stopped([*probes, following])

    def _probes(self) -> dict[asyncio.Task[str], int]:
        return {
            asyncio.ensure_future(ready(trigger, self._pane.current_path)): index
            for index, trigger in enumerate(self._triggers)
            if trigger.name in READY
        }

    def _first_look(self) -> float:
        if not self._names & _ON_STATE:
            return _NEVER
        return self.began + (PAUSES_S[0] if self._start.own is not None else 0.0)

    def _due(self) -> float:
        """When the clock alone has something to say."""
        if self._over is not None:
            return self.began
        silences = [
            self._last_output + trigger.number for trigger in self._triggers if trigger.name == "idle"
        ]
        if self.last_change is not None:
            quiet = (trigger.number / 1000 for trigger in self._triggers if trigger.name == "quiet")
            silences += [self.last_change + seconds for seconds in quiet]
        return min(self.began + self._timeout_s, self._pause_due, self._look_due, self._teller.due, *silences)

    async def _read(self, event: Event, stream: PaneStream, events: AsyncIterator[Event]) -> None:
        """This event, and what else has come: as long as there is something, nothing here waits."""
        self._handle(event)
        for turn in range(1, _AT_A_TIME):
            if self._hits or self.ended is not None or self._seen >= stream.end:
                return
            self._handle(await anext(events))
            if turn % _IN_A_TURN == 0:
                await asyncio.sleep(0)

    def _handle(self, event: Event) -> None:
        now = asyncio.get_running_loop().time()
        self._seen = event.offset
        if isinstance(event, Data):
            self._seen += len(event.data)
            self._hear(event.data, now)
        elif isinstance(event, Gap):
            self.gaps.append(event)
            self._ends.lose()
        else:
            self._end(event, now)

    def _hear(self, data: bytes, now: float) -> None:
        heard = self._ends.feed(data)
        sifted = self._sieve.sift(heard.pieces)
        self._last_output, self._pause_due = now, now + _PAUSE_S
        if sifted.is_change:
            self.last_change = now
        if self._names & _ON_STATE:
            self._front.heard(data, now)
            self._looks, self._look_due = 0, min(now + PAUSES_S[0], self._looked + PAUSES_S[-1])
        self._teller.note(sifted.lines)
        self._hits |= sifted.hits
        if heard.code is not None and "exit" in self._names and not sifted.hits:
            self._exit_code = heard.code
            self._hit("exit", _ending(heard.code, "the shell is back at its prompt"))

    def _end(self, event: End, now: float) -> None:
        self.ended = event
        self._hits |= self._sieve.pause()
        self._pause_due = self._look_due = _NEVER
        if self._start.is_incomplete():
            self._over = Fired("user_input", event.reason)
            return
        if not self._pane.is_dead:
            self.last_change = now
            self._hit("change", "The pane's program ended")
        self._exit_code = event.status
        self._hit("exit", _ending(event.status, event.reason))
        if self._hits or not self._names & _WITHOUT_PANE:
            self._over = Fired("exit", _ending(event.status, event.reason), event.status)

    async def _tick(self, now: float) -> None:
        """What is due by the clock, and not before."""
        if now >= self._pause_due:
            self._pause_due = _NEVER
            self._hits |= self._sieve.pause() or self._sieve.feed(self._ends.pause()).hits
        if now >= self._look_due:
            await self._look(now)
        for index, trigger in enumerate(self._triggers):
            if trigger.name == "idle" and now >= self._last_output + trigger.number:
                self._hits[index] = f"No new output for {trigger.number:g}s"
            elif trigger.name == "quiet" and self._is_quiet(trigger.number / 1000, now):
                self._hits[index] = f"Nothing changed for {trigger.number:g} ms"
        self._teller.tell(now)

    def _is_quiet(self, seconds: float, now: float) -> bool:
        return self.last_change is not None and now >= self.last_change + seconds

    async def _look(self, now: float) -> None:
        """Ever less often while nothing is printed; a program may begin to read without a word."""
        self._look_due = now + PAUSES_S[min(self._looks, len(PAUSES_S) - 1)]
        self._looks, self._looked = self._looks + 1, now
        state = await self._front.look() if self._start.has_begun() else None
        if state is None:
            return
        is_told = self._start.own is not None or self._ends.tells_all
        if not is_told and self._front.has_command_ended():
            self._exit_code = self._ends.last()
            self._hit("exit", _ending(self._exit_code, "the shell is back at its prompt"))
        if is_at_prompt(state):
            self._hit("shell", f"{state.foreground_cmd} is at its prompt")
        elif state.waiting_for is not None:
            self._hit("user_input", f'Process "{state.foreground_cmd}" is waiting for user input')
            if state.waiting_for == "password":
                self._hit("password", f'Process "{state.foreground_cmd}" reads with the echo off')

    def _hit(self, name: str, detail: str) -> None:
        for index, trigger in enumerate(self._triggers):
            if trigger.name == name:
                self._hits[index] = detail

    def _fired(self) -> Fired | None:
        if self._hits:
            first = min(self._hits)
            return Fired(self._triggers[first].word, self._hits[first], self._exit_code)
        if self._over is not None:
            return self._over
        if asyncio.get_running_loop().time() >= self.began + self._timeout_s:
            return Fired("timeout", f"Timed out after {self._timeout_s:g}s")
        return None


def _ending(status: int | None, reason: str) -> str:
    known = (
        f"Process exited with code {status}"
        if status is not None
        else "Process exited, its code is not known"
    )
    return f"{known} ({reason})"


async def _first_of(tasks: Iterable[asyncio.Task[Any] | None], due: float) -> None:
    waiting = [task for task in tasks if task is not None]
    seconds = max(0.0, due - asyncio.get_running_loop().time())
    if waiting:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    else:
        await asyncio.sleep(seconds)


async def _stopped(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    """Cancelled, and waited for: a stream is only let go of once nobody reads it."""
    waiting = [task for task in tasks if task is not None]
    for task in waiting:
        task.cancel()
    if waiting:
        await asyncio.wait(waiting)
