"""Commands that this muxpilot does not know: of others, and of earlier ones.

They are found in the records of the panes of a tmux server, also of panes that are gone.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from muxpilot.errors import MuxpilotError, Unavailable
from muxpilot.journal.owners import OwnerState
from muxpilot.journal.record_log import RecordLog
from muxpilot.journal.record_numbers import DAMAGES
from muxpilot.shells.command import Command
from muxpilot.shells.command_output import CommandOutput
from muxpilot.shells.command_records import EndedCommand, JournalPlace, RecordedCommand
from muxpilot.shells.command_restore import CommandReplay, end_of, restore_command
from muxpilot.shells.pane_log import RECORDS_FILE, PaneLog, RecordLimits
from muxpilot.tmux import PaneId, PaneStream, Tmux
from muxpilot.tmux.objects.recorded_exit import read_exit
from muxpilot.tmux.streams import ExitStatus
from muxpilot.tmux.streams.stream import NOT_HELD
from muxpilot.trace import area

_GONE = "The pane has ended: it is gone."


class CommandArchive:
    """The recorded commands of tmux servers."""

    def __init__(self, output_limit: int, limits: RecordLimits) -> None:
        self._output_limit = output_limit
        self._limits = limits
        self._trace = area("shells")

    async def find(self, tmux: Tmux, command_id: str) -> tuple[PaneId, RecordedCommand] | None:
        """Return a command of a server, and its pane."""
        for folder in await tmux.streams.journals.pane_folders():
            if RecordLog(folder / RECORDS_FILE).mentions(command_id.encode("utf-8", "replace")):
                recorded = self._read(tmux, folder).history.commands.get(command_id)
                if recorded is not None:
                    return _pane_of(folder), recorded
        return None

    async def has_records(self, tmux: Tmux, pane: PaneId) -> bool:
        """Return whether there are records of a pane, as far as they can be found."""
        try:
            folders = await tmux.streams.journals.pane_folders()
        except MuxpilotError:
            return False
        return any(_pane_of(folder) == pane and (folder / RECORDS_FILE).exists() for folder in folders)

    async def list_all(self, tmux: Tmux) -> list[tuple[PaneId, RecordedCommand]]:
        """Return all commands of a server with their panes, in the order of asking."""
        found = [
            (_pane_of(folder), recorded)
            for folder in await tmux.streams.journals.pane_folders()
            for recorded in self._read(tmux, folder).history.commands.values()
        ]
        return sorted(found, key=lambda row: row[1].asked_ns)

    async def list_abandoned_panes(self, tmux: Tmux) -> list[PaneId]:
        """Return the panes with commands that have not ended and that no living muxpilot looks after."""
        owners = tmux.streams.journals.owners
        return list(
            dict.fromkeys(
                pane
                for pane, recorded in await self.list_all(tmux)
                if recorded.end is None
                and owners is not None
                and owners.state(recorded.owner) is not OwnerState.ALIVE
            )
        )

    async def restore(self, tmux: Tmux, pane: PaneId, recorded: RecordedCommand) -> Command:
        """Return a command that has ended, or whose pane is gone, with the output that is still kept."""
        command = self._begin(tmux, pane, recorded)
        replay = await self._replay(tmux, command, recorded)
        if recorded.end is not None:
            return _end_as_recorded(self._begin(tmux, pane, recorded), recorded.end, command.output)
        if not command.status.is_final:
            await self._end_with_pane(tmux, command, replay)
        await self._write_end(tmux, command)
        return command

    def _begin(self, tmux: Tmux, pane: PaneId, recorded: RecordedCommand) -> Command:
        """Return a command as it was asked for, without its end and its output."""
        return restore_command(
            recorded,
            tmux.socket,
            pane=pane,
            output_limit=self._output_limit,
            trace=self._trace.child(server=tmux.socket, pane=pane),
        )

    async def _write_end(self, tmux: Tmux, command: Command) -> None:
        """Write down how a command ended, for the muxpilots after this one."""
        folder, owners = await tmux.streams.journals.pane_folder(command.pane), tmux.streams.journals.owners
        if folder is None or owners is None:
            return
        try:
            log = PaneLog(folder, owners, command.trace, limits=self._limits)
        except OSError as error:
            command.trace.warning("the end of the command cannot be written down", error=error)
            return
        log.take_news()
        log.end(command.id, end_of(command, JournalPlace("", command.end_offset or 0)))
        log.close()

    async def _replay(self, tmux: Tmux, command: Command, recorded: RecordedCommand) -> CommandReplay | None:
        if not recorded.typed:
            return None
        stream = await self._find_stream(tmux, command.pane, recorded.typed[0].place.journal)
        if stream is None:
            command.output.note_lost(1, NOT_HELD)
            return None
        command.find_end_time = stream.written_at
        try:
            replay = CommandReplay(command, recorded, stream)
        except DAMAGES as error:
            command.trace.warning("records of shells are damaged", error=error)
            command.output.note_lost(1, "the records of its shell are damaged")
            return None
        await replay.run()
        return replay

    async def _find_stream(self, tmux: Tmux, pane: PaneId, journal: str) -> PaneStream | None:
        known = tmux.streams.find_stream(pane)
        if known is not None and known.name == journal:
            # Over ssh the record comes by another way than the output, and may be here first.
            with suppress(MuxpilotError):
                await tmux.streams.catch_up(pane)
            return known
        with suppress(MuxpilotError, OSError):
            return await tmux.streams.read_ended(pane, journal)
        return None

    async def _end_with_pane(self, tmux: Tmux, command: Command, replay: CommandReplay | None) -> None:
        """End a command whose pane is dead or gone; with the pane's status if its shell was the outermost."""
        end = await _find_exit(tmux, command.pane)
        status = end.status if end is not None and end.signal is None else None
        if replay is not None and replay.is_in_outermost and status is not None:
            command.finish(status, "The shell ended with it, and the pane is closed.")
        elif replay is None and not command.ran_in:
            command.mark_lost(f"{_GONE} It was not run.", cause="pane-ended")
        else:
            command.mark_lost(_GONE, cause="pane-ended")

    def _read(self, tmux: Tmux, folder: Path) -> PaneLog:
        trace = self._trace.child(server=tmux.socket, pane=_pane_of(folder))
        log = PaneLog(folder, None, trace, limits=self._limits)
        log.take_news()
        log.close()
        if log.read_failure is not None:
            raise Unavailable(
                f"The records of pane {_pane_of(folder)} cannot be read: {log.read_failure}.",
                f"See what is at {folder / RECORDS_FILE}, and remove it if it is not muxpilot's.",
            )
        return log


async def _find_exit(tmux: Tmux, pane: PaneId) -> ExitStatus | None:
    """Return how the program of a pane has ended: from tmux while it has the pane, else from its hook."""
    with suppress(MuxpilotError):
        row = await tmux.panes.get(pane)
        return ExitStatus(row.exit_code, row.dead_signal) if row.is_dead else None
    return await read_exit(tmux.connection, pane)


def _end_as_recorded(command: Command, end: EndedCommand, output: CommandOutput) -> Command:
    """End a command as its record says, with the output that was read again.

    The command that was read again is another object: where its output is cut, it may have ended otherwise.
    """
    command.output = output
    command.end_as_recorded(end)
    command.reason = end.reason
    output.note_total(end.output_bytes)
    return command


def _pane_of(folder: Path) -> PaneId:
    return PaneId(f"%{folder.name}")
