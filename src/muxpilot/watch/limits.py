"""The limits that a configuration sets for watches."""

from __future__ import annotations

from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.watch.urls import LOOPBACK_ONLY


@record
class WatchLimits:
    """Defaults and limits of watches; `hosts` are those that a url may name besides this machine."""

    stable_ms: int = 250
    timeout_default_ms: int = 30_000
    timeout_max_ms: int = 600_000
    hosts: tuple[str, ...] = LOOPBACK_ONLY

    def timeout_s(self, asked_ms: int | None) -> float:
        """Return how long to wait for a change. Refuse more than the limit; cut a longer default."""
        if asked_ms is None:
            return min(self.timeout_default_ms, self.timeout_max_ms) / 1000
        if asked_ms > self.timeout_max_ms:
            raise BadInput(
                f"The argument 'timeoutMs' is {asked_ms}, above watch.timeout_max_ms.",
                f"Use at most {self.timeout_max_ms}.",
            )
        return asked_ms / 1000

    def stable_s(self, asked_ms: int | None) -> float:
        return (self.stable_ms if asked_ms is None else asked_ms) / 1000
