"""One pane for one page: first its screen, then what it prints; its screen again wherever that is not enough.

Whoever reads slowly loses nothing that matters and costs no memory: what is not taken stays in the pane's
stream, which is bounded, and where it has gone the screen is told anew. The same is done with a flood.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from muxpilot.errors import NoStream
from muxpilot.terminal.safe_output import Harmless
from muxpilot.tmux import End, Gap, PaneId, PaneStream, Tmux
from muxpilot.tmux.streams import Event
from muxpilot.view.screen import look, look_at

Tell = Callable[[str, dict[str, Any]], Awaitable[None]]

# A pane tells at most so often, and no more than this at a time: beyond it the screen is the shorter story.
_PACE_S = 0.05
_MOST_BYTES = 1 << 15
# After so long a silence the page compares what it shows with what tmux does.
_QUIET_S = 0.4
_POLL_S = 1.0
_TRIES = 3


class Follower:
    """`run` goes on until the pane's program ends, or somebody cancels it."""

    def __init__(self, tmux: Tmux, pane: PaneId, key: str, tell: Tell) -> None:
        self._tmux = tmux
        self._pane = pane
        self._key = key
        self._tell = tell
        self._harmless = Harmless()
        self._at = 0  # how much of the pane's stream the page knows
        self._gaps: list[Gap] = []

    async def run(self) -> None:
        try:
            async with self._tmux.streams.open(self._pane) as stream:
                await self._follow(stream)
        except NoStream:
            await self._poll()

    async def _follow(self, stream: PaneStream) -> None:
        await self._paint(stream, is_first=True)
        while not await self._pass_on(stream):
            await self._paint(stream)
            await asyncio.sleep(_PACE_S)

    async def _pass_on(self, stream: PaneStream) -> bool:
        """Until the pane ends, or until the screen has to be told anew; whether it has ended."""
        async with aclosing(_with_silences(stream.follow(self._at))) as events:
            async for event in events:
                if event is None:
                    await self._compare(stream)
                elif isinstance(event, End):
                    await self._show_again()
                    return True
                elif isinstance(event, Gap):
                    if self._is_news(event):
                        return False
                elif len(event.data) > _MOST_BYTES:
                    return False
                else:
                    self._at = event.offset + len(event.data)
                    await self._say("data", text=self._harmless.pass_on(event.data))
                    await asyncio.sleep(_PACE_S)
        return True

    def _is_news(self, gap: Gap) -> bool:
        """A gap at the place where we begin again is told again: it is the same one."""
        if any(gap is known for known in self._gaps):
            return False
        self._gaps = [*(known for known in self._gaps if known.offset == gap.offset), gap]
        self._at = gap.offset - (gap.lost or 0)
        return True

    async def _paint(self, stream: PaneStream, *, is_first: bool = False) -> None:
        screen, at, _ = await look_at(
            self._tmux, stream, with_history=is_first, tries=_TRIES if is_first else 1
        )
        skipped, self._at = (0 if is_first else at - self._at), at
        self._harmless = Harmless()
        await self._say("screen", **screen.told(), is_first=is_first, skipped=skipped)

    async def _compare(self, stream: PaneStream) -> None:
        """The page keeps what it has if it is the same: it knows colours that tmux does not tell."""
        screen, at, is_exact = await look_at(self._tmux, stream, tries=1)
        if is_exact and at == self._at:
            self._harmless = Harmless()
            await self._say("screen", **screen.told(), is_comparison=True)

    async def _show_again(self) -> None:
        await self._say("screen", **(await look(self._tmux, self._pane)).told(), is_comparison=True)

    async def _poll(self) -> None:
        """For a pane whose output nobody can have."""
        while True:
            await self._show_again()
            await asyncio.sleep(_POLL_S)

    async def _say(self, what: str, **facts: Any) -> None:
        await self._tell(what, {"key": self._key, **facts})


async def _with_silences(events: AsyncIterator[Event]) -> AsyncGenerator[Event | None]:
    """The events, and None once after each that nothing followed for a while."""
    coming = asyncio.ensure_future(anext(events))
    patience_s = None
    try:
        while True:
            done, _ = await asyncio.wait({coming}, timeout=patience_s)
            if not done:
                patience_s = None
                yield None
                continue
            yield coming.result()
            coming = asyncio.ensure_future(anext(events))
            patience_s = _QUIET_S
    finally:
        coming.cancel()
