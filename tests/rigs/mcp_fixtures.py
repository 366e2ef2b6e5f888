"""A real MCP client on a real muxpilot over stdio, with a tmux server of its own: one for each module."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.rigs.mcp_client import Made, Rig, serving
from tests.rigs.policies import Place, Policy, policies, standing

_NUMBERS = itertools.count(1)

Call = Callable[..., Coroutine[Any, Any, dict[str, Any]]]
Fails = Callable[..., Coroutine[Any, Any, str]]
Shell = Callable[..., Coroutine[Any, Any, Made]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig() -> AsyncIterator[Rig]:
    async with serving("all") as rig:
        yield rig


@pytest.fixture
def call(rig: Rig) -> Call:
    """`await call("list-panes", windowId="@1")`: the structured answer, checked against its schema."""
    return rig.call


@pytest.fixture
def fails(rig: Rig) -> Fails:
    """The one line with which a call is refused."""
    return rig.fails


@pytest.fixture
def name() -> str:
    """A session's name that no other test has."""
    return f"test-{next(_NUMBERS)}"


@pytest.fixture
def pane(rig: Rig, name: str) -> Iterator[Shell]:
    """`made = await pane()`: a session of ours whose shell stands at its prompt; or one with a command."""
    ids: list[str] = []

    async def make(command: str | None = None, **more: Any) -> Made:
        made = await rig.session_of_ours(f"{name}-{next(_NUMBERS)}", command, **more)
        ids.append(made.session)
        return made

    yield make
    for session in ids:
        rig.raw("kill-session", "-t", session, check=False)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A tmux with sessions of a person and of others, for tests of what a policy lets through."""
    with standing() as place:
        yield place


@pytest.fixture
def under(place: Place, tmp_path: Path) -> Policy:
    return policies(place, tmp_path)
