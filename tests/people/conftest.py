"""A private tmux with one session of a person, and a muxpilot that asks."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.rigs.asking import Asking, start_asking


@pytest.fixture
async def asking() -> AsyncIterator[Asking]:
    async with start_asking() as found:
        yield found
