"""A tmux with a session, and a client of each protocol era."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.rigs.wire import Place, Wire, private_place


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place() -> AsyncIterator[Place]:
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "home", "-n", "first", "cat")
        yield place


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def old(place: Place) -> AsyncIterator[Wire]:
    async with place.serve() as wire:
        await wire.shake_hands()
        yield wire


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def modern(place: Place) -> AsyncIterator[Wire]:
    async with place.serve() as wire:
        wire.use_modern_revision()
        yield wire


@pytest.fixture
def pane(place: Place) -> str:
    """Make a new pane of a person, in which `cat` shows what is typed."""
    return place.tmux("new-window", "-d", "-t", "=home:", "-P", "-F", "#{pane_id}", "cat")
