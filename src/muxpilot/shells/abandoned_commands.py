"""Takes over the commands of a pane whose muxpilot is dead, or has been stopped for a while.

A muxpilot that takes a command over writes that down first. From then on a line that the other one writes
down for it is void, and is not typed. So two muxpilots never type the same command, even if the other one
was only stopped and goes on in this moment.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

from muxpilot.errors import MuxpilotError
from muxpilot.shells.command import Command
from muxpilot.shells.command_phases import CommandStatus
from muxpilot.shells.command_records import RecordedCommand, TypingRecord
from muxpilot.shells.output_reader import ShellOutputReader
from muxpilot.shells.pane_context import PaneContext
from muxpilot.shells.pane_recovery import PaneRecovery
from muxpilot.tasks import TaskSet

_DENIED = "Its muxpilot has gone, and the policy of this one does not allow it."
_NOT_RECORDED = "Its muxpilot could not write down whether it has run, and has ended."


class CommandQueue(Protocol):
    """What the queue of a pane does for commands that are taken over."""

    @property
    def has_queued(self) -> bool:
        """Return whether a command of this muxpilot waits for its turn."""

    def adopt(self, command: Command) -> None:
        """Run a command, or go on with one that was typed."""

    def on_typed(self, command: Command, typed: TypingRecord) -> None:
        """Follow a line that another muxpilot has typed."""


class _Taken(NamedTuple):
    command: Command
    recorded: RecordedCommand
    is_denied: bool  # by the policy of this muxpilot


class AbandonedCommands:
    """Finds the abandoned commands of one pane, and gives them to its queue."""

    def __init__(
        self,
        pane: PaneContext,
        reader: ShellOutputReader,
        queue: CommandQueue,
        tasks: TaskSet,
        *,
        may_run: Callable[[str], Awaitable[bool]],
    ) -> None:
        self._pane = pane
        self._reader = reader
        self._queue = queue
        self._tasks = tasks
        self._may_run = may_run
        self._watch: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._taken: deque[_Taken] = deque()  # they are ours, but tmux was not asked about them yet

    async def take_over(self) -> None:
        """Take over all abandoned commands, and look after those of other muxpilots from now on."""
        shared = self._pane.shared_commands
        async with self._lock:
            for recorded in shared.find_abandoned():
                is_denied = recorded.is_queued and not await self._may_run(recorded.text)
                if is_denied and not self._queue.has_queued:
                    self._leave_denied(recorded)
                elif (command := shared.take_over(recorded)) is not None:
                    self._taken.append(_Taken(command, recorded, is_denied))
            if self._has_more:
                self.watch_owners()
            while self._taken:
                await self._continue(self._taken[0])
                self._taken.popleft()

    async def _continue(self, taken: _Taken) -> None:
        """Continue a command that is ours now.

        The last line that its muxpilot wrote down before may still be on its way to tmux.
        """
        command, recorded, is_denied = taken
        recovery = PaneRecovery(self._pane, self._reader)
        if recorded.is_typed:
            await recovery.check_typed(recorded)
        if recorded.is_typed and command.status is CommandStatus.QUEUED:  # typed a moment ago
            command.mark_running()
            self._queue.on_typed(command, recorded.typed[-1])
        if recorded.is_queued and is_denied:  # it holds up commands of ours
            command.mark_lost(_DENIED, cause="denied")
        elif recorded.is_queued and await recovery.may_be_typed():
            command.mark_lost(_NOT_RECORDED, cause="not-recorded")
        else:
            self._queue.adopt(command)

    def _leave_denied(self, recorded: RecordedCommand) -> None:
        """Leave a command that our policy denies to other muxpilots."""
        self._pane.trace.debug("command not taken over: the policy denies it", command=recorded.id)
        if recorded.id in self._pane.shared_commands.known:
            self._pane.shared_commands.known[recorded.id].set_waiting(None, _DENIED)

    def watch_owners(self) -> None:
        """Look now and then whether other muxpilots that are responsible for commands here still live."""
        if self._watch is None or self._watch.done():
            self._watch = self._tasks.start(self._check_owners(), name="check owners")

    @property
    def _has_more(self) -> bool:
        return self._pane.shared_commands.has_foreign or bool(self._taken)

    async def _check_owners(self) -> None:
        pane = self._pane
        while self._has_more and pane.activity.end_reason is None:
            await asyncio.sleep(pane.timing.owner_check_s)
            pane.shared_commands.sync()
            if self._taken or pane.shared_commands.find_abandoned():
                with suppress(MuxpilotError):  # tmux does not answer: we look again
                    await self.take_over()
