"""The shells of one pane: they read its stream and run its commands, one after the other.

Commands wait in a queue until the pane's innermost shell is at its prompt with nothing typed there. A
command that has opened a shell (`ssh`, `su`, `bash`) lets the next command go inside it.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Awaitable
from contextlib import AsyncExitStack, suppress

from muxpilot.errors import MuxpilotError, PaneDead
from muxpilot.processes.quick_checks import command_line, processes_below
from muxpilot.processes.shell_openers import find_shell_opener, opens_shell
from muxpilot.shells.command import Command, ShellBinding
from muxpilot.shells.command_phases import CommandStatus
from muxpilot.shells.command_runner import CommandRun
from muxpilot.shells.occupant import Obstacle, describe_waiting_command
from muxpilot.shells.osc133 import MarkKind, ShellMark
from muxpilot.shells.pane_context import CommandTypingLock, PaneContext
from muxpilot.shells.pane_exit import ExitKeeper
from muxpilot.shells.pane_lock import CrossProcessPaneLock
from muxpilot.shells.prompt_ready import PromptWaiter
from muxpilot.shells.shell_binding import BehindProgram, InsideCommand, SameShell
from muxpilot.shells.shell_stack import NestedShell, Phase, ShellStack
from muxpilot.tasks import TaskSet
from muxpilot.timing import ShellTiming
from muxpilot.tmux import Data, End, Gap, Pane, PaneStream, Tmux

_BUG = "muxpilot failed because of a bug; see its log on stderr."
# The command takes the shell's place: the end of the process is its end.
_EXEC = re.compile(r"\s*exec\s")


class PaneShell:
    """A pane that commands run in, from the first command that is submitted to it until the pane ends."""

    def __init__(
        self,
        tmux: Tmux,
        row: Pane,
        typing_lock: CommandTypingLock,
        *,
        nonce: str | None,
        has_hint: bool = False,
        timing: ShellTiming | None = None,
    ) -> None:
        """Take the `nonce` of a shell that we started. `has_hint`: the settings say which shell it is."""
        self.pane = PaneContext(tmux, row, typing_lock, timing=timing)
        self.trace = self.pane.trace
        self._has_hint = has_hint
        self._is_starting = nonce is not None
        self._exit_keeper = ExitKeeper(self.pane, self.mark_ended)
        self._lock = CrossProcessPaneLock(tmux.socket, row, self.trace)
        self._queue: deque[Command] = deque()
        self._waiter: PromptWaiter | None = None
        self._worker: asyncio.Task[None] | None = None
        self._tasks = TaskSet(self.trace)
        self._resources = AsyncExitStack()
        if nonce is not None:
            self.pane.scanner.nonces.add(nonce)

    @property
    def stack(self) -> ShellStack:
        return self.pane.stack

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
        """Return the commands of the queue that hold up the next one. The worker removes the others."""
        return [
            command
            for command in self._queue
            if not command.status.is_final and command.waiting_for != "shell"
        ]

    async def open(self) -> None:
        """Read the pane's stream, from its first byte on where we have it."""
        pane = self.pane
        if self._is_starting:
            pane.activity.restart_silence()
        stream = await self._resources.enter_async_context(pane.tmux.streams.open(pane.pane))
        pane.stream = stream
        is_own = pane.tmux.streams.is_own_pane(pane.pane)
        begin, end = stream.start if is_own else stream.end, stream.end
        pane.activity.read_offset = begin
        self._exit_keeper.watch_process()
        self._tasks.start(self._read(stream, begin), name="read stream")
        await pane.activity.wait_until_read(end, pane.timing.read_stream_s)
        self._drop_replaced_shell()
        self.trace.debug("pane opened", is_own=is_own, shells=len(self.stack.shells))

    def _drop_replaced_shell(self) -> None:
        """Forget the shell of a pane in which a person has started another program since."""
        outermost = self.stack.shells[0] if self.stack.shells else None
        if outermost is not None and not self.pane.is_remote and outermost.pid != self.pane.row.pid:
            self.stack.drop(outermost, "Another program was started in the pane.")
            self._is_starting = False

    async def close(self) -> None:
        """Stop reading, and end all commands of the pane as lost."""
        await self._tasks.close()
        self.mark_ended(None, "muxpilot has stopped")
        await self._exit_keeper.release()
        self._exit_keeper.close()
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
        if front is not None and front.waiting_for not in (None, "rest"):
            changes = front.changes
            self.request_recheck()
            await front.wait_for_change(self.pane.timing.queue_check_s, since=changes)

    def submit(self, command: Command, *, call: int | None = None) -> None:
        """Put a command into the queue. `call` is the number of the call that submits it, for the log."""
        if pending := self._pending_commands:
            command.is_admitted = command.is_admitted or pending[0].status is CommandStatus.RUNNING
            command.reason = f"It waits for the command before it: {pending[0].text[:80]!r}."
        command.trace.debug("command queued", call=call, position=len(self._queue), length=len(command.text))
        self._queue.append(command)
        if self._worker is None or self._worker.done():
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

    async def _read(self, stream: PaneStream, begin: int) -> None:
        """Read the stream until its end. If reading fails, end all that depends on it."""
        try:
            async for event in stream.follow(begin):
                if isinstance(event, Data):
                    self._handle_data(event)
                elif isinstance(event, Gap):
                    self._handle_gap(event)
                elif isinstance(event, End):
                    await self._handle_end(event)
                self.pane.notify()
        except Exception:
            self.mark_ended(None, "muxpilot failed to read it; see its log on stderr")
            raise

    def _handle_data(self, event: Data) -> None:
        self.pane.activity.restart_silence()
        self.pane.activity.read_offset = event.offset + len(event.data)
        for item in self.pane.scanner.feed(event.data, event.offset):
            if isinstance(item, ShellMark):
                self.stack.feed_mark(item)
                self._after_mark(item)
            else:
                self.stack.feed_text(item)

    def _handle_gap(self, event: Gap) -> None:
        self.trace.debug("gap in the stream", lost=event.lost_bytes, reason=event.reason)
        for shell in self.stack.shells:
            shell.enter(Phase.UNKNOWN, why="a gap in the stream")
            if shell.command is not None:
                shell.command.output.lost_bytes += event.lost_bytes or 1

    async def _handle_end(self, event: End) -> None:
        self.stack.feed_text(self.pane.scanner.flush())
        if event.status is not None:
            await self._exit_keeper.recover_output()
        self.mark_ended(event.status, event.reason, signal=event.signal)
        await self._exit_keeper.close_dead_remote_pane()

    def _after_mark(self, mark: ShellMark) -> None:
        shell = self.stack.innermost
        if shell is None:
            return
        if mark.kind is MarkKind.STATUS:
            self._expect_prompt(shell)
        elif mark.kind is MarkKind.PROMPT and shell.line.is_unconfirmed:
            self._tasks.start(_end_on_failure(self._confirm_line(shell), shell), name="confirm line")
        elif mark.kind is MarkKind.LOADED:
            self.pane.note_image(shell)

    async def _confirm_line(self, shell: NestedShell) -> None:
        """Confirm that the command was ours if nothing follows its prompt.

        Then the shell waits there, and has read all that was typed.
        """
        activity = self.pane.activity
        await asyncio.sleep(self.pane.timing.confirm_s)
        while shell.line.is_unconfirmed and shell.phase is Phase.TYPED and activity.end_reason is None:
            offset = activity.read_offset
            await self._wait_until_all_read()
            if activity.read_offset == offset:
                self.stack.confirm_line(shell)
                self.pane.notify()
                return

    def _expect_prompt(self, shell: NestedShell) -> None:
        """End the command after a while even if its prompt has lost its mark."""

        def check() -> None:
            """Finish the command if no prompt has come."""
            is_late = shell.phase is Phase.FINISHED and not shell.line.untyped_lines
            if is_late and self.end_reason is None:
                work = _end_on_failure(self._finish_without_prompt(shell), shell)
                self._tasks.start(work, name="finish without prompt")

        asyncio.get_running_loop().call_later(self.pane.timing.prompt_after_status_s, check)

    async def _finish_without_prompt(self, shell: NestedShell) -> None:
        """End a command whose prompt takes its time, or has lost its mark, once the shell reads."""
        await self._wait_until_all_read()
        if shell.phase is Phase.FINISHED:
            shell.enter(Phase.UNKNOWN, why="no prompt mark came after the status")
            self.stack.finish_command(shell)
            self.pane.notify()

    async def _wait_until_all_read(self) -> None:
        """Wait until the shell reads, and all that it printed has arrived."""
        with suppress(MuxpilotError):  # the next request to the pane meets the same error
            await self.pane.wait_until_shell_reads()
            await self.pane.sync_with_tmux()

    async def _work(self) -> None:
        """Run the commands of the queue."""
        while self._queue:
            command = self._queue[0]
            try:
                waiter = self._waiter = PromptWaiter(
                    self.pane, self._lock, is_starting=self._is_starting, has_hint=self._has_hint
                )
                shell = await waiter.wait_for_prompt(command)
                if shell is not None:
                    self._is_starting = False
                    command.ran_in = shell.id
                    await self._run(shell, command)
            except MuxpilotError as error:
                if self.pane.is_remote and isinstance(error, PaneDead):
                    # The pane's stream tells how it ended.
                    await self.pane.activity.wait_until(lambda: False, self.pane.timing.remote_end_s)
                command.mark_lost(str(error), cause=error.code)
            except Exception as error:  # noqa: BLE001 - a bug must not end the pane's queue
                command.trace.error("command failed because of a bug in muxpilot", error=error)
                command.mark_lost(_BUG, cause="bug")
            finally:
                self._lock.release()
                self.withdraw(command)

    async def _run(self, shell: NestedShell, command: Command) -> None:
        is_outermost = shell is self.stack.shells[0]
        if is_outermost:
            await self._exit_keeper.keep_pane()
        await CommandRun(self.pane, shell, command).run()
        if is_outermost and command.status.is_final:
            self._exit_keeper.release_soon()


async def _end_on_failure(work: Awaitable[None], shell: NestedShell) -> None:
    """Do the work. If it fails because of a bug, end the shell's command: callers wait for it."""
    try:
        await work
    except Exception:
        if shell.command is not None:
            shell.command.mark_lost(_BUG, cause="bug")
        raise
