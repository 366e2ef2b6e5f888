"""The subscriptions and watches of a client. All of them end with the client's connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from muxpilot.errors import NotFound
from muxpilot.resources import Notify, Stop
from muxpilot.trace import area
from muxpilot.watch.registry import WatchRegistry
from muxpilot.watch.watch_run import OnWatchEnd

# A client that does not read its notifications must not delay those of other clients.
_NOTIFY_S = 1.0

_trace = area("server")


class ConnectionSubscriptions:
    """What one connection has subscribed to, and the watches that end with it."""

    def __init__(self, watches: WatchRegistry) -> None:
        self._registry = watches
        self._stops: dict[str, Stop] = {}
        self._watches: set[str] = set()
        self._is_closed = False
        self._on_end: OnWatchEnd | None = None
        self.has_list_subscription = False

    def add(self, uri: str, stop: Stop) -> None:
        """Keep a subscription in place of an earlier one to the same address."""
        self.remove(uri)
        if self._is_closed:  # the client left while its request was served
            stop()
            return
        self._stops[uri] = stop
        _trace.debug("subscribed", uri=uri, subscriptions=len(self._stops))

    def remove(self, uri: str) -> None:
        """End a subscription, if there is one."""
        self._stops.pop(uri, _do_nothing)()

    def own_watch(self, identity: str) -> None:
        """Cancel a watch at the end of the connection, unless that is the end of this process too."""
        self._watches.add(identity)

    def tell_ends(self, on_end: OnWatchEnd) -> None:
        """Tell this client the ends of watches that other muxpilots began and this one continues."""
        if self._on_end is None:
            self._on_end = on_end
            self._registry.end_listeners.append(on_end)

    async def close(self) -> None:
        """End all subscriptions, and cancel all watches that end with the connection.

        At the end of the process they are left instead: other muxpilots continue them.
        """
        _trace.debug("connection closed", subscriptions=len(self._stops), watches=len(self._watches))
        self._is_closed = True
        for uri in tuple(self._stops):
            self.remove(uri)
        if self._on_end is not None:
            self._registry.end_listeners.remove(self._on_end)
        for identity in self._watches if not self._registry.is_closing else ():
            with suppress(NotFound):  # it has ended, and its result is no longer kept
                await self._registry.cancel(identity)


def with_timeout(notify: Callable[[], Awaitable[None]]) -> Notify:
    """Return a notification that gives up on a client that does not read it."""

    async def notify_in_time() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_NOTIFY_S):
                await notify()

    return notify_in_time


def _do_nothing() -> None:
    """End a subscription that does not exist."""
