"""The shells in a pane, one inside the other, as their marks show.

The outermost shell is first; `ssh`, `su` or `bash` typed at its prompt opens another inside it. Each shell
has its own nonce, so a mark shows which of them printed it. When an outer shell prints one, all shells
inside it have ended.

How a shell goes through its phases, mark by mark:

    STARTING -- PROMPT --> PROMPT -- we type --> TYPED -- START --> RUNNING -- STATUS --> FINISHED
       ^                     ^ ^                  |  |                 |                     |
       | LOADED              | |  CONTINUATION <--+  +-- echo ends ----+ (no start mark)     |
                             | +-------- PROMPT ------------------------ PROMPT -------------+

A phase is UNKNOWN after a gap in the stream, or if a prompt has lost its mark.
"""

from __future__ import annotations

import enum
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from muxpilot.processes.stopped_jobs import STOPPED_STATUSES
from muxpilot.shell_table import SHELLS, ShellKind, exit_code
from muxpilot.shells.command import Command, ShellId
from muxpilot.shells.echo import find_echo_end, may_be_echo_of
from muxpilot.shells.osc133 import MarkKind, MarkScanner, ShellMark
from muxpilot.timing import ShellTiming
from muxpilot.trace import Trace, area

_LONGEST_ECHO = 1 << 16
_INTERRUPTED = 130
# Separates several programs on one command line.
_SEPARATOR = re.compile(r"[;&|\n]")


class Phase(enum.Enum):
    """What a shell does now, as far as its marks show."""

    STARTING = "starting"
    PROMPT = "prompt"
    TYPED = "typed"  # a line of ours was typed, and has not started yet
    RUNNING = "running"
    FINISHED = "finished"  # the status has arrived, the prompt follows
    CONTINUATION = "continuation"  # the shell waits for the rest of a command
    UNKNOWN = "unknown"


@dataclass(slots=True, eq=False)
class PromptState:
    """What is known about a shell's prompt, and about the text that a person has typed there."""

    offset: int = 0  # in the stream, after the prompt's last byte
    since: bytearray = field(default_factory=bytearray)  # printed after the prompt, before our typing
    typed_length: int | None = None  # how much is typed, as the private key reported last
    person_typed_at: int | None = None  # the stream's end when text of a person was found at the prompt
    may_have_typeahead: bool = False  # the last command ran long enough for a person to type ahead
    is_first: bool = True  # we have typed nothing at its prompt yet


@dataclass(slots=True, eq=False)
class TypedLine:
    """The line that was typed last at a shell's prompt, and what is known about it."""

    text: str = ""
    began_at: float = 0.0
    echo: bytearray | None = None  # printed since the typing; None when output has begun or ended
    is_capturing: bool = False  # bytes are output of the command
    # The command that has started may be a line that a person typed just before ours.
    is_unconfirmed: bool = False
    untyped_lines: list[str] | None = None  # lines of the same command that are typed after this one


@dataclass(slots=True, eq=False)
class NestedShell:
    """One shell in a pane. `phase` is changed with `enter` only."""

    nonce: str
    kind: ShellKind
    pid: int
    trace: Trace = field(default_factory=lambda: area("shells"))
    depth: int = 0  # its place in the stack
    image: int | None = None  # changes when the process becomes another program
    phase: Phase = Phase.STARTING
    command: Command | None = None
    status: int | None = None  # of the last command
    prompt: PromptState = field(default_factory=PromptState)
    line: TypedLine = field(default_factory=TypedLine)

    @property
    def id(self) -> ShellId:
        return ShellId(self.nonce, self.pid, self.depth)

    def enter(self, phase: Phase, *, why: str) -> None:
        """Change the phase."""
        if phase is not self.phase:
            self.trace.debug("phase changed", before=self.phase.value, after=phase.value, why=why)
            self.phase = phase

    def begin_line(self, text: str) -> None:
        """Note that a line of the shell's command is about to be typed at its prompt."""
        self.prompt.is_first = False
        self.enter(Phase.TYPED, why="a line is typed")
        self.status = None
        line = self.line
        line.text, line.began_at, line.echo = text, time.monotonic(), bytearray()
        line.is_capturing = line.is_unconfirmed = False

    def may_have_started_our_line(self) -> bool:
        """Return whether the echo before a start mark can be that of the line that we typed."""
        if b"\n" in self.prompt.since:
            return False  # a person's line was ended before ours was typed
        echo = bytes(self.prompt.since + (self.line.echo or b""))
        return self.command is None or may_be_echo_of(
            echo, self.line.text, is_decorated=self.kind.decorates_echo
        )

    def text_after_echo(self) -> bytes:
        """Return what a shell printed after the echo of a line that never started."""
        return bytes(self.line.echo or b"").partition(b"\n")[2]

    def stop_capturing(self) -> None:
        self.line.is_capturing, self.line.echo = False, None


class ShellStack:
    """Takes the text and the marks of a pane; starts, feeds and ends the commands of its shells."""

    def __init__(
        self,
        scanner: MarkScanner,
        notify: Callable[[], None],
        is_behind_other: Callable[[NestedShell], bool],
        *,
        has_stopped_job: Callable[[NestedShell, Command], bool] = lambda shell, command: False,
        timing: ShellTiming | None = None,
        trace: Trace | None = None,
    ) -> None:
        """Ask `is_behind_other` whether another program has the terminal, so the shell cannot prompt."""
        self.shells: list[NestedShell] = []
        self.versions: ShellMark | None = None  # a shell's answer to the line that asks which one it is
        self._scanner = scanner
        self._notify = notify
        self._is_behind_other = is_behind_other
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
                shell.command.output.feed(data)
            elif shell.line.echo is not None:
                self._feed_echo(shell, data)

    def feed_mark(self, mark: ShellMark) -> None:
        """Do what a mark says."""
        if mark.kind is MarkKind.VERSIONS:
            self._trace.debug("mark seen", kind=mark.kind.name)
            self.versions = mark
        elif mark.kind is MarkKind.LOADED:
            self._push(mark)
        elif not self._handle_mark_of_shell(mark):
            return
        self._notify()

    def _handle_mark_of_shell(self, mark: ShellMark) -> bool:
        """Handle a mark of a shell that is known. Return False for a mark that does not count."""
        shell = self._find(mark.nonce)
        is_inherited = shell is not None and self._is_inherited(shell, mark)
        if self._trace.is_debug:
            name = shell.kind.name if shell is not None else None
            self._trace.debug(
                "mark seen", kind=mark.kind.name, shell=name, value=mark.value, is_inherited=is_inherited
            )
        if is_inherited:
            return False
        # OUTPUT_END comes before the status that shows how the shells inside have ended.
        if mark.kind is not MarkKind.OUTPUT_END:
            self._pop_inner(shell, mark)
        if shell is not None:
            self._ACTIONS[mark.kind](self, shell, mark)
        return True

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
        if shell.line.is_unconfirmed and shell.phase is Phase.TYPED and shell.status is not None:
            shell.line.is_unconfirmed = False
            shell.enter(Phase.PROMPT, why="no other command has started")
            self.finish_command(shell)

    def finish_command(self, shell: NestedShell) -> None:
        """End the shell's command with the status that has arrived."""
        command, shell.command = shell.command, None
        if command is None:
            return
        if shell.status is None:
            command.mark_lost("The command was given up before it was complete.")
        elif shell.status in STOPPED_STATUSES and self._has_stopped_job(shell, command):
            command.mark_stopped()
        else:
            command.finish(shell.status, "Interrupted." if shell.status == _INTERRUPTED else None)

    def _push(self, mark: ShellMark) -> None:
        name, _, pid = mark.value.partition(".")
        kind = SHELLS.get(name)
        if kind is None or self._find(mark.nonce) is not None:
            return
        trace = self._trace.child(shell=name, depth=len(self.shells))
        depth, number = len(self.shells), int(pid) if pid.isdigit() else 0
        self.shells.append(NestedShell(mark.nonce, kind, number, trace, depth))
        trace.debug("shell pushed", shell_pid=pid)

    def _pop(self, reason: str, *, is_nonce_kept: bool = False) -> NestedShell:
        shell = self.shells.pop()
        if not is_nonce_kept:
            self._scanner.nonces.discard(shell.nonce)
        shell.trace.debug("shell popped", phase=shell.phase.value, reason=reason)
        return shell

    def _find(self, nonce: str) -> NestedShell | None:
        return next((shell for shell in self.shells if shell.nonce == nonce), None)

    def _is_inherited(self, shell: NestedShell, mark: ShellMark) -> bool:
        """Return whether a program inside printed this mark, because it has inherited the shell's prompt."""
        is_in_prompt = mark.kind.is_prompt or (mark.kind is MarkKind.STATUS and not shell.kind.marks_start)
        return is_in_prompt and self._is_behind_other(shell)

    def _pop_inner(self, shell: NestedShell | None, mark: ShellMark) -> None:
        """Remove the shells inside the one that printed a mark: they have ended, with the status in it."""
        while shell is not None and self.shells[-1] is not shell:
            gone = self._pop("an outer shell printed a mark")
            if gone.command is None:
                continue
            if mark.kind.has_status and _runs_one_program(self.shells[-1]):
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
        shell.enter(Phase.RUNNING, why="the echo has ended")
        line.is_capturing = True
        if output:
            shell.command.output.feed(output)

    def _on_start(self, shell: NestedShell, _: ShellMark) -> None:
        line = shell.line
        if shell.phase is not Phase.TYPED:
            line.began_at = time.monotonic()
        self._discard_unconfirmed(shell)
        line.is_unconfirmed = shell.phase is Phase.TYPED and not shell.may_have_started_our_line()
        why = "a start mark, which may be of a person's line" if line.is_unconfirmed else "a start mark"
        shell.enter(Phase.RUNNING, why=why)
        shell.status, shell.prompt.person_typed_at = None, None
        line.is_capturing, line.echo = shell.command is not None, None

    def _discard_unconfirmed(self, shell: NestedShell) -> None:
        """Discard the output of an unconfirmed command: another has started, so that one was not ours."""
        if shell.line.is_unconfirmed and shell.command is not None:
            shell.trace.debug("output discarded: a person's command printed it")
            shell.command.output.restart()
        shell.line.is_unconfirmed = False

    def _on_output_end(self, shell: NestedShell, mark: ShellMark) -> None:
        if shell.command is not None and shell.line.echo and shell.phase is Phase.TYPED:
            self._discard_unconfirmed(shell)
            shell.command.output.feed(shell.text_after_echo())
        if shell.command is not None:
            shell.command.end_offset = mark.end
        for inner in self.shells[self.shells.index(shell) :]:
            inner.stop_capturing()

    def _on_status(self, shell: NestedShell, mark: ShellMark) -> None:
        self._on_output_end(shell, mark)
        elapsed_s = time.monotonic() - shell.line.began_at
        shell.prompt.may_have_typeahead = elapsed_s > self._timing.typeahead_s
        shell.enter(Phase.FINISHED, why="a status mark")
        shell.status, shell.prompt.person_typed_at = exit_code(mark.number), None
        if not shell.line.untyped_lines and not shell.line.is_unconfirmed:
            self.finish_command(shell)

    def _on_status_in_prompt(self, shell: NestedShell, mark: ShellMark) -> None:
        """Take the status from the prompt if the hook that reports it first is gone.

        A prompt may be drawn more than once, so this counts only while a command runs.
        """
        if shell.phase is Phase.RUNNING:
            self._on_status(shell, mark)

    def _on_prompt(self, shell: NestedShell, mark: ShellMark) -> None:
        shell.prompt.offset = mark.end
        if shell.phase is Phase.TYPED:
            return  # the prompt is drawn again while a line of ours is on its way
        if shell.line.is_unconfirmed and shell.phase is Phase.FINISHED:
            # The command was perhaps a person's, and ours may be about to start.
            shell.enter(Phase.TYPED, why="the command before may have been a person's")
            shell.line.echo, shell.prompt.since = bytearray(), bytearray()
            return
        if shell.phase is Phase.RUNNING and shell.command is not None:
            shell.command.mark_lost("The shell's prompt came back without a status.")
            shell.command = None
        shell.enter(Phase.PROMPT, why="a prompt mark")
        shell.prompt.since = bytearray()
        if not shell.line.untyped_lines:
            self.finish_command(shell)

    def _on_continuation(self, shell: NestedShell, _: ShellMark) -> None:
        shell.stop_capturing()
        shell.enter(Phase.CONTINUATION, why="a continuation mark")

    def _on_typed_length(self, shell: NestedShell, mark: ShellMark) -> None:
        shell.prompt.typed_length = mark.number

    _ACTIONS: ClassVar[dict[MarkKind, Callable[[ShellStack, NestedShell, ShellMark], None]]] = {
        MarkKind.START: _on_start,
        MarkKind.OUTPUT_END: _on_output_end,
        MarkKind.STATUS: _on_status,
        MarkKind.STATUS_IN_PROMPT: _on_status_in_prompt,
        MarkKind.PROMPT: _on_prompt,
        MarkKind.CONTINUATION: _on_continuation,
        MarkKind.TYPED_LENGTH: _on_typed_length,
    }


def _runs_one_program(shell: NestedShell) -> bool:
    """Return whether the status that a shell reports is that of the shell inside it."""
    return shell.command is None or not _SEPARATOR.search(shell.command.text)
