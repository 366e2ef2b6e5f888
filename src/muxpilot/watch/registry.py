"""All watches of one muxpilot: those that a call waits for, and those that go on by themselves."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from muxpilot.errors import MuxpilotError, NotFound, Refused
from muxpilot.records import record
from muxpilot.tmux import PaneId, Tmux
from muxpilot.watch.limits import Limits
from muxpilot.watch.mark_tracker import Ends
from muxpilot.watch.progress import RARELY, Mode, Progress, Teller, unheard
from muxpilot.watch.result import Describe, WatchResult, outcome
from muxpilot.watch.start import Begin, from_now
from muxpilot.watch.triggers import Trigger
from muxpilot.watch.watch import Watch

log = logging.getLogger("muxpilot")

# So many may go on at once, and of so many that have ended it is known what they came to.
MOST = 200
# A client that does not take the news does not hold up the answer.
_TELL_S = 1.0


# Who is told of the end, before the answer: what it came to, and the exit code of what has ended.
Told = Callable[[WatchResult, int | None], Awaitable[None]]


@record
class Plan:
    """What to watch, for what, and how long."""

    tmux: Tmux
    pane: PaneId
    triggers: Sequence[Trigger]
    timeout_s: float
    describe: Describe
    begin: Begin = from_now
    mode: Mode = RARELY
    progress: Progress = unheard
    told: Told | None = None
    ends: Ends = field(default_factory=Ends)


@dataclass(slots=True, eq=False)
class Kept:
    """A watch that goes on by itself; `result` is there once it has ended, or `failure` if it was lost."""

    id: str
    plan: Plan
    status: str = "watching"
    result: WatchResult | None = None
    failure: str | None = None
    task: asyncio.Task[None] | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Watches:
    def __init__(self, *, most: int = MOST, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._most = most
        self._kept: dict[str, Kept] = {}

    async def run(self, plan: Plan, *, begun: asyncio.Event | None = None) -> WatchResult:
        """Watch until something happens; the stream is open before anything is typed."""
        row = await plan.tmux.panes.get(plan.pane)
        teller = Teller(plan.progress, plan.mode, pane=plan.pane, total_s=plan.timeout_s)
        async with plan.tmux.streams.open(plan.pane) as stream:
            start = await plan.begin(plan.tmux, row, stream)
            # A command's own stream has neither marks nor typing in it.
            ends = plan.ends if start.own is None else Ends()
            await ends.begin(start.offset)
            if begun is not None:
                begun.set()
            watch = Watch(
                row,
                start,
                triggers=plan.triggers,
                timeout_s=plan.timeout_s,
                teller=teller,
                ends=ends,
            )
            source = start.own or stream
            try:
                fired = await watch.run(source)
            finally:
                if start.leave is not None:
                    await start.leave()
            result = await outcome(plan.tmux, row, source, watch=watch, fired=fired, describe=plan.describe)
        if plan.told is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_TELL_S):
                    await plan.told(result, fired.exit_code)
        return result

    async def start(self, plan: Plan) -> str:
        """Watch on by itself; answers its id once it has begun, so that nothing after that is missed."""
        self._make_room()
        kept = Kept(f"w{secrets.token_hex(4)}", plan)
        begun = asyncio.Event()
        kept.task = asyncio.create_task(self._keep(kept, begun))
        self._kept[kept.id] = kept
        waiting = asyncio.create_task(begun.wait())
        try:
            await asyncio.wait({kept.task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if kept.task.done():
                kept.task.result()  # what kept it from beginning is told here
        except BaseException:
            kept.task.cancel()
            del self._kept[kept.id]
            raise
        finally:
            waiting.cancel()
        return kept.id

    @property
    def kept(self) -> Sequence[Kept]:
        return tuple(self._kept.values())

    def get(self, watch: str) -> Kept:
        if watch not in self._kept:
            hint = "Use notify-when to begin one."
            raise NotFound("watch", watch[:40], hint=hint)
        return self._kept[watch]

    async def cancel(self, watch: str) -> bool:
        """Whether it was still watching."""
        kept = self.get(watch)
        if kept.status != "watching" or kept.task is None:
            return False
        kept.task.cancel()
        await asyncio.wait([kept.task])
        return kept.status == "cancelled"

    async def close(self) -> None:
        tasks = [kept.task for kept in self._kept.values() if kept.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _keep(self, kept: Kept, begun: asyncio.Event) -> None:
        try:
            kept.result = await self.run(kept.plan, begun=begun)
            kept.status = "done"
        except asyncio.CancelledError:
            kept.status = "cancelled"
            raise
        except Exception as error:
            kept.status = "done"
            if not begun.is_set():
                raise
            # Nobody waits for this task: what ended it is kept for who asks, and is in the log.
            log.warning("watch %s was lost", kept.id, exc_info=error)
            kept.failure = str(error) if isinstance(error, MuxpilotError) else "by a fault of muxpilot"
        finally:
            kept.ended.set()

    def _make_room(self) -> None:
        over = [kept for kept in self._kept.values() if kept.status != "watching"]
        for kept in over[: max(0, len(over) - self._most + 1)]:
            del self._kept[kept.id]
        if sum(kept.status == "watching" for kept in self._kept.values()) >= self._most:
            raise Refused(f"{self._most} watches are going on.", "Use cancel-watch to end some.")
