"""A server on stdio, and what it uses of the machine."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.rigs.wire import Place, Wire, private_place

MEGABYTE = 1 << 20


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place() -> AsyncIterator[Place]:
    with private_place() as place:
        yield place


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def wire(place: Place) -> AsyncIterator[Wire]:
    """Yield one server for tests that must not harm it."""
    async with place.serve(is_new=True) as wire:
        await wire.shake_hands()
        yield wire


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
