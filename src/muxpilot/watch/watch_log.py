"""The log of one watch: enough to see why it fired or did not, and never text of a caller or of a pane."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from muxpilot.trace import Trace
from muxpilot.watch.trigger import ForegroundCheck, Trigger
from muxpilot.watch.trigger_matcher import TriggerMatches


class WatchLog:
    """Writes debug lines about one watch. Triggers are named by their labels."""

    def __init__(self, trace: Trace, triggers: Sequence[Trigger]) -> None:
        self._trace = trace
        self._triggers = triggers
        self._began_at = time.perf_counter()

    def log_begin(self, **fields: object) -> None:
        """Log what the watch waits for."""
        self._began_at = time.perf_counter()
        self._trace.debug("watch began", triggers=self._labels(range(len(self._triggers))), **fields)

    def log_output(self, size: int, typed: int, matches: TriggerMatches, ignored_echoes: int) -> None:
        """Log a chunk of output and the triggers that it matched; `ignored_echoes` counts from the start."""
        self._trace.debug(
            "output checked",
            bytes=size,
            typed_bytes=typed,
            lines=matches.lines,
            is_change=matches.is_change,
            matched=self._labels(matches.fired) or "none",
            ignored_echoes=ignored_echoes,
        )

    def log_state(self, check: ForegroundCheck) -> None:
        """Log a look at the foreground program with its evidence."""
        state = check.state
        self._trace.debug(
            "state checked",
            waiting_for=state.waiting_for,
            is_known=state.is_known,
            evidence=state.evidence,
            foreground_pid=state.foreground_pid,
            command=state.foreground_cmd,
            command_ended=check.ending is not None,
        )

    def log_fired(self, cause: str, fired: Iterable[int]) -> None:
        self._trace.debug("trigger fired", cause=cause, triggers=self._labels(fired))

    def log_end(self, event: str, fired: Iterable[int], **fields: object) -> None:
        """Log the event that ended the watch: a trigger, or an event that needs none."""
        winner = min(fired, default=None)
        name = self._triggers[winner].label if winner is not None else event
        seconds = time.perf_counter() - self._began_at
        self._trace.debug("watch ended", outcome=name, seconds=f"{seconds:.3f}", **fields)

    def _labels(self, indexes: Iterable[int]) -> str:
        return ",".join(self._triggers[index].label for index in sorted(indexes))
