"""A server process that ends by SIGKILL, or is stopped by SIGSTOP, after the k-th step of a command's life.

A step is a call of one of the functions in `POINTS`: a record is written, or tmux is asked. The functions are
wrapped in the server's process before muxpilot's main function runs; muxpilot knows nothing of it.
"""

from __future__ import annotations

import signal
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path

from tests.rigs.wire import Place, Wire

# Module, class and method of each step. The server ends after the method has returned.
POINTS = (
    ("muxpilot.journal.record_log", "RecordLog", "append"),
    ("muxpilot.tmux.connection.control", "ControlClient", "request"),
    ("muxpilot.tmux.connection.control", "ControlClient", "_send"),
)

# Counts from the moment when the plan file is there, so that the start of the server is no part of it.
_PRELUDE = """
import functools, importlib, inspect, os, signal

PLAN, COUNT, SIGNAL = {plan!r}, {count!r}, {signal!r}

def count_step(name):
    try:
        with open(PLAN) as plan:
            left = int(plan.read()) - 1
    except (OSError, ValueError):
        return
    with open(COUNT, "a") as count:
        count.write(name + "\\n")
    if left <= 0:
        os.unlink(PLAN)
        os.kill(os.getpid(), SIGNAL)
        return
    with open(PLAN, "w") as plan:
        plan.write(str(left))

def wrap(module, owner, method):
    try:
        cls = getattr(importlib.import_module(module), owner)
    except ImportError:
        return  # not in this version; a test requires that each point exists
    original = getattr(cls, method)
    @functools.wraps(original)
    def counted(*args, **kwargs):
        result = original(*args, **kwargs)
        if inspect.iscoroutine(result):
            return finish(result)
        count_step(owner + "." + method)
        return result
    async def finish(coroutine):
        result = await coroutine
        count_step(owner + "." + method)
        return result
    setattr(cls, method, counted)

for point in {points!r}:
    wrap(*point)
"""


class CrashPlan:
    """The plan of one server: after how many steps it gets the signal, and the steps that it took."""

    def __init__(self, folder: Path, number: signal.Signals = signal.SIGKILL) -> None:
        self._signal = number
        self._plan = folder / "crash-plan"
        self._steps = folder / "crash-steps"

    def serve(self, place: Place, *args: str) -> AbstractAsyncContextManager[Wire]:
        """Start a server that follows the plan."""
        files = {"plan": str(self._plan), "count": str(self._steps)}
        prelude = _PRELUDE.format(**files, points=POINTS, signal=int(self._signal))
        return place.serve("--scope", "all", *args, prelude=prelude)

    def arm(self, steps: int) -> None:
        self._steps.unlink(missing_ok=True)
        self._plan.write_text(str(steps))

    def disarm(self) -> list[str]:
        """Remove the plan. Return the steps that were taken."""
        self._plan.unlink(missing_ok=True)
        return self._steps.read_text().split() if self._steps.exists() else []


def find_missing_points() -> list[str]:
    """Return the points that this muxpilot does not have."""
    missing = []
    for module, owner, method in POINTS:
        try:
            has_it = hasattr(getattr(import_module(module), owner), method)
        except (ImportError, AttributeError):
            has_it = False
        if not has_it:
            missing.append(f"{module}.{owner}.{method}")
    return missing
