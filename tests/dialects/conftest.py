"""A muxpilot in one of the two dialects, and a client that sends it lines of JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.rigs.waiting import eventually
from tests.rigs.wire import Place, Wire, private_place


@dataclass
class DialectClient:
    """A client of a muxpilot in a dialect, and the tmux that it uses."""

    wire: Wire
    place: Place

    async def answer(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        result = await self.wire.result("tools/call", {"name": tool, "arguments": arguments})
        assert "structuredContent" not in result
        [block] = result["content"]
        return block["text"], result["isError"]

    async def says(self, tool: str, **arguments: Any) -> str:
        text, is_error = await self.answer(tool, **arguments)
        assert not is_error, text
        return text

    async def fails(self, tool: str, **arguments: Any) -> str:
        text, is_error = await self.answer(tool, **arguments)
        assert is_error, text
        return text

    async def until(self, wanted: str, tool: str, **arguments: Any) -> str:
        """Call until the answer contains this."""

        async def look() -> str:
            text = await self.says(tool, **arguments)
            return text if wanted in text else ""

        return str(await eventually(look))


@pytest.fixture
def place() -> Iterator[Place]:
    with private_place() as place:
        yield place


@asynccontextmanager
async def speaking(place: Place, scope: str, *args: str) -> AsyncIterator[DialectClient]:
    async with place.serve("--scope", scope, *args) as wire:
        await wire.shake_hands()
        yield DialectClient(wire, place)


@pytest.fixture
async def debug(place: Place) -> AsyncIterator[DialectClient]:
    async with speaking(place, "debug") as speaker:
        yield speaker


@pytest.fixture
async def classic(place: Place) -> AsyncIterator[DialectClient]:
    async with speaking(place, "classic") as speaker:
        yield speaker
