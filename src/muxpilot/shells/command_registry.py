"""All commands that were submitted, and the panes that they run in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from muxpilot.errors import PaneDead, Refused
from muxpilot.shells.command import Command
from muxpilot.shells.command_archive import CommandArchive
from muxpilot.shells.command_finder import CommandFinder
from muxpilot.shells.command_output import CommandOutput
from muxpilot.shells.command_phases import CommandStatus
from muxpilot.shells.command_policy import CommandPolicy
from muxpilot.shells.half_typed import AgentLines
from muxpilot.shells.known_commands import KnownCommands, command_not_found
from muxpilot.shells.pane_commands import PaneCommands
from muxpilot.shells.pane_context import CommandPaneLock
from muxpilot.shells.pane_log import RecordLimits
from muxpilot.shells.told_commands import ToldCommands
from muxpilot.shells.type_command import validate_command
from muxpilot.timing import ShellTiming
from muxpilot.tmux import PaneId, Tmux

# Raises Denied if a key may not be pressed in a pane.
CheckKeyPress = Callable[[Tmux, PaneId], Awaitable[None]]

OUTPUT_LIMIT_BYTES = 64 << 20


class CommandRegistry:
    """The commands and panes of one muxpilot. Closing it ends them all."""

    def __init__(
        self,
        typing_lock: CommandPaneLock,
        submission_lock: CommandPaneLock,
        *,
        output_limit_bytes: int = OUTPUT_LIMIT_BYTES,
        limits: RecordLimits | None = None,
        has_hint: bool = False,
        timing: ShellTiming | None = None,
    ) -> None:
        """Take the limits. `has_hint`: the settings say which shell is in panes where detection fails."""
        self.timing = timing or ShellTiming()
        self._typing_lock = typing_lock
        self._submission_lock = submission_lock
        self._output_limit_bytes = output_limit_bytes
        self.keeps_colours = False  # in the output of new commands: for a terminal, never for a tool's answer
        self._has_hint = has_hint
        self._panes: dict[tuple[str, PaneId], PaneCommands] = {}
        self.agent_lines = AgentLines()
        self._limits = limits or RecordLimits()
        self.told_commands = ToldCommands()
        self._known = KnownCommands(
            self._limits, self.told_commands, forget_every_s=self.timing.forget_every_s
        )
        self.archive = CommandArchive(output_limit_bytes, self._limits)
        self.finder = CommandFinder(self, self._known, self.archive)
        self.policy = CommandPolicy()
        self._opening = asyncio.Lock()

    async def submit(
        self,
        tmux: Tmux,
        pane: PaneId,
        text: str,
        *,
        delay_s: float = 0.0,
        may_queue: bool = False,
        prepare: Callable[[Command], None] | None = None,
        call: int | None = None,
    ) -> Command:
        """Queue a command for a pane. It runs when the pane's shell takes it. `call` is for the log.

        Raise Refused within a second if something else is in front, unless the caller wants to wait
        (`may_queue`). Behind commands of ours that do not wait for input it is always queued. `prepare` is
        called with the command before it can begin.
        """
        text = validate_command(text)
        async with self._submission_lock(tmux, pane, holder=f"call-{call}"):
            shell = await self.open_pane(tmux, pane)
            await tmux.streams.reconnect(pane)  # or the end of the command would not be seen
            shape, limit = shell.pane.row.shape, self._output_limit_bytes
            output = CommandOutput(shape, limit, keeps_colours=self.keeps_colours)
            command = Command(tmux.socket, pane, text, output, delay_s, may_queue=may_queue)
            command.trace = shell.trace.child(command=command.id)
            await self._bind(shell, command)
            self._known.forget_old(is_exact=False)
            self._known.add(command)
            if prepare is not None:
                prepare(command)
            shell.submit(command, call=call)
        await self._wait_for_admission(command)
        return command

    async def _bind(self, shell: PaneCommands, command: Command) -> None:
        """Decide which shell the command is meant for. Raise Refused if what is in front waits for input."""
        occupant = shell.find_occupant()
        if occupant is not None and not command.may_queue:
            await shell.recheck_front()
            occupant = shell.find_occupant()
        if occupant is not None and not command.may_queue:
            command.trace.debug("command refused", obstacle=occupant.text)
            raise occupant.to_refusal(command.pane)
        is_behind_other = command.may_queue and (occupant is not None or shell.is_idle)
        command.is_admitted = command.may_queue
        command.binding = await shell.bind_to_front() if is_behind_other else shell.bind_to_queue()
        command.trace.debug("command bound", binding=type(command.binding).__name__)

    async def _wait_for_admission(self, command: Command) -> None:
        """Wait until it is known that the pane takes the command; raise Refused if it is occupied."""
        await asyncio.sleep(0)  # let the queue go first: it types most commands at once
        deadline = time.monotonic() + self.timing.admission_s
        while command.status is CommandStatus.QUEUED and not command.is_admitted:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return
            await command.wait_for_change(left_s, since=command.changes)
        self._raise_refusal(command)

    def _raise_refusal(self, command: Command) -> None:
        if command.refusal is not None:
            self._known.remove(command.id)
            raise command.refusal

    async def wait_for_result(self, command: Command, timeout_s: float) -> bool:
        """Wait as `wait_until_done_or_waiting` does. Raise Refused if the pane turns out to be occupied.

        The command may be queued behind one of ours that begins to wait for input, or behind a shell that
        takes long to start. After the call has returned, the command stays in the queue.
        """
        deadline = time.monotonic() + timeout_s
        while command.status is CommandStatus.QUEUED and not command.may_queue:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                break
            await command.wait_for_change(min(left_s, self.timing.queue_check_s), since=command.changes)
            shell = self.find_pane_of(command)
            occupant = shell.find_occupant(command) if shell is not None else None
            if occupant is not None and shell is not None and command.status is CommandStatus.QUEUED:
                shell.withdraw(command)
                command.refuse(occupant.to_refusal(command.pane))
            self._raise_refusal(command)
        command.is_admitted = True
        return await self.wait_until_done_or_waiting(command, max(0.0, deadline - time.monotonic()))

    def find_server(self, command: Command) -> Tmux | None:
        """Return the tmux server of a command's pane, if that is open."""
        shell = self.find_pane_of(command)
        return shell.pane.tmux if shell is not None else None

    async def open_pane(self, tmux: Tmux, pane: PaneId) -> PaneCommands:
        """Return the shells of a pane, and follow them from now on."""
        known = self.find_pane(tmux, pane)
        if known is not None:
            await known.note_replacement()
            if known.end_reason is None:
                return known
        row = await tmux.panes.get(pane)
        if row.is_dead:
            raise PaneDead(f"The program of pane {pane!r} has ended.")
        async with self._opening:
            known = self.find_pane(tmux, pane)
            if known is not None and known.end_reason is None:
                return known
            await self._close_ended_panes()
            shell = PaneCommands(
                tmux,
                row,
                self._typing_lock,
                nonce=tmux.startups.find_nonce(pane),
                output_limit=self._output_limit_bytes,
                limits=self._limits,
                may_run=lambda text: self.policy.may_run(tmux, pane, text),
                on_command=self._known.add_foreign,
                on_refused=lambda command: self._known.remove(command.id),
                has_hint=self._has_hint,
                timing=self.timing,
            )
            await shell.open()
            self._panes[tmux.socket, pane] = shell
            return shell

    def find_pane(self, tmux: Tmux, pane: PaneId) -> PaneCommands | None:
        """Return the shells of a pane, if it was opened."""
        return self._panes.get((tmux.socket, pane))

    def find_pane_of(self, command: Command) -> PaneCommands | None:
        """Return the shells of a command's pane, if that is open."""
        return self._panes.get((command.socket, command.pane))

    def get_command(self, command_id: str) -> Command:
        """Return a command that this muxpilot knows; raise BadInput if it does not."""
        self._known.forget_old()
        command = self._known.find(command_id)
        if command is None:
            raise command_not_found(command_id)
        return command

    def list_commands(self, socket: str | None = None, pane: PaneId | None = None) -> Sequence[Command]:
        """Return all commands that are kept; those of one server, or of one pane there."""
        self._known.forget_old()
        return self._known.list(socket, pane)

    async def wait_until_done_or_waiting(self, command: Command, timeout_s: float) -> bool:
        """Wait until a command has ended or waits for input. Return False if neither happened in time."""
        deadline = time.monotonic() + timeout_s
        while not command.status.is_final and command.waiting_for is None:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                command.trace.debug("wait for the command timed out", timeout_s=timeout_s)
                return False
            await command.wait_for_change(left_s)
        return True

    async def recheck_and_wait(self, command: Command, timeout_s: float) -> bool:
        """Wait as above for a command that was said to wait: it may have got its answer meanwhile."""
        shell = self.find_pane_of(command)
        if shell is not None and command.is_foreign:
            shell.watch_foreign(command)
        if timeout_s and shell is not None and command.waiting_for not in (None, "shell", "rest"):
            await command.wait_for_change(min(timeout_s, self.timing.answer_arrival_s))
            command.set_waiting(None, None)
            shell.request_recheck()
        elif command.waiting_for is not None:
            # The shell inside may be about to exit.
            await command.wait_for_end(min(timeout_s, self.timing.inner_shell_exit_s))
        return await self.wait_until_done_or_waiting(command, timeout_s)

    def add_untracked(self, tmux: Tmux, pane: PaneId, text: str) -> Command:
        """Record a text that was only typed, whose result is not known."""
        command = Command(tmux.socket, pane, text, CommandOutput(), status=CommandStatus.RUNNING)
        command.reason = "The text was only typed; nothing of it is tracked."
        command.is_tracked, command.ended_at = False, command.submitted_at
        self._known.add(command)
        return command

    async def cancel(self, command: Command, check_key_press: CheckKeyPress) -> None:
        """Take a command out of the queue, or interrupt it with Ctrl-C, if a key may be pressed there."""
        shell = self.find_pane_of(command)
        if not command.is_tracked:
            raise Refused("The command was only typed, and is not tracked.", "Press C-c with send-keys.")
        if command.status.is_final or shell is None:
            return
        place = shell.find_shell(command)
        if place is not None and place is not shell.stack.innermost:
            raise Refused(
                "The command has opened a shell, in which Ctrl-C would interrupt something else.",
                "Run exit there with execute-command.",
            )
        if self.withdraw(command):
            return
        await check_key_press(shell.pane.tmux, command.pane)
        if command.ended_at is not None:  # meanwhile: Ctrl-C would reach what runs after it
            return
        await shell.pane.interrupt(command, place)

    def withdraw(self, command: Command) -> bool:
        """Take a command out of the queue. Return whether it had not begun."""
        shell = self.find_pane_of(command)
        if command.status is not CommandStatus.QUEUED or shell is None:
            return False
        command.is_cancelled = True
        shell.shared_commands.claim(command)
        shell.withdraw(command)
        command.mark_lost("The command was cancelled before it began.")
        return True

    async def prepare_end(self) -> None:
        """Leave panes in which commands run to their hooks. Call it while tmux still answers."""
        await asyncio.gather(*(shell.exit_keeper.prepare_end() for shell in self._panes.values()))

    async def close(self) -> None:
        """Stop following all panes, and end all commands."""
        panes, self._panes = self._panes, {}
        await asyncio.gather(*(shell.close() for shell in panes.values()))
        self._known.close()

    async def _close_ended_panes(self) -> None:
        for key in [key for key, shell in self._panes.items() if shell.end_reason is not None]:
            await self._panes.pop(key).close()
