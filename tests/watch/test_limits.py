"""Limits of the configuration for waiting for a change."""

from __future__ import annotations

import pytest

from muxpilot.app import build
from muxpilot.config.model import Settings, WatchSettings
from muxpilot.errors import BadInput
from muxpilot.watch.limits import WatchLimits

LIMITS = WatchLimits(stable_ms=100, timeout_default_ms=2000, timeout_max_ms=5000)


@pytest.mark.parametrize(("asked", "seconds"), [(None, 2.0), (0, 0.0), (1, 0.001), (5000, 5.0)])
def test_a_timeout_is_the_one_asked_for_or_the_default(asked: int | None, seconds: float) -> None:
    assert LIMITS.timeout_s(asked) == seconds


def test_more_than_the_longest_timeout_is_refused_and_a_default_is_cut() -> None:
    with pytest.raises(BadInput, match=r"'timeoutMs' is 5001.* Use at most 5000\."):
        LIMITS.timeout_s(5001)
    assert WatchLimits(timeout_default_ms=2000, timeout_max_ms=1000).timeout_s(None) == 1.0


def test_quiet_is_as_long_as_asked_for_or_the_default() -> None:
    assert (LIMITS.stable_s(None), LIMITS.stable_s(0), LIMITS.stable_s(7)) == (0.1, 0.0, 0.007)


def test_an_allowed_host_is_the_same_however_it_is_spelled() -> None:
    app = build(Settings(watch=WatchSettings(allowed_hosts=("Example.ORG.",))))
    assert app.services.watches.limits == WatchLimits(hosts=("example.org",))
