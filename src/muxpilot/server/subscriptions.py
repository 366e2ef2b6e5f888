"""What a client is told of, and what watches for it: all of it ends with the client's connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from muxpilot.errors import NotFound
from muxpilot.resources import Stop, Tell
from muxpilot.watch.registry import Watches

_KEY = "muxpilot"
# A client that does not take the news does not keep it from the others.
_TELL_S = 1.0


class Ties:
    def __init__(self, watches: Watches) -> None:
        self._registry = watches
        self._followed: dict[str, Stop] = {}
        self._watches: set[str] = set()
        self.follows_list = False

    def follow(self, what: str, stop: Stop) -> None:
        self.unfollow(what)
        self._followed[what] = stop

    def unfollow(self, what: str) -> None:
        self._followed.pop(what, _nothing)()

    def watch(self, identity: str) -> None:
        self._watches.add(identity)

    async def cut(self) -> None:
        for what in tuple(self._followed):
            self.unfollow(what)
        for identity in self._watches:
            with suppress(NotFound):  # forgotten, so over
                await self._registry.cancel(identity)


def ties(ctx: ServerRequestContext[Any], watches: Watches) -> Ties | None:
    """Of the connection that a request came by; none where every request is a connection of its own."""
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return None
    connection = ctx.session._connection  # the SDK has no other way to it yet
    if _KEY not in connection.state:
        connection.state[_KEY] = made = Ties(watches)
        connection.exit_stack.push_async_callback(made.cut)
    found: Ties = connection.state[_KEY]
    return found


def in_time(tell: Callable[[], Awaitable[None]]) -> Tell:
    async def told() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_TELL_S):
                await tell()

    return told


def _nothing() -> None:
    """Stops what was never begun."""
