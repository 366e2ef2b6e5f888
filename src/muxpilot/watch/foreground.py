"""The foreground program of a pane over time, and whether a command has ended, as the system shows it."""

from __future__ import annotations

from muxpilot.errors import MuxpilotError
from muxpilot.processes.identity import process_exists
from muxpilot.processes.quick_checks import activity_signature, foreground_group_of, reaped_children
from muxpilot.processes.state import ForegroundState, read_state
from muxpilot.timing import WatchTiming
from muxpilot.tmux import Pane
from muxpilot.trace import Trace


class ForegroundTracker:
    """Reads the state of one pane as rarely as possible, and remembers what was in the foreground."""

    def __init__(
        self, pane: Pane, timing: WatchTiming, trace: Trace, *, command_pid: int | None = None
    ) -> None:
        """Track a pane. `command_pid` is the program that was in the foreground when the watch began."""
        self.state: ForegroundState | None = None
        self._pane = pane
        self._timing = timing
        self._trace = trace
        self._shell_pid: int | None = None  # of the shell that was at its prompt first
        self._command_pid = command_pid  # of the program that was in its place
        self._first_pid = command_pid
        self._signature: object = None
        self._checked_at = 0.0
        self._has_new_line = False
        self._reaped: int | None = None

    def note_output(self, data: bytes, now: float) -> None:
        """Note which process group is in the foreground now and then while output comes.

        A command that prints all the time is never silent, and its state would never be read.
        """
        self._has_new_line = self._has_new_line or b"\n" in data
        is_due = now >= self._checked_at + self._timing.foreground_check_s
        if self._pane.remote_shell is None and self._shell_pid is not None and is_due:
            self._checked_at = now
            group = foreground_group_of(self._pane.pid)
            if group is not None and group != self._shell_pid:
                self._command_pid = group

    async def check(self) -> ForegroundState | None:
        """Return the state, or None if no process of the pane used CPU since the last check."""
        signature = activity_signature(self._pane.pid) if self._pane.remote_shell is None else None
        if self.state is not None and signature is not None and signature == self._signature:
            self._trace.debug("state not read", reason="no process of the pane used CPU since the last check")
            return None
        self._signature = signature
        try:
            self.state = await read_state(self._pane)
        except MuxpilotError as error:
            self._trace.debug("state not read", reason=type(error).__name__)
            return None  # the other host does not answer now
        if self._command_pid is None and self.state.is_known:
            self._note_state(self.state)
        return self.state

    def _note_state(self, state: ForegroundState) -> None:
        """Note which command runs, while none is known yet."""
        if not state.is_at_shell_prompt:
            self._command_pid = state.foreground_pid
        elif self._shell_pid is None:
            self._shell_pid, self._reaped = state.foreground_pid, self._count_reaped(state.foreground_pid)
        elif self._has_new_line and self._count_reaped(self._shell_pid) != self._reaped:
            # The command ran between two checks, but the shell has waited for a child.
            self._command_pid = self._shell_pid

    @property
    def has_moved_on(self) -> bool:
        """Return whether a line has ended since the beginning, or the first program is not in front now."""
        is_first = self._first_pid is None or self.state is None or self._first_pid in self.state.group
        return self._has_new_line or not is_first

    def has_command_ended(self) -> bool:
        """Return whether the first shell is at its prompt again, and the command that ran is gone."""
        state = self.state
        if state is None or self._command_pid is None or not state.is_at_shell_prompt:
            return False
        if self._shell_pid is not None and state.foreground_pid != self._shell_pid:
            return False  # another shell, inside the command
        if self._command_pid == state.foreground_pid or self._pane.remote_shell is not None:
            return True
        return not process_exists(self._command_pid)

    def _count_reaped(self, pid: int | None) -> int | None:
        return reaped_children(pid) if pid is not None and self._pane.remote_shell is None else None
