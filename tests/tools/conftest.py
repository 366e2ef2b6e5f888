"""A real MCP client on a real muxpilot over stdio, with its own tmux server."""

from __future__ import annotations

import sys

import pytest
import pytest_asyncio

from tests.rigs.mcp_client import PROMPT, MadeSession, Rig
from tests.rigs.mcp_fixtures import Shell, call, fails, name, pane, place, rig, under
from tests.rigs.reading_agent import Panes

__all__ = ["call", "fails", "name", "pane", "place", "rig", "under"]


@pytest_asyncio.fixture(loop_scope="module")
async def python(pane: Shell) -> str:
    """Start python in a pane, and return the pane."""
    return (await pane(f"{sys.executable} -q")).pane


@pytest.fixture(params=["ours", "a person's"])
def shell(request: pytest.FixtureRequest, rig: Rig, pane: Shell, name: str) -> Panes:
    """Start a shell in a pane that muxpilot creates, or in one that a person created."""

    async def make() -> MadeSession:
        if request.param == "ours":
            return await pane()
        made = rig.session_of_a_person(name)
        await rig.wait_until_shown(made.pane, PROMPT.strip())
        return made

    return make
