"""A muxpilot whose default tmux is in a container: namespaces with a file system and pids of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from muxpilot.app import App, build
from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope
from tests.rigs.app_calls import AppCalls
from tests.rigs.namespaces import Container, run_container


@dataclass
class Inside(AppCalls):
    """A muxpilot that works in a container."""

    container: Container
    app: App

    async def fails(self, tool: str, /, **arguments: Any) -> str:
        answer = await self.app.dispatch.call(tool, arguments)
        assert answer.is_error, answer.text
        return answer.text

    async def pane(self, name: str) -> str:
        """Create a session, and return the id of its pane."""
        pane: str = (await self.call("create-session", name=name, width=100, height=30))["paneId"]
        return pane


def far_settings(command: str, **more: Any) -> Settings:
    return Settings(scope=Scope.ALL, exec_command=command, **more)


@asynccontextmanager
async def muxpilot_in(container: Container, **more: Any) -> AsyncIterator[Inside]:
    app = build(far_settings(container.command, **more))
    try:
        yield Inside(container, app)
    finally:
        await app.close()


@pytest.fixture(scope="module")
def container() -> Iterator[Container]:
    with run_container() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def inside(container: Container) -> AsyncIterator[Inside]:
    """A container with a muxpilot, and a session that keeps tmux running."""
    async with muxpilot_in(container) as it:
        await it.call("create-session", name="keeper", command="cat")
        yield it
