"""Serve `subscriptions/listen`: one request is one stream of changes, until the client ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

from muxpilot.protocol.change_streams import (
    ACKNOWLEDGED,
    RESOURCE_UPDATED,
    RESOURCES_CHANGED,
    ChangeFilter,
    mark_stream,
    parse_filter,
)
from muxpilot.protocol.messages import Params, Result
from muxpilot.resources import ResourceFailed, Resources
from muxpilot.server.client_connection import RequestContext
from muxpilot.trace import area

_trace = area("server")

_Change = tuple[str, str]


class _UnsentChanges:
    """Changes that the client has not been sent. A second change of the same kind adds nothing."""

    def __init__(self) -> None:
        self._changes: dict[_Change, None] = {}
        self._added = asyncio.Event()

    def adder(self, method: str, uri: str = "") -> Callable[[], Awaitable[None]]:
        """Return a function that adds a change."""

        async def add() -> None:
            self._changes[method, uri] = None
            self._added.set()

        return add

    async def take(self) -> _Change:
        """Wait for the next change, and remove it."""
        while not self._changes:
            self._added.clear()
            await self._added.wait()
        change = next(iter(self._changes))
        del self._changes[change]
        return change


async def serve_changes(resources: Resources, ctx: RequestContext) -> Result:
    """Confirm what can be followed, then send each change until the request is cancelled.

    Following begins before the acknowledgement, so that no change is lost between them.
    """
    wanted, unsent = parse_filter(ctx.request.params), _UnsentChanges()
    with ExitStack() as stack:
        served = await _follow(resources, wanted, unsent, stack)
        _trace.debug("listening", uris=len(served.uris), has_list=served.has_resource_list)
        await _send(ctx, ACKNOWLEDGED, {"notifications": served.to_json()})
        while True:
            method, uri = await unsent.take()
            await _send(ctx, method, {"uri": uri} if uri else {})


async def _send(ctx: RequestContext, method: str, params: Params) -> None:
    await ctx.notify(method, mark_stream(ctx.request.id, params))


async def _follow(
    resources: Resources, wanted: ChangeFilter, unsent: _UnsentChanges, stack: ExitStack
) -> ChangeFilter:
    """Follow what is wanted, and return what can be followed."""
    uris = []
    for uri in wanted.uris:
        try:
            stack.callback(await resources.follow(uri, unsent.adder(RESOURCE_UPDATED, uri)))
        except ResourceFailed:
            continue
        uris.append(uri)
    if wanted.has_resource_list:
        stack.callback(await resources.follow_list(unsent.adder(RESOURCES_CHANGED)))
    return ChangeFilter(tuple(uris), wanted.has_resource_list)
