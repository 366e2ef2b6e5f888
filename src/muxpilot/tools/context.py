"""What a tool gets to work with: the server of its call, the caller, and the application's services."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Annotated

from muxpilot.calls import Caller, CallRequest, CheckPart
from muxpilot.idle_sessions import IdleSessions
from muxpilot.jobs.job_registry import JobRegistry
from muxpilot.people.people import People
from muxpilot.people.typing_check import check_typing
from muxpilot.reading.pane_cursor import PaneReaders
from muxpilot.record.recordings import Recordings
from muxpilot.records import record
from muxpilot.shells.command_registry import CommandRegistry
from muxpilot.timing import ReplTiming
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.own_panes import OwnPanes
from muxpilot.tmux.pane_locks import PaneLocks, PaneUse
from muxpilot.tmux.servers import TmuxServers
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.watch.registry import WatchRegistry
from muxpilot.workspace import Workspaces

if TYPE_CHECKING:
    from muxpilot.redaction.redactor import Redactor

# The pane of a call: by its name, id or target. Left out, it is the pane `main` of the workspace.
MainPane = Annotated[PaneId, "Name (main) or %3", ArgumentFlag.MAIN]


@record
class Services:
    """The parts of the application that outlive a call."""

    servers: TmuxServers
    shells: CommandRegistry
    locks: PaneLocks
    workspaces: Workspaces
    pane_readers: PaneReaders = field(default_factory=PaneReaders)
    jobs: JobRegistry = field(default_factory=JobRegistry)
    watches: WatchRegistry = field(default_factory=WatchRegistry)
    recordings: Recordings = field(default_factory=Recordings)
    people: People = field(default_factory=People)
    idle_sessions: IdleSessions = field(default_factory=IdleSessions)
    # The folders of security.allowed_buffer_paths. None: buffer files are kept in a private folder.
    buffer_paths: tuple[str, ...] | None = None
    own_panes: OwnPanes = field(default_factory=lambda: OwnPanes({}))
    repl_timing: ReplTiming = ReplTiming()
    # Takes secrets out of what the model sees; None where that is off. Dispatch does this to every answer.
    # Tools do it themselves before they cut a text in pieces, which could show the half of a secret.
    redactor: Redactor | None = None

    async def close(self) -> None:
        """Stop everything but the servers, which the application closes."""
        await self.people.close()
        await self.idle_sessions.close()
        await self.watches.close()
        await self.recordings.close()
        await self.jobs.close()
        await self.shells.close()
        await self.pane_readers.close()


@record
class Context:
    """One call. `tmux` is the server that its `socket` names."""

    tmux: Tmux
    services: Services
    caller: Caller
    check_part: CheckPart
    # Whether the call itself says which server it means.
    names_server: bool = False
    # Names the call in the log.
    call: int = 0
    # Whether the program of the call's pane was started for it.
    created: bool = False
    # The call as dispatch knows it; a tool notes there whom it has asked.
    request: CallRequest | None = None

    @asynccontextmanager
    async def lock_pane(self, tmux: Tmux, pane: PaneId) -> AsyncGenerator[None]:
        """Hold a pane while this call types into it. Raise Refused if a person is asked there meanwhile."""
        async with self.services.locks.hold(tmux, pane, PaneUse.TYPE, holder=f"call-{self.call}"):
            await check_typing(tmux, pane)
            yield

    async def pause_typing(self, pane: PaneId, seconds: float) -> None:
        """Wait before more is typed into a pane. Raise Refused if a person is asked there meanwhile."""
        await asyncio.sleep(seconds)
        await check_typing(self.tmux, pane, typed="The rest was not typed.")

    async def pane_name(self, pane: PaneId, tmux: Tmux | None = None) -> str | None:
        """Return the name of a pane in the workspace, or None. `tmux` is its server, if not the call's."""
        return await self.services.workspaces.name_of(tmux or self.tmux, pane)

    def lock_dialogue(self, pane: PaneId) -> AbstractAsyncContextManager[None]:
        """Hold a pane for one input to the program in it and the answer."""
        return self.services.locks.hold(self.tmux, pane, PaneUse.DIALOGUE, holder=f"call-{self.call}")
