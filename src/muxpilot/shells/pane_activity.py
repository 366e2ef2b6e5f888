"""What happens in a pane and when: output, silence, changes and the pane's end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from muxpilot.tasks import ChangeSignal


class PaneActivity:
    """The clock of a pane: how far its stream was read, how long it is silent, and when something changes."""

    def __init__(self) -> None:
        self.read_offset = 0  # how far the stream has been read
        self.end_reason: str | None = None  # set once the pane has ended
        self.recheck_requests = 0  # how often a caller wanted to know at once what a command waits for
        self._last_output = 0.0
        self._signal = ChangeSignal()

    @property
    def changes(self) -> int:
        """Return how often something has been printed or noted."""
        return self._signal.count

    def notify(self) -> None:
        self._signal.notify()

    def request_recheck(self) -> None:
        """Ask for a look at the running command's state now, without waiting for silence."""
        self.recheck_requests += 1
        self.notify()

    def restart_silence(self) -> None:
        """Count silence from now on, because output is expected or has arrived."""
        self._last_output = asyncio.get_running_loop().time()

    def silence_s(self) -> float:
        return asyncio.get_running_loop().time() - self._last_output

    async def wait_for_change(self, timeout_s: float, *, since: int | None = None) -> None:
        """Wait for the next change or the timeout; return at once if `changes` is no longer `since`."""
        await self._signal.wait(timeout_s, since=since)

    async def wait_until(self, is_true: Callable[[], bool], timeout_s: float) -> None:
        """Wait until a condition holds or the pane has ended, or for the timeout."""
        await self._signal.wait_until(lambda: is_true() or self.end_reason is not None, timeout_s)

    async def wait_until_read(self, offset: int, timeout_s: float) -> None:
        """Wait until the stream has been read up to an offset."""
        await self.wait_until(lambda: self.read_offset >= offset, timeout_s)

    async def wait_for_quiet(self, quiet_s: float, tries: int) -> None:
        """Wait until nothing has changed for `quiet_s`, but for at most so many changes."""
        for _ in range(tries):
            changes = self.changes
            await self.wait_for_change(quiet_s, since=changes)
            if self.changes == changes:
                return
