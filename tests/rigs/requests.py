"""Count the requests that a piece of code sends to tmux. On another host, each one is a round trip."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pytest

from muxpilot import Tmux
from muxpilot.tmux.hosts.endpoint import Command

_IS_COUNTED: ContextVar[bool] = ContextVar("is_counted", default=False)


@contextmanager
def counted_requests(tmux: Tmux) -> Iterator[list[str]]:
    """Collect the first command of each request that the block sends. Other tasks may send some meanwhile."""
    run, requests = tmux.connection.run, list[str]()

    async def count(*commands: Command, **options: Any) -> Any:
        if _IS_COUNTED.get():
            requests.append(str(commands[0][0]))
        return await run(*commands, **options)

    token = _IS_COUNTED.set(True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tmux.connection, "run", count)
        yield requests
    _IS_COUNTED.reset(token)
