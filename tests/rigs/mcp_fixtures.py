"""A real MCP client on a real muxpilot over stdio, with a tmux server of its own: one for each module."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.rigs.mcp_client import MadeSession, Rig, serving
from tests.rigs.policies import Policy, PolicyPlace, place_with_sessions, policies

_NUMBERS = itertools.count(1)

Call = Callable[..., Coroutine[Any, Any, dict[str, Any]]]
Fails = Callable[..., Coroutine[Any, Any, str]]
Shell = Callable[..., Coroutine[Any, Any, MadeSession]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig() -> AsyncIterator[Rig]:
    async with serving("all") as rig:
        yield rig


@pytest.fixture
def call(rig: Rig) -> Call:
    """Return `call`: `await call("list-panes", windowId="@1")` is the answer, checked by its schema."""
    return rig.call


@pytest.fixture
def fails(rig: Rig) -> Fails:
    """Return `fails`, which returns the error line of a call."""
    return rig.fails


@pytest.fixture
def name() -> str:
    """Return a session name that no other test uses."""
    return f"test-{next(_NUMBERS)}"


@pytest.fixture
def pane(rig: Rig, name: str) -> Iterator[Shell]:
    """Yield `pane`: `made = await pane()` creates a session at its prompt, or one that runs a command."""
    ids: list[str] = []

    async def make(command: str | None = None, **more: Any) -> MadeSession:
        made = await rig.session_of_ours(f"{name}-{next(_NUMBERS)}", command, **more)
        ids.append(made.session)
        return made

    yield make
    for session in ids:
        rig.raw("kill-session", "-t", session, check=False)


@pytest.fixture(scope="module")
def place() -> Iterator[PolicyPlace]:
    """Yield a tmux with several sessions, for tests of policies."""
    with place_with_sessions() as place:
        yield place


@pytest.fixture
def under(place: PolicyPlace, tmp_path: Path) -> Policy:
    return policies(place, tmp_path)
