"""The commands of one pane: they wait for its prompt, and run one after the other.

Commands wait in a queue until the pane's innermost shell is at its prompt with nothing typed there. A
command that has opened a shell (`ssh`, `su`, `bash`) lets the next command go inside it. The queue has the
commands that this muxpilot is responsible for; `SharedCommands` knows those of all muxpilots.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress

from muxpilot.errors import MuxpilotError, NotFound, PaneDead
from muxpilot.processes.quick_checks import command_line, processes_below
from muxpilot.processes.shell_openers import find_shell_opener, opens_shell
from muxpilot.shells.abandoned_commands import AbandonedCommands
from muxpilot.shells.command import Command, ShellBinding
from muxpilot.shells.command_phases import CommandStatus
from muxpilot.shells.command_records import TypingRecord
from muxpilot.shells.command_runner import CommandRun
from muxpilot.shells.nested_shell import NestedShell
from muxpilot.shells.occupant import Obstacle, describe_waiting_command
from muxpilot.shells.output_reader import RecordedLine, ShellOutputReader
from muxpilot.shells.pane_context import CommandPaneLock, PaneContext
from muxpilot.shells.pane_exit import ExitKeeper
from muxpilot.shells.pane_lock import CrossProcessPaneLock
from muxpilot.shells.pane_log import PaneLog, RecordLimits
from muxpilot.shells.pane_recovery import PaneRecovery
from muxpilot.shells.prompt_ready import PromptWaiter
from muxpilot.shells.shared_commands import SharedCommands
from muxpilot.shells.shell_binding import BehindProgram, InsideCommand, SameShell
from muxpilot.shells.shell_stack import ShellStack
from muxpilot.tasks import TaskSet
from muxpilot.timing import ShellTiming
from muxpilot.tmux import End, Pane, Tmux
from muxpilot.tmux.objects.recorded_exit import read_exit
from muxpilot.tmux.streams.stream import STOPPED

_BUG = "muxpilot failed because of a bug; see its log on stderr."
# The command takes the shell's place: the end of the process is its end.
_EXEC = re.compile(r"\s*exec\s")


class PaneCommands:
    """A pane that commands run in, from the first command that is submitted to it until the pane ends.

    `on_command` is called with each command that another muxpilot was asked for, and `on_refused` if that
    one has refused it.
    """

    def __init__(
        self,
        tmux: Tmux,
        row: Pane,
        typing_lock: CommandPaneLock,
        *,
        nonce: str | None,
        output_limit: int,
        limits: RecordLimits,
        may_run: Callable[[str], Awaitable[bool]],
        on_command: Callable[[Command], None],
        on_refused: Callable[[Command], None],
        has_hint: bool = False,
        timing: ShellTiming | None = None,
    ) -> None:
        """Take the `nonce` of a shell that we started. `has_hint`: the settings say which shell it is."""
        self.pane = PaneContext(tmux, row, typing_lock, timing=timing)
        self.trace = self.pane.trace
        self._register = on_command
        self.on_refused = on_refused
        self._output_limit = output_limit
        self._limits = limits
        self._has_hint = has_hint
        self._is_starting = nonce is not None
        self._is_open = False
        self.exit_keeper = ExitKeeper(self.pane, self.mark_ended)
        keep_s = self.pane.timing.release_pane_s
        self._lock = CrossProcessPaneLock(tmux.socket, row, self.trace, keep_s=keep_s)
        self._queue: deque[Command] = deque()
        self._waiter: PromptWaiter | None = None
        self._worker: asyncio.Task[None] | None = None
        self._monitors: dict[str, asyncio.Task[None]] = {}
        self._tasks = TaskSet(self.trace)
        self._resources = AsyncExitStack()
        self._reader = ShellOutputReader(
            self.pane,
            before_data=lambda: self.shared_commands.sync(),
            on_end=self._handle_end,
            on_failure=lambda: self.mark_ended(None, "muxpilot failed to read it; see its log on stderr"),
        )
        self._abandoned = AbandonedCommands(self.pane, self._reader, self, self._tasks, may_run=may_run)
        if nonce is not None:
            self.pane.scanner.nonces.add(nonce)

    @property
    def stack(self) -> ShellStack:
        return self.pane.stack

    @property
    def shared_commands(self) -> SharedCommands:
        return self.pane.shared_commands

    @property
    def end_reason(self) -> str | None:
        """Return why the pane has ended; None while it lives."""
        return self.pane.activity.end_reason

    @property
    def is_idle(self) -> bool:
        """Return whether no command is queued or runs, but those that have opened a shell."""
        return not self._pending_commands

    @property
    def _pending_commands(self) -> list[Command]:
        """Return the commands that hold up the next one, of other muxpilots too.

        Others of the queue are about to be removed.
        """
        shared = self.shared_commands
        return [
            command
            for command in (*shared.list_running_foreign(), *self._queue)
            if not (command.status.is_final or command.waiting_for == "shell" or shared.is_unseen(command))
        ]

    async def open(self) -> None:
        """Read the pane's output, from its first byte on where we have it, and what is known of commands."""
        pane = self.pane
        if self._is_starting:
            pane.activity.restart_silence()
        stream = await self._resources.enter_async_context(pane.tmux.streams.open(pane.pane))
        pane.stream = stream
        log = await self._open_log()
        self._lock.is_shared = log.is_kept
        pane.shared_commands = SharedCommands(pane, log, self, output_limit=self._output_limit)
        recovery = PaneRecovery(pane, self._reader)
        is_own, end = pane.tmux.streams.is_own_pane(pane.pane), stream.end
        begin = await recovery.restore()
        if begin is None:
            begin = stream.start if is_own else stream.end
        else:
            self._is_starting = False
        self.exit_keeper.watch_process()
        self._reader.start(stream, begin)
        await pane.activity.wait_until_read(end, pane.timing.read_stream_s)
        self._drop_replaced_shell()
        self._is_open = True
        await self._abandoned.take_over()
        self.trace.debug("pane opened", is_own=is_own, shells=len(self.stack.shells), begin=begin)

    async def _open_log(self) -> PaneLog:
        """Open the records of the pane; in memory, where they cannot be kept."""
        journals = self.pane.tmux.streams.journals
        folder = await journals.pane_folder(self.pane.pane)
        owners = journals.owners if folder is not None else None
        with suppress(OSError, MuxpilotError):
            if folder is None or owners is not None:
                return PaneLog(folder, owners, self.trace, limits=self._limits)
        self.trace.warning("records of the pane are only read: muxpilots cannot be told apart")
        log = PaneLog(folder, None, self.trace, limits=self._limits)
        log.failure = "muxpilot could not write it down"
        return log

    def on_command(self, command: Command) -> None:
        """Take note of a command that another muxpilot was asked for: it may need us one day."""
        self._register(command)
        if self._is_open:
            self._abandoned.watch_owners()

    def on_typed(self, command: Command, typed: TypingRecord) -> None:
        """Follow a line that another muxpilot types."""
        if self.pane.stream is not None and typed.place.journal == self.pane.stream.name:
            self._reader.add_line(RecordedLine.of(command, typed))

    def on_taken(self, command: Command) -> None:
        """Let another muxpilot have a command of our queue."""
        self.withdraw(command)
        self.pane.notify()

    @property
    def has_queued(self) -> bool:
        """Return whether a command of this muxpilot waits for its turn."""
        return any(command.status is CommandStatus.QUEUED for command in self._queue)

    def adopt(self, command: Command) -> None:
        """Run a command that we took over. Those that run come first, then the order of asking."""
        self._queue.append(command)
        order = sorted(self._queue, key=lambda one: (one.status is CommandStatus.QUEUED, one.submitted_at))
        self._queue = deque(order)
        self._start_worker()

    def watch_foreign(self, command: Command) -> None:
        """Find out what a command of another muxpilot waits for, from now on."""
        shell = self.find_shell(command)
        is_watched = command.id in self._monitors and not self._monitors[command.id].done()
        if shell is not None and command.is_foreign and not is_watched:
            run = CommandRun(self.pane, shell, command)
            self._monitors[command.id] = self._tasks.start(run.watch(), name=f"watch {command.id}")

    def _drop_replaced_shell(self) -> None:
        """Forget the shell of a pane in which a person has started another program since."""
        outermost, pid = self.stack.shells[0] if self.stack.shells else None, self.pane.row.pid
        last = self.shared_commands.log.history.last_typed
        # A shell may have another process than its pane: that of a wrapper, or one on another host.
        is_same = self.pane.is_remote or (last is not None and last.pane_pid == pid)
        if outermost is not None and not is_same and outermost.pid != pid:
            self.stack.drop(outermost, "Another program was started in the pane.")
            self._is_starting = False

    async def close(self) -> None:
        """Stop reading. The commands of the pane go on, and are left to other muxpilots."""
        self.shared_commands.write_ends()
        self.shared_commands.is_closing = True
        await self._reader.close()
        await self._tasks.close()
        is_running = any(shell.command is not None for shell in self.stack.shells[:1])
        self.mark_ended(None, STOPPED)
        if not is_running or not self.exit_keeper.has_hook:  # else the hook keeps how the command ends
            await self.exit_keeper.release()
        self.exit_keeper.close()
        self._lock.close()
        self.shared_commands.log.close()
        self.shared_commands.release()
        await self._resources.aclose()

    async def bind_to_front(self) -> BehindProgram:
        """Return the binding of a command that waits for the program in front, whatever that is."""
        pane, innermost = self.pane, self.stack.innermost
        shells = [shell.id for shell in self.stack.shells]
        state = await pane.read_state()
        pid = state.foreground_pid
        if pid is None or pane.is_remote or (innermost and pane.is_in_foreground(innermost) is not False):
            # The front is the shell itself, or something behind ssh that cannot be seen.
            is_unknown = innermost is None and pid is not None and not pane.is_remote
            return BehindProgram(state.foreground_cmd, shells, [pid] if is_unknown and pid else [])
        if state.is_shell:
            return BehindProgram(state.foreground_cmd, [], [pid])
        below, is_opener = processes_below(pid, pane.row.pid), opens_shell(command_line(pid))
        return BehindProgram(state.foreground_cmd, shells, below, opens_shell=is_opener)

    def bind_to_queue(self) -> ShellBinding | None:
        """Return the binding of a command behind our own: to the same shell, or to the one that is opened."""
        pending = self._pending_commands
        if not pending:
            return None
        before = pending[-1]
        return InsideCommand(before) if find_shell_opener(before.text) else SameShell(before)

    def find_occupant(self, command: Command | None = None) -> Obstacle | None:
        """Return what is in front of the queue's commands, or of one of them, and does not go away."""
        front = next(iter(self._pending_commands), None)
        if front is None or front is command:
            return None
        if front.status is CommandStatus.QUEUED:
            return self._waiter.occupant if self._waiter is not None else None
        is_waiting = front.waiting_for not in (None, "rest")
        return describe_waiting_command(front) if is_waiting else None

    async def recheck_front(self) -> None:
        """Find out what the command in front waits for now: it may have got its answer meanwhile."""
        front = next(iter(self._pending_commands), None)
        deadline = time.monotonic() + self.pane.timing.queue_check_s
        while front is not None and not front.status.is_final and front.waiting_for not in (None, "rest"):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return
            changes = front.changes
            self.request_recheck()
            await front.wait_for_change(left_s, since=changes)  # an echo is a change, and it waits on

    def submit(self, command: Command, *, call: int | None = None) -> None:
        """Put a command into the queue. `call` is the number of the call that submits it, for the log."""
        if pending := self._pending_commands:
            command.is_admitted = command.is_admitted or pending[0].status is CommandStatus.RUNNING
            self.watch_foreign(pending[0])
            command.reason = f"It waits for the command before it: {pending[0].text[:80]!r}."
        command.trace.debug("command queued", call=call, position=len(self._queue), length=len(command.text))
        self._queue.append(command)
        self.shared_commands.add(command)
        self._start_worker()

    def _start_worker(self) -> None:
        if self._queue and (self._worker is None or self._worker.done()):
            self._worker = self._tasks.start(self._work(), name="run commands")

    def withdraw(self, command: Command) -> bool:
        """Take a command out of the queue. Return whether it was there."""
        with suppress(ValueError):
            self._queue.remove(command)
            return True
        return False

    def request_recheck(self) -> None:
        """Find out now what the running command waits for."""
        self.pane.activity.request_recheck()

    def find_shell(self, command: Command) -> NestedShell | None:
        """Return the shell that a command runs in."""
        return next((shell for shell in self.stack.shells if shell.command is command), None)

    def mark_ended(self, status: int | None, reason: str, *, signal: int | None = None) -> None:
        """End all commands, because the pane has ended or is not read any more.

        A shell that a signal has ended says nothing about its command, unless that had taken its place.
        """
        if self.end_reason is None:
            command = self.stack.shells[0].command if self.stack.shells else None
            if signal is not None and not (command is not None and _EXEC.match(command.text)):
                status, reason = None, f"its shell was ended by signal {signal}"
            self.trace.debug("pane ended", status=status, reason=reason, queued=len(self._queue))
            self.pane.activity.end_reason = reason
            self.stack.end_all(status, f"The pane has ended: {reason}.")
            for command in self._queue:
                command.mark_lost(f"The pane has ended: {reason}.", cause="pane-ended")
            self._queue.clear()
            self.pane.notify()

    async def note_replacement(self) -> None:
        """Wait until the end of the pane's program is noted, if another was started in its place.

        Both a respawn by this process and one by another are noticed a moment later.
        """
        stream = self.pane.stream
        if self.exit_keeper.is_reporting or (stream is not None and stream.end_event is not None):
            with suppress(NotFound):
                row = await self.pane.tmux.panes.get(self.pane.pane)
                if not row.is_dead and row.pid not in (self.pane.row.pid, 0):
                    await self.pane.activity.wait_until(lambda: False, self.pane.timing.dead_pane_s)

    async def _handle_end(self, event: End) -> None:
        status, signal = event.status, event.signal
        if event.reason == STOPPED:  # also of a pane that was still being opened: its commands go on
            self.shared_commands.is_closing = True
        if status is not None:
            await self.exit_keeper.recover_output()
        elif (kept := await read_exit(self.pane.tmux.connection, self.pane.pane)) is not None:
            status, signal = kept.status, kept.signal  # by the hook of a muxpilot that is gone
        self.mark_ended(status, event.reason, signal=signal)
        await self.exit_keeper.close_dead_remote_pane()
        with suppress(MuxpilotError):  # tmux may have ended with its last pane
            await self.pane.tmux.input.forget_tickets(self.pane.pane)

    async def _work(self) -> None:
        """Run the commands of the queue."""
        while self._queue:
            command = self._queue[0]
            try:
                await self._run_next(command)
            except MuxpilotError as error:
                if self.pane.is_remote and isinstance(error, PaneDead | NotFound):
                    # The pane's stream tells how it ended.
                    await self.pane.activity.wait_until(lambda: False, self.pane.timing.remote_end_s)
                command.mark_lost(str(error), cause=error.code)
            except Exception as error:  # noqa: BLE001 - a bug must not end the pane's queue
                command.trace.error("command failed because of a bug in muxpilot", error=error)
                command.mark_lost(_BUG, cause="bug")
            finally:
                self._lock.release_soon()
                if command.status is not CommandStatus.QUEUED or command.is_foreign:
                    self.withdraw(command)

    async def _run_next(self, command: Command) -> None:
        """Run a command, or go on with one that another muxpilot has typed."""
        if command.status is CommandStatus.RUNNING:
            await self._resume(command)
            return
        waiter = self._waiter = PromptWaiter(
            self.pane,
            self._lock,
            take_over=self._abandoned.take_over,
            is_next=lambda: bool(self._queue) and self._queue[0] is command,
            has_lines_ahead=lambda: self._reader.has_lines_ahead,
            watch_foreign=self.watch_foreign,
            is_starting=self._is_starting,
            has_hint=self._has_hint,
        )
        shell = await waiter.wait_for_prompt(command)
        if shell is not None:
            self._is_starting = False
            command.ran_in = shell.id
            await self._run(shell, CommandRun(self.pane, shell, command))

    async def _resume(self, command: Command) -> None:
        shell = self.find_shell(command)
        if shell is not None:
            await self._run(shell, CommandRun(self.pane, shell, command), is_typed=True)
        elif not command.status.is_final:
            command.mark_lost("The output of its pane does not show how it ended.", cause="no-marks")

    async def _run(self, shell: NestedShell, run: CommandRun, *, is_typed: bool = False) -> None:
        is_outermost = shell is self.stack.shells[0]
        if is_outermost:
            await self.exit_keeper.keep_pane()
        await (run.resume() if is_typed else run.run())
        if is_outermost and run.is_over:
            self.exit_keeper.release_soon()
