"""Follow one pane for one page: send its screen, then its output, and its screen again where output is lost.

A slow reader costs no memory: what it has not taken stays in the stream of the pane, which is bounded. When
the stream no longer has it, or when the pane prints more than can be drawn, the page gets the whole screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from muxpilot.errors import NoStream
from muxpilot.terminal.safe_output import SafeOutputFilter
from muxpilot.tmux import End, Gap, PaneId, PaneStream, Tmux
from muxpilot.tmux.streams import StreamEvent
from muxpilot.trace import area
from muxpilot.view.screen import take_snapshot, take_snapshot_of_stream

SendEvent = Callable[[str, dict[str, Any]], Awaitable[None]]

# Output is sent at most this often. If more than this has come in between, the screen is shorter.
_PACE_S = 0.05
_MOST_BYTES = 1 << 15
# After this long without output the page compares its screen with tmux's.
_QUIET_S = 0.4
_POLL_S = 1.0
_TRIES = 3

trace = area("view")


class PaneFollower:
    """Follows one pane until its program ends or the task is cancelled."""

    def __init__(self, tmux: Tmux, pane: PaneId, key: str, send_event: SendEvent) -> None:
        self._tmux = tmux
        self.pane = pane
        self._key = key
        self._send_event = send_event
        self._filter = SafeOutputFilter()
        self._offset = 0  # how much of the pane's stream the page has
        self._gaps: list[Gap] = []

    async def run(self) -> None:
        """Send the screen and all output of the pane; poll the screen if the pane has no stream."""
        try:
            async with self._tmux.streams.open(self.pane) as stream:
                await self._follow(stream)
        except NoStream:
            trace.debug("pane has no stream", pane=self.pane, poll_s=_POLL_S)
            await self._poll()

    async def _follow(self, stream: PaneStream) -> None:
        await self._send_screen(stream, is_first=True)
        while not await self._forward_output(stream):
            await self._send_screen(stream)
            await asyncio.sleep(_PACE_S)

    async def _forward_output(self, stream: PaneStream) -> bool:
        """Forward output. Return True when the pane ends, False when the screen must be sent again."""
        async with aclosing(_with_pauses(stream.follow(self._offset))) as events:
            async for event in events:
                if event is None:
                    await self._send_comparison(stream)
                elif isinstance(event, End):
                    await self._send_screen_now()
                    return True
                elif isinstance(event, Gap):
                    if self._is_new_gap(event):
                        return False
                elif len(event.data) > _MOST_BYTES:
                    return False
                else:
                    self._offset = event.offset + len(event.data)
                    await self._send("data", text=self._filter.feed(event.data))
                    await asyncio.sleep(_PACE_S)
        return True

    def _is_new_gap(self, gap: Gap) -> bool:
        """Return True for a new gap. A stream reports it again when it is followed from the same offset."""
        if any(gap is known for known in self._gaps):
            return False
        self._gaps = [*(known for known in self._gaps if known.offset == gap.offset), gap]
        self._offset = gap.offset - (gap.lost_bytes or 0)
        return True

    async def _send_screen(self, stream: PaneStream, *, is_first: bool = False) -> None:
        screen, at, _ = await take_snapshot_of_stream(
            self._tmux, stream, with_history=is_first, tries=_TRIES if is_first else 1
        )
        skipped, self._offset = (0 if is_first else at - self._offset), at
        if trace.is_debug:
            trace.debug("screen sent", pane=self.pane, is_first=is_first, skipped_bytes=skipped)
        self._filter = SafeOutputFilter()
        await self._send("screen", **screen.to_json(), is_first=is_first, skipped=skipped)

    async def _send_comparison(self, stream: PaneStream) -> None:
        """Send the screen for comparison. If the text is the same, the page keeps its own colours."""
        screen, at, is_exact = await take_snapshot_of_stream(self._tmux, stream, tries=1)
        if is_exact and at == self._offset:
            self._filter = SafeOutputFilter()
            await self._send("screen", **screen.to_json(), is_comparison=True)

    async def _send_screen_now(self) -> None:
        await self._send(
            "screen", **(await take_snapshot(self._tmux, self.pane)).to_json(), is_comparison=True
        )

    async def _poll(self) -> None:
        """Send the screen again and again, for a pane whose output cannot be streamed."""
        while True:
            await self._send_screen_now()
            await asyncio.sleep(_POLL_S)

    async def _send(self, name: str, **facts: Any) -> None:
        await self._send_event(name, {"key": self._key, **facts})


async def _with_pauses(events: AsyncIterator[StreamEvent]) -> AsyncGenerator[StreamEvent | None]:
    """Yield the events, and None once after each pause."""
    coming = asyncio.ensure_future(anext(events))
    timeout_s = None
    try:
        while True:
            done, _ = await asyncio.wait({coming}, timeout=timeout_s)
            if not done:
                timeout_s = None
                yield None
                continue
            yield coming.result()
            coming = asyncio.ensure_future(anext(events))
            timeout_s = _QUIET_S
    finally:
        coming.cancel()
