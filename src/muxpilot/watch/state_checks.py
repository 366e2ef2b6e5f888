"""When a watch looks at the foreground program: after some silence, and then ever less often."""

from __future__ import annotations

from muxpilot.timing import WatchTiming
from muxpilot.watch.trigger import NEVER


class StateChecks:
    """The next moment at which the state of a pane's foreground program is read."""

    def __init__(self, timing: WatchTiming, began: float, *, due: float) -> None:
        """Set when the first check is due."""
        self.due = due
        self._timing = timing
        self._checks = 0  # since the last output
        self._checked_at = began

    def note_output(self, now: float) -> None:
        """Wait for a new silence before the next check. Output without a pause does not delay it for ever."""
        pauses = self._timing.state_checks_s
        self._checks = 0
        self.due = min(now + pauses[0], self._checked_at + pauses[-1])

    def note_check(self, now: float) -> None:
        """Note that a check is made now, and set when the next one is due."""
        self.due = next_state_check(now, self._checks, self._timing)
        self._checks, self._checked_at = self._checks + 1, now

    def stop(self) -> None:
        """Stop: no check is due any more."""
        self.due = NEVER


def next_state_check(now: float, checks: int, timing: WatchTiming) -> float:
    """Return when to look at the foreground program again, after so many looks in silence.

    All watches in which nothing happens look at the same moments.
    """
    pause_s = timing.state_checks_s[min(checks, len(timing.state_checks_s) - 1)]
    due, shared_s = now + pause_s, timing.shared_check_s
    return due // shared_s * shared_s if pause_s >= 2 * shared_s else due
