"""The composition root: settings become an application, whatever face it then shows."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from muxpilot.config import Settings
from muxpilot.dispatch import Dispatch
from muxpilot.resources import Resources
from muxpilot.servers import Servers
from muxpilot.tools import TOOLS
from muxpilot.tools.watching import WITH_CHANNEL


@dataclass(frozen=True, slots=True)
class App:
    settings: Settings
    servers: Servers
    dispatch: Dispatch
    resources: Resources

    async def close(self) -> None:
        """All at once: each may have to wait for a tmux that does not answer."""
        await asyncio.gather(self.resources.close(), self.dispatch.close(), self.servers.close())


def build(settings: Settings) -> App:
    servers = Servers(settings.socket)
    also = WITH_CHANNEL if settings.channel else frozenset()
    dispatch = Dispatch(TOOLS, settings.scope, servers, also=also)
    return App(settings, servers, dispatch, Resources(dispatch, servers))
