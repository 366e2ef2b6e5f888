"""What the engine's tests share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from muxpilot import Tmux
from tests.engine.live import Live


@pytest.fixture
def live(socket: str, binary: str) -> Iterator[Live]:
    with asyncio.Runner() as runner:
        live = Live(runner, Tmux(socket, binary=binary, config="/dev/null", timeout_s=10))
        yield live
        live.close()
