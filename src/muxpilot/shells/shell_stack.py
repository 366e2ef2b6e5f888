"""The shells in a pane, one inside the other, as their marks show.

The outermost shell is first; `ssh`, `su` or `bash` typed at its prompt opens another inside it. Each shell
has its own nonce, so a mark shows which of them printed it. When an outer shell prints one, all shells
inside it have ended.

The phases of each shell are in `shell_phases.py`. What a mark does is a function of the bytes read so far and
of what is known of the shells, so that another process that reads the same bytes comes to the same result.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from muxpilot.processes.stopped_jobs import STOPPED_STATUSES
from muxpilot.shell_table import SHELLS, exit_code
from muxpilot.shells.command import Command
from muxpilot.shells.echo import find_echo_end
from muxpilot.shells.nested_shell import NestedShell, restore_shell
from muxpilot.shells.osc133 import NO_SERIAL, MarkKind, MarkOrder, MarkScanner, ShellMark
from muxpilot.shells.shell_phases import Action, Phase, ShellEvent, change_phase
from muxpilot.timing import ShellTiming
from muxpilot.trace import Trace, area

_LONGEST_ECHO = 1 << 16
_INTERRUPTED = 130
# Separates several programs on one command line.
_SEPARATOR = re.compile(r"[;&|\n]")


class ShellStack:
    """Takes the text and the marks of a pane; starts, feeds and ends the commands of its shells."""

    def __init__(
        self,
        scanner: MarkScanner,
        *,
        has_stopped_job: Callable[[NestedShell, Command], bool] = lambda shell, command: False,
        timing: ShellTiming | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.shells: list[NestedShell] = []
        # For shells whose marks were typed: the nonce of the shell outside of it, or an empty text.
        self.outer_nonces: dict[str, str] = {}
        self.versions: ShellMark | None = None  # a shell's answer to the line that asks which one it is
        self._scanner = scanner
        self._has_stopped_job = has_stopped_job
        self._timing = timing or ShellTiming()
        self._trace = trace or area("shells")

    @property
    def innermost(self) -> NestedShell | None:
        return self.shells[-1] if self.shells else None

    def feed_text(self, data: bytes) -> None:
        """Give text to the commands that it belongs to."""
        for shell in self.shells:
            if shell.phase is Phase.PROMPT and len(shell.prompt.since) < _LONGEST_ECHO:
                shell.prompt.since += data
            if shell.command is None:
                continue
            if shell.line.is_capturing:
                self._feed_output(shell, data)
            elif shell.line.echo is not None:
                self._feed_echo(shell, data)

    def feed_mark(self, mark: ShellMark) -> bool:
        """Do what a mark says. Return False for a mark that is stale."""
        if mark.kind is MarkKind.VERSIONS:
            self._trace.debug("mark seen", kind=mark.kind.name)
            self.versions = mark
        elif mark.kind is MarkKind.LOADED:
            self._push(mark)
        elif not self._handle_mark_of_shell(mark):
            return False
        return True

    def _handle_mark_of_shell(self, mark: ShellMark) -> bool:
        """Handle a mark of a shell that is known. Return False for a mark that is stale."""
        shell = self.find(mark.nonce)
        fault = _find_fault(shell, mark) if shell is not None else "its shell is not known"
        if self._trace.is_debug:
            name = shell.kind.name if shell is not None else None
            self._trace.debug(
                "mark dropped" if fault else "mark seen",
                kind=mark.kind.name,
                shell=name,
                value=mark.value,
                serial=mark.serial,
                reason=fault,
            )
        if shell is None or fault:
            return False
        shell.order.note(mark)
        # OUTPUT_END comes before the status that shows how the shells inside have ended.
        if mark.kind is not MarkKind.OUTPUT_END:
            self._pop_inner(shell, mark)
        self._act_on_mark(shell, mark)
        return True

    def _act_on_mark(self, shell: NestedShell, mark: ShellMark) -> None:
        if mark.kind is MarkKind.OUTPUT_END:
            self._end_output(shell, mark)
        elif mark.kind is MarkKind.TYPED_LENGTH:
            shell.prompt.typed_length = mark.number
        else:
            self.handle(shell, _find_event(shell, mark), mark=mark)

    def handle(self, shell: NestedShell, event: ShellEvent, *, mark: ShellMark | None = None) -> bool:
        """Change a shell's phase, and do what belongs to it. Return False if the event is impossible now."""
        row = change_phase(shell, event)
        if row is not None and row.action is not Action.NOTHING:
            self._ACTIONS[row.action](self, shell, mark)
        return row is not None

    def begin_line(self, shell: NestedShell, text: str, *, began_at: float | None = None) -> None:
        """Note that a line of the shell's command was typed at its prompt, not before `began_at`."""
        began_at = time.monotonic() if began_at is None else began_at
        shell.line.begin(text, began_at, serial=shell.order.serial)
        self.handle(shell, ShellEvent.LINE_TYPED)

    def snapshot(self) -> list[dict[str, str | int | None]]:
        """Return what another process must know to go on, outermost shell first, as plain values."""
        return [shell.snapshot() for shell in self.shells]

    def restore(self, saved: Iterable[Mapping[str, str | int | None]]) -> None:
        """Take over the shells of a `snapshot`. The next bytes are those after it."""
        for depth, values in enumerate(saved):
            shell = restore_shell(values, trace=self._trace.child(depth=depth), depth=depth)
            self.shells.append(shell)
            self._scanner.nonces.add(shell.nonce)
            shell.trace.debug("shell restored", phase=shell.phase.value, serial=shell.order.serial)

    def drop(self, shell: NestedShell, reason: str) -> None:
        """Remove a shell, and all inside it, that will not print our marks again."""
        while shell in self.shells:
            gone = self._pop(reason)
            if gone.command is not None:
                gone.command.mark_lost(reason)

    def end_all(self, status: int | None, reason: str) -> None:
        """End all commands with the pane: the outermost shell's with its status, the others as lost."""
        while self.shells:
            shell = self._pop(reason, is_nonce_kept=True)
            if shell.command is None:
                continue
            if not self.shells and status is not None:
                is_unseen = shell.phase is Phase.TYPED and not shell.command.output.size
                note = " Its output was not seen." if is_unseen else ""
                shell.command.finish(status, f"The shell ended with it, and the pane is closed.{note}")
            else:
                shell.command.mark_lost(reason, cause="pane-ended")

    def confirm_line(self, shell: NestedShell) -> None:
        """End an unconfirmed command: no other has started, so it was ours."""
        if shell.line.is_unconfirmed and shell.status is not None:
            self.handle(shell, ShellEvent.LINE_WAS_OURS)

    def finish_command(self, shell: NestedShell) -> None:
        """End the shell's command with the status that has arrived."""
        shell.line.is_unconfirmed = False
        command, shell.command = shell.command, None
        if command is None:
            return
        if shell.status is None:
            command.mark_lost("The command was given up before it was complete.")
        elif self._may_be_stopped(shell) and self._has_stopped_job(shell, command):
            command.mark_stopped()
        else:
            command.finish(shell.status, "Interrupted." if shell.status == _INTERRUPTED else None)

    @staticmethod
    def _may_be_stopped(shell: NestedShell) -> bool:
        """Return whether the status of a command can be that of a stopped job."""
        return shell.status in STOPPED_STATUSES or shell.kind.keeps_status_at_stop

    def _push(self, mark: ShellMark) -> None:
        kind = SHELLS.get(mark.value)
        if kind is None or mark.serial < 0 or self.find(mark.nonce) is not None:
            self._trace.debug("mark dropped", kind=mark.kind.name, serial=mark.serial)
            return
        self._drop_replaced(mark.nonce)
        trace = self._trace.child(shell=kind.name, depth=len(self.shells))
        order = MarkOrder(mark.pid, mark.serial)
        self.shells.append(NestedShell(mark.nonce, kind, order, trace, depth=len(self.shells)))
        trace.debug("shell pushed", shell_pid=mark.pid, serial=mark.serial)

    def _drop_replaced(self, nonce: str) -> None:
        """Remove the shells that a new one stands for: one that is given our marks again has a new nonce."""
        outer = self.outer_nonces.get(nonce)
        if outer is None or (outer and self.find(outer) is None):
            return
        while self.shells and self.shells[-1].nonce != outer:
            gone = self._pop("it was given our marks again")
            if gone.command is not None:
                gone.command.mark_lost("The shell was given our marks again.")

    def _pop(self, reason: str, *, is_nonce_kept: bool = False) -> NestedShell:
        shell = self.shells.pop()
        if not is_nonce_kept:
            self._scanner.nonces.discard(shell.nonce)
        shell.trace.debug("shell popped", phase=shell.phase.value, reason=reason)
        return shell

    def find(self, nonce: str) -> NestedShell | None:
        """Return the shell with this nonce."""
        return next((shell for shell in self.shells if shell.nonce == nonce), None)

    def _pop_inner(self, shell: NestedShell, mark: ShellMark) -> None:
        """Remove the shells inside the one that printed a mark: they have ended, with the status in it."""
        while self.shells[-1] is not shell:
            gone = self._pop("an outer shell printed a mark")
            if gone.command is None:
                continue
            if mark.kind is MarkKind.STATUS and _runs_one_program(self.shells[-1]):
                gone.command.finish(exit_code(mark.number), "The shell ended with it.")
            else:
                gone.command.mark_lost("The shell that it ran in has ended, without a status for it.")

    def _feed_echo(self, shell: NestedShell, data: bytes) -> None:
        """Collect the echo. Without a start mark, output begins after the line end that follows it."""
        line = shell.line
        assert line.echo is not None
        if len(line.echo) < _LONGEST_ECHO:
            line.echo += data
        if shell.kind.marks_start or shell.command is None:
            return
        at = find_echo_end(bytes(line.echo), line.text)
        if at < 0:
            return
        output, line.echo = bytes(line.echo[at:]), None
        self.handle(shell, ShellEvent.ECHO_ENDED)
        shell.order.note_start()
        line.is_capturing = True
        if output:
            self._feed_output(shell, output)

    def _feed_output(self, shell: NestedShell, data: bytes) -> None:
        assert shell.command is not None
        shell.command.output.feed(data)
        shell.line.has_output = shell.line.has_output or not data.isspace()

    def _begin_line(self, shell: NestedShell, _: ShellMark | None) -> None:
        shell.prompt.is_first, shell.prompt.typed_length = False, 0
        shell.status = None

    def _begin_output(self, shell: NestedShell, _: ShellMark | None) -> None:
        self._discard_unconfirmed(shell)
        if shell.line.echo is None:  # no line of ours has started
            shell.line.began_at = time.monotonic()
        shell.status, shell.prompt.person_typed_at, shell.prompt.typed_length = None, None, 0
        shell.line.is_capturing, shell.line.echo = shell.command is not None, None

    def _begin_unsure_output(self, shell: NestedShell, mark: ShellMark | None) -> None:
        self._begin_output(shell, mark)
        shell.line.is_unconfirmed = True

    def _discard_unconfirmed(self, shell: NestedShell) -> None:
        """Discard the output of an unconfirmed command: another has started, so that one was not ours."""
        if shell.line.is_unconfirmed and shell.command is not None:
            shell.trace.debug("output discarded: a person's command printed it")
            shell.command.output.restart()
        shell.line.is_unconfirmed = False

    def _end_output(self, shell: NestedShell, mark: ShellMark | None) -> None:
        """End the output of a shell's command, and of all inside it.

        What a shell prints about a line that it never started, such as a syntax error, follows the echo.
        """
        if shell.command is not None and shell.line.echo and not shell.line.is_capturing:
            self._discard_unconfirmed(shell)
            shell.command.output.feed(shell.line.text_after_echo())
        if shell.command is not None and mark is not None:
            shell.command.end_offset = mark.end
        for inner in self.shells[self.shells.index(shell) :]:
            inner.line.stop_capturing()

    def _take_status(self, shell: NestedShell, mark: ShellMark | None) -> None:
        self._end_output(shell, mark)
        elapsed_s = time.monotonic() - shell.line.began_at
        shell.prompt.may_have_typeahead = elapsed_s > self._timing.typeahead_s
        shell.status = exit_code(mark.number) if mark is not None else None
        shell.prompt.person_typed_at = None
        if not shell.line.untyped_lines and not shell.line.is_unconfirmed:
            self.finish_command(shell)

    def _move_prompt(self, shell: NestedShell, mark: ShellMark | None) -> None:
        shell.prompt.offset = mark.end if mark is not None else shell.prompt.offset

    def _begin_prompt(self, shell: NestedShell, mark: ShellMark | None) -> None:
        self._move_prompt(shell, mark)
        shell.prompt.since = bytearray()
        if not shell.line.untyped_lines and not shell.is_end_asked:
            self.finish_command(shell)

    def _begin_prompt_of_line(self, shell: NestedShell, mark: ShellMark | None) -> None:
        self._move_prompt(shell, mark)
        shell.line.echo, shell.prompt.since = bytearray(), bytearray()

    def _lose_command(self, shell: NestedShell, mark: ShellMark | None) -> None:
        if shell.command is not None and not shell.is_end_asked:
            shell.command.mark_lost("The shell's prompt came back without a status.")
            shell.command = None
        self._begin_prompt(shell, mark)

    def _stop_output(self, shell: NestedShell, _: ShellMark | None) -> None:
        shell.line.stop_capturing()

    def _finish_command(self, shell: NestedShell, _: ShellMark | None) -> None:
        self.finish_command(shell)

    _ACTIONS: ClassVar[dict[Action, Callable[[ShellStack, NestedShell, ShellMark | None], None]]] = {
        Action.BEGIN_LINE: _begin_line,
        Action.BEGIN_OUTPUT: _begin_output,
        Action.BEGIN_UNSURE_OUTPUT: _begin_unsure_output,
        Action.BEGIN_PROMPT: _begin_prompt,
        Action.BEGIN_PROMPT_OF_LINE: _begin_prompt_of_line,
        Action.MOVE_PROMPT: _move_prompt,
        Action.LOSE_COMMAND: _lose_command,
        Action.END_OUTPUT: _take_status,
        Action.STOP_OUTPUT: _stop_output,
        Action.FINISH_COMMAND: _finish_command,
    }


_EVENTS = {
    MarkKind.PROMPT: ShellEvent.PROMPT,
    MarkKind.START: ShellEvent.START,
    MarkKind.STATUS: ShellEvent.STATUS,
    MarkKind.CONTINUATION: ShellEvent.CONTINUATION,
}


def _find_fault(shell: NestedShell, mark: ShellMark) -> str | None:
    """Return why a mark is stale.

    A continuation prompt comes before anything that its line prints. That counts where it has no number.
    """
    is_late = mark.kind is MarkKind.CONTINUATION and mark.serial == NO_SERIAL and shell.line.has_output
    if is_late and shell.phase is Phase.RUNNING:
        return "the command has printed something"
    return shell.order.find_fault(mark)


def _find_event(shell: NestedShell, mark: ShellMark) -> ShellEvent:
    """Return the event that a mark is; our line may wait behind a person's command."""
    if mark.kind is MarkKind.PROMPT and shell.runs_unsure_line():
        return ShellEvent.PROMPT_BEFORE_LINE
    is_typed = mark.kind is MarkKind.START and shell.phase is Phase.TYPED
    if is_typed and not shell.may_have_started_our_line():
        return ShellEvent.START_OF_OTHER
    return _EVENTS[mark.kind]


def _runs_one_program(shell: NestedShell) -> bool:
    """Return whether the status that a shell reports is that of the shell inside it."""
    return shell.command is None or not _SEPARATOR.search(shell.command.text)
