"""Property tests on a real tmux: one engine for many examples."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, TypeVar

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muxpilot import Tmux
from tests.rigs.waiting import LIMIT_S

# `./dev proof quoting` multiplies the number of examples.
TIMES = int(os.environ.get("MUXPILOT_TIMES", "1"))

Check = Callable[..., Coroutine[Any, Any, None]]
Result = TypeVar("Result")


class LiveEngine:
    """An engine on an event loop that runs only while an example of hypothesis runs."""

    def __init__(self, runner: asyncio.Runner, tmux: Tmux) -> None:
        self._runner = runner
        self._entered = AsyncExitStack()
        self.tmux = self.enter(tmux)

    def enter(self, context: AbstractAsyncContextManager[Result]) -> Result:
        """Enter a context until the end of the test, and return its value."""
        return self.run(self._entered.enter_async_context(context))

    def close(self) -> None:
        self.run(self._entered.aclose())

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._runner.run(_with_limit(work))

    def for_every(self, check: Check, *strategies: SearchStrategy[Any], examples: int) -> None:
        """Run a check with many examples of these strategies."""

        # Failing examples are not shrunk: they are short, and each may wait for a time limit.
        @settings(max_examples=examples * TIMES, phases=(Phase.reuse, Phase.generate))
        @given(st.tuples(*strategies))
        def each(values: tuple[Any, ...]) -> None:
            self.run(check(*values))

        each()


async def _with_limit(work: Coroutine[Any, Any, Result]) -> Result:
    async with asyncio.timeout(LIMIT_S):
        return await work
