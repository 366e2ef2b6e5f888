"""What the parts that work on one pane share: its shells, its stream, its activity, and how to ask it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from muxpilot.processes.identity import ProcessIdentity
from muxpilot.processes.proc import OpenStatFiles
from muxpilot.processes.quick_checks import is_in_foreground, program_image
from muxpilot.processes.state import ForegroundState, read_state
from muxpilot.processes.stopped_jobs import list_stopped_children
from muxpilot.shell_table import KEY
from muxpilot.shells.command import Command
from muxpilot.shells.echo import shows_text
from muxpilot.shells.nested_shell import NestedShell
from muxpilot.shells.osc133 import MarkScanner
from muxpilot.shells.pane_activity import PaneActivity
from muxpilot.shells.shell_phases import Phase
from muxpilot.shells.shell_stack import ShellStack
from muxpilot.terminal.prompt_signs import text_typed_after
from muxpilot.timing import ShellTiming
from muxpilot.tmux import Pane, PaneId, PaneStream, Tmux
from muxpilot.trace import area

if TYPE_CHECKING:
    from muxpilot.shells.shared_commands import SharedCommands

# Commands that resume a stopped job.
_RESUMES = re.compile(r"\s*(fg\b|%)")
# What shells print when a job is stopped; each at the end of the output.
_STOP_NOTICE = re.compile(
    r"(?i)((^|\^Z)\[\d+\].*(stopped|suspended)|: suspended |Job \d+, .* has stopped)[^\n]*\s*\Z", re.MULTILINE
)
_NOTICE_BYTES = 400
# A command that leaves a job in the background, whose notice would look the same.
_BACKGROUND = re.compile(r"(?<![&<>])&(?![&>])")

# Returns a context in which no other caller of this muxpilot types into the pane.
PaneTypingLock = Callable[[Tmux, PaneId], AbstractAsyncContextManager[None]]


class CommandPaneLock(Protocol):
    """The same for commands, to type or to be submitted. `holder` names the command or call in the log."""

    def __call__(self, tmux: Tmux, pane: PaneId, *, holder: str) -> AbstractAsyncContextManager[None]: ...


class PaneContext:
    """A pane with shells in it, for the parts that wait for its prompt, load marks and run commands."""

    def __init__(
        self, tmux: Tmux, row: Pane, typing_lock: CommandPaneLock, *, timing: ShellTiming | None = None
    ) -> None:
        self.tmux = tmux
        self.row = row
        self.typing_lock = typing_lock
        self.timing = timing or ShellTiming()
        self.trace = area("shells").child(server=tmux.socket, pane=row.id)
        self.activity = PaneActivity()
        self.scanner = MarkScanner()
        self.stack = ShellStack(
            self.scanner,
            has_stopped_job=self._has_stopped_job,
            timing=self.timing,
            trace=self.trace,
        )
        self.stream: PaneStream | None = None
        self._stopped_children: set[ProcessIdentity] = set()  # that commands before have left
        # Held while output is looked at, and while a line is typed: so it is certain which came first.
        self.reading = asyncio.Lock()
        self.stat_files = OpenStatFiles()  # closed while nothing runs in the pane
        self.shared_commands: SharedCommands  # set when the pane is opened

    @property
    def pane(self) -> PaneId:
        return self.row.id

    @property
    def is_remote(self) -> bool:
        """Return whether the pane's tmux is on another host, where we cannot ask its kernel."""
        return self.row.remote_shell is not None

    def hold_typing(self, holder: str) -> AbstractAsyncContextManager[None]:
        return self.typing_lock(self.tmux, self.row.id, holder=holder)

    def notify(self) -> None:
        """Wake all tasks that wait for a change of the pane or of a command in it."""
        for shell in self.stack.shells:
            if shell.command is not None:
                shell.command.notify_change()
        # After the commands: a caller is answered before the worker of the pane goes on.
        self.activity.notify()

    def expect_shell(self, nonce: str, *, inside: str) -> None:
        """Take marks with this nonce for ours. Their shell is inside the one with the nonce `inside`."""
        self.scanner.nonces.add(nonce)
        self.stack.outer_nonces[nonce] = inside

    async def read_state(self) -> ForegroundState:
        """Return what the system says the foreground program does. The event loop runs meanwhile."""
        return await read_state(self.row)

    def is_in_foreground(self, shell: NestedShell) -> bool | None:
        """Return whether a shell has the terminal to itself; None where the system does not say."""
        if self.is_remote:
            return None
        is_in_front = is_in_foreground(shell.pid, self.row.pid, proc=self.stat_files)
        # A shell of another host, inside ssh, never had an image. One that has none any more has ended.
        has_ended = is_in_front is None and shell.image is not None and program_image(shell.pid) is None
        return False if has_ended else is_in_front

    def _has_stopped_job(self, shell: NestedShell, command: Command) -> bool:
        """Return whether a job of this command was stopped: its status alone may be any program's own.

        On this host the job is a stopped child of the shell, begun by this command unless that resumes one.
        On another host only the shell's notice shows it. ksh93 and mksh report status 0 with a notice, fish
        the status of the command before.
        """
        needs_notice = shell.status == 0 or shell.kind.keeps_status_at_stop
        may_be_notice = shell.kind.reports_stop_as_success and not _BACKGROUND.search(command.text)
        if needs_notice and not may_be_notice:
            return False
        has_notice = bool(_STOP_NOTICE.search(command.output.excerpt(_NOTICE_BYTES)[0]))
        if needs_notice and not has_notice:
            return False
        has_child = has_notice if self.is_remote else self._has_stopped_child(shell, command)
        if has_child is None:
            has_child = has_notice
        shell.trace.debug("a job may be stopped", status=shell.status, is_stopped=has_child)
        return has_child

    def _has_stopped_child(self, shell: NestedShell, command: Command) -> bool | None:
        """Return whether this command, and none before it, has left a stopped child of the shell."""
        is_resumed = bool(_RESUMES.match(command.text))
        began_at = 0.0 if is_resumed else shell.line.began_at
        found = list_stopped_children(shell.pid, began_at=began_at)
        if found is None:
            return None
        new = [child for child in found if is_resumed or child not in self._stopped_children]
        self._stopped_children.update(new)
        return bool(new)

    def is_replaced(self, shell: NestedShell) -> bool:
        """Return whether another program has taken the shell's place, in the same process."""
        image = None if self.is_remote else program_image(shell.pid)
        return shell.image is not None and image is not None and image != shell.image

    def note_image(self, shell: NestedShell) -> None:
        if not self.is_remote:
            shell.image = program_image(shell.pid)

    def text_after_prompt(self, shell: NestedShell) -> str:
        """Return the text that the stream shows after a shell's prompt."""
        stream, offset = self.stream, shell.prompt.offset
        since = stream.read(offset, stream.end) if stream is not None else b""
        if stream is None or not since:
            return ""
        return text_typed_after(stream.read(stream.line_start(offset), offset), since)

    def may_have_typed_text(self, shell: NestedShell) -> bool:
        """Return whether text may be typed at a shell's prompt, also while its line is drawn again."""
        prompt = shell.prompt
        is_drawn_again = prompt.typed_length != 0 or shows_text(bytes(prompt.since))
        return is_drawn_again or bool(self.text_after_prompt(shell))

    async def ask_typed_length(self, shell: NestedShell) -> int | None:
        """Press the private key. Return how much is typed at the prompt, or None if the shell is silent.

        bash removes the line before it answers, and draws it again after that. Wait until it is drawn.
        """
        shell.prompt.typed_length = None
        await self.tmux.input.send_bytes(self.pane, KEY)
        await self.activity.wait_until(
            lambda: shell.prompt.typed_length is not None or shell.phase is Phase.RUNNING,
            self.timing.key_answer_s,
        )
        shell.trace.debug("private key pressed", typed_length=shell.prompt.typed_length)
        await self._wait_until_drawn(shell)
        return shell.prompt.typed_length

    async def ask_prompt_number(self, shell: NestedShell) -> int | None:
        """Press the private key. Return the number of the shell's last prompt, or None if it is silent."""

        def has_answered() -> bool:
            return shell.prompt.typed_length is not None

        shell.prompt.typed_length, shell.is_end_asked = None, True
        try:
            await self.tmux.input.send_bytes(self.pane, KEY)
            await self.activity.wait_until(has_answered, self.timing.key_answer_s)
            await self.wait_for_redraw()
        finally:
            shell.is_end_asked = False
        return shell.order.serial if has_answered() else None

    async def _wait_until_drawn(self, shell: NestedShell) -> None:
        """Wait until text that is typed at a shell's prompt is shown there."""
        if shell.prompt.typed_length and shell.phase is Phase.PROMPT:
            await self.activity.wait_until(
                lambda: shell.phase is not Phase.PROMPT or bool(self.text_after_prompt(shell)),
                self.timing.line_drawn_s,
            )

    async def wait_for_redraw(self) -> None:
        """Wait until the line editor has drawn its line again."""
        await self.activity.wait_for_quiet(self.timing.redraw_quiet_s, self.timing.redraw_quiet_tries)

    async def sync_with_tmux(self) -> None:
        """Wait until all output that tmux had read by now has reached our stream.

        tmux answers a request after the output that came before it. Over ssh that order is not certain.
        """
        if not self.is_remote:
            await self.tmux.panes.get(self.pane)

    async def read_to_stream_end(self) -> None:
        """Wait until all bytes that are in the stream now have been read."""
        if self.stream is not None:
            await self.activity.wait_until_read(self.stream.end, self.timing.read_stream_s)

    async def read_all_output(self) -> None:
        """Wait until all that tmux has read of the pane has reached us and was looked at."""
        if not self.is_remote:
            await self.tmux.streams.catch_up(self.pane, is_exact=True)
            await self.read_to_stream_end()

    async def wait_until_shell_reads(self) -> None:
        """Wait until the shell reads its terminal.

        Some shells print the prompt before they turn the echo off. A line typed earlier is echoed twice.
        """
        timing = self.timing
        for _ in range(timing.shell_reads_tries):
            if self.activity.silence_s() > timing.shell_reads_s:
                return
            state = await self.read_state()
            # Between two programs none is in the foreground.
            is_between = state.foreground_pid is None and not self.is_remote
            if state.waiting_for == "shell" or not (state.is_known or is_between):
                return
            await asyncio.sleep(timing.shell_reads_s / timing.shell_reads_tries)

    async def interrupt(self, command: Command, shell: NestedShell | None) -> None:
        """Write down that a command in a shell is cancelled, press Ctrl-C, and wait for its end."""
        command.is_cancelled = True
        self.shared_commands.log.cancel(command.id)
        command.trace.debug("command interrupted with Ctrl-C")
        await self.tmux.input.press(self.pane, "C-c")
        if command.waiting_for == "rest" and shell is not None and shell.kind.drops_early_keys:
            # Our private key may still run its key binding there.
            await command.wait_for_end(self.timing.interrupt_again_s)
            if command.ended_at is None:
                await self.tmux.input.press(self.pane, "C-c")
        await command.wait_for_end(self.timing.interrupt_s)

    async def clear_line(self, shell: NestedShell) -> None:
        """Press Ctrl-C until the prompt is back.

        fish ignores keys while a key binding runs, so it needs several. Other shells take each of them,
        however late: one too many would interrupt the next command.
        """
        times = self.timing.clear_line_tries if shell.kind.drops_early_keys else 1
        for _ in range(times):
            shell.trace.debug("line cleared with Ctrl-C")
            await self.tmux.input.press(self.pane, "C-c")
            await self.activity.wait_until(
                lambda: shell.phase is Phase.PROMPT, self.timing.clear_line_s / times
            )
            if shell.phase is Phase.PROMPT:
                return
