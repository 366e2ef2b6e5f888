"""Finds commands of whichever muxpilot: in this one, and in the records of a tmux server's panes.

A pane with recorded commands that have not ended is opened: this muxpilot follows them from then on.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from muxpilot.errors import NoServer, NotFound, PaneDead
from muxpilot.shells.command import Command
from muxpilot.shells.command_archive import CommandArchive
from muxpilot.shells.command_records import RecordedCommand
from muxpilot.shells.known_commands import KnownCommands, command_not_found
from muxpilot.shells.pane_commands import PaneCommands
from muxpilot.shells.pane_exit import close_abandoned_pane
from muxpilot.tmux import PaneId, Tmux


class OpenPanes(Protocol):
    """The panes that this muxpilot follows."""

    def find_pane(self, tmux: Tmux, pane: PaneId) -> PaneCommands | None:
        """Return the shells of a pane, if it was opened."""

    def find_pane_of(self, command: Command) -> PaneCommands | None:
        """Return the shells of a command's pane, if that is open."""

    async def open_pane(self, tmux: Tmux, pane: PaneId) -> PaneCommands:
        """Return the shells of a pane, and follow them from now on."""


class CommandFinder:
    """Finds commands, opens the panes of those that run, and restores those that have ended."""

    def __init__(self, panes: OpenPanes, known: KnownCommands, archive: CommandArchive) -> None:
        self._panes = panes
        self._known = known
        self._archive = archive

    async def find_command(self, tmux: Tmux, command_id: str) -> Command:
        """Return a command, of whichever muxpilot; one that is not known here must be of this server.

        Raise BadInput if there is none, or not any more.
        """
        self._known.forget_old()
        command = self._known.find(command_id) or await self._restore_command(tmux, command_id)
        _read_news(self._panes.find_pane_of(command))
        return command

    async def list_recorded(
        self, tmux: Tmux, pane: PaneId | None = None
    ) -> list[tuple[PaneId, RecordedCommand]]:
        """Return the commands of a server, or of one pane there, that this muxpilot does not know.

        Those that have not ended are known afterwards: their panes are opened.
        """
        found: list[tuple[PaneId, RecordedCommand]] = []
        with suppress(NoServer):
            for place, recorded in await self._archive.list_all(tmux):
                if recorded.id in self._known or pane not in (None, place):
                    continue
                if recorded.end is None:
                    await self.find_command(tmux, recorded.id)
                else:
                    found.append((place, recorded))
        return found

    async def recover(self, tmux: Tmux) -> None:
        """Look after the commands of a server whose muxpilot is gone."""
        for pane in await self._archive.list_abandoned_panes(tmux):
            await self._open_pane(tmux, pane)
        for row in await tmux.panes.list():
            if row.is_dead:
                await close_abandoned_pane(tmux, row.id)

    async def _restore_command(self, tmux: Tmux, command_id: str) -> Command:
        """Return a command that only the records know; raise BadInput if they do not."""
        found = await self._find_recorded(tmux, command_id)
        if found is None:
            raise command_not_found(command_id)
        pane, recorded = found
        if recorded.end is None:
            await self._open_pane(tmux, pane)
            recorded = await self._read_again(tmux, pane, recorded)
        command = self._known.find(command_id) or await self._archive.restore(tmux, pane, recorded)
        self._known.add(command)
        return command

    async def _find_recorded(self, tmux: Tmux, command_id: str) -> tuple[PaneId, RecordedCommand] | None:
        try:
            return await self._archive.find(tmux, command_id)
        except NoServer:
            return None  # a server that is not running has no panes

    async def _read_again(self, tmux: Tmux, pane: PaneId, recorded: RecordedCommand) -> RecordedCommand:
        """Return the record of a command as it is now: it may have ended while its pane was opened."""
        _read_news(self._panes.find_pane(tmux, pane))
        found = None
        if recorded.id not in self._known:
            found = await self._find_recorded(tmux, recorded.id)
        return found[1] if found is not None else recorded

    async def _open_pane(self, tmux: Tmux, pane: PaneId) -> None:
        """Open a pane that has unfinished commands; they are known then. A pane that is gone has ended."""
        with suppress(NotFound):
            try:
                await self._panes.open_pane(tmux, pane)
            except PaneDead:
                await self._end_commands_of(tmux, pane)

    async def _end_commands_of(self, tmux: Tmux, pane: PaneId) -> None:
        """Find out how the commands of a dead pane have ended, then close the pane if that is ours to do."""
        for place, recorded in await self._archive.list_all(tmux):
            if place == pane and recorded.end is None and recorded.id not in self._known:
                self._known.add(await self._archive.restore(tmux, pane, recorded))
        await close_abandoned_pane(tmux, pane)


def _read_news(shell: PaneCommands | None) -> None:
    """Take in what other muxpilots have written down about the commands of a pane that has not ended."""
    if shell is not None and shell.end_reason is None:
        shell.shared_commands.sync()
