"""The marks of a pane's shell in its output: which bytes are typing, and how commands end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from muxpilot.errors import MuxpilotError
from muxpilot.shell_table import SHELLS, exit_code
from muxpilot.shells.command_registry import CommandRegistry
from muxpilot.shells.nested_shell import NestedShell
from muxpilot.shells.osc133 import MarkKind, MarkOrder, MarkScanner, ShellMark
from muxpilot.shells.pane_commands import PaneCommands
from muxpilot.shells.shell_phases import Phase
from muxpilot.tmux import PaneId, Tmux

_LONGEST_TYPING = 1 << 16
_INTERRUPTED = 130
_PROMPTS = (MarkKind.PROMPT, MarkKind.CONTINUATION)
# After one of these the shell either reads a line or runs a command.
_TURNS = (*_PROMPTS, MarkKind.START, MarkKind.STATUS)


class OutputPiece(NamedTuple):
    """Bytes of the pane; typing is what comes between a prompt and the start of the command."""

    data: bytes
    is_typing: bool = False


class MarkedOutput(NamedTuple):
    """The pieces of a chunk of output, and the exit code of a command that ended in it, if one did.

    `has_prompt`: the shell has printed its next prompt, and nothing was started after it.
    """

    pieces: Sequence[OutputPiece]
    exit_code: int | None = None
    has_prompt: bool = False


class MarkTracker:
    """Follows the marks in a pane's output. Without a shell it finds none, and all bytes are output."""

    def __init__(self, shell: PaneCommands | None = None) -> None:
        self._shell = shell
        self._scanner = MarkScanner()
        self._is_running = False
        self._is_typing = False
        self._typed_bytes = b""
        self._marking_start: set[str] = set()  # the nonces of shells that mark the start of each command
        self._orders: dict[str, MarkOrder] = {}  # by nonce; what was read here, not by the shell's reader
        self._first_status: tuple[str, int] | None = None  # nonce and number of the last one at the beginning
        if shell is not None:
            # The same set, not a copy: the shell's reader adds shells that open inside it.
            self._scanner.nonces = shell.pane.scanner.nonces
            self._take_over_state(shell)

    async def begin(self, offset: int, *, catch_up_s: float) -> None:
        """Begin at an offset in the stream: wait until the shell's own reader has read up to it."""
        if (shell := self._shell) is not None:
            await shell.pane.activity.wait_until_read(offset, catch_up_s)
            self._take_over_state(shell, is_exact=shell.pane.activity.read_offset == offset)

    def begin_after(self, data: bytes) -> None:
        """Begin after these bytes of the stream, which the shell's own reader has left behind already.

        A command that has printed more than these is running: no mark is in them.
        """
        if (shell := self._shell) is not None:
            self._take_over_state(shell)
            self._is_typing, self._is_running = False, True
            self.feed(data)

    def _take_over_state(self, shell: PaneCommands, *, is_exact: bool = False) -> None:
        """Begin with the state of the shell's own reader.

        Unless `is_exact`, that reader is ahead, and marks that it has read come here too: they all count.
        """
        innermost = shell.stack.innermost
        self._first_status = _status_of(innermost)
        self._marking_start = {nested.nonce for nested in shell.stack.shells if nested.kind.marks_start}
        self._orders = {
            nested.nonce: replace(nested.order) if is_exact else MarkOrder(nested.pid, -1)
            for nested in shell.stack.shells
        }
        self._is_running = innermost is not None and innermost.phase is Phase.RUNNING
        self._is_typing = (
            innermost is not None
            and innermost.phase in (Phase.PROMPT, Phase.TYPED, Phase.CONTINUATION)
            and innermost.kind.marks_start
        )

    def feed(self, data: bytes) -> MarkedOutput:
        """Take the next bytes. A prompt alone is not the end of a command."""
        if self._shell is None:
            return MarkedOutput((OutputPiece(data),))
        pieces: list[OutputPiece] = []
        code, has_prompt = None, False
        for item in self._scanner.feed(data):
            if isinstance(item, bytes):
                pieces.append(OutputPiece(item, self._is_typing))
                self._typed_bytes = (self._typed_bytes + item)[-_LONGEST_TYPING:] if self._is_typing else b""
                continue
            if self._is_stale(item):
                continue
            if item.kind is MarkKind.STATUS and self._is_typing:
                pieces.append(OutputPiece(self._message_of_shell(item)))
            if item.kind is MarkKind.START:
                self._is_running, code = True, None
            elif item.kind is MarkKind.STATUS and self._is_running:
                self._is_running, code = False, exit_code(item.number)
            has_prompt = item.kind is MarkKind.PROMPT or (has_prompt and item.kind is not MarkKind.START)
            self._follow(item)
        return MarkedOutput(pieces, code, has_prompt)

    def _is_stale(self, mark: ShellMark) -> bool:
        """Return whether a mark was printed before, or by another process than its shell."""
        if mark.kind is MarkKind.LOADED:
            return mark.nonce in self._orders
        order = self._orders.get(mark.nonce) or self._find_late_shell(mark.nonce)
        if order is None or order.find_fault(mark) is not None:
            return True
        order.note(mark)
        return False

    def _find_late_shell(self, nonce: str) -> MarkOrder | None:
        """Return the order of a shell that its own reader had not come to when the watch began."""
        nested = self._shell.stack.find(nonce) if self._shell is not None else None
        if nested is None:
            return None
        self._marking_start |= {nonce} if nested.kind.marks_start else set()
        return self._orders.setdefault(nonce, MarkOrder(nested.pid, -1))

    def _follow(self, mark: ShellMark) -> None:
        if mark.kind is MarkKind.LOADED:
            kind = SHELLS.get(mark.value)
            self._marking_start |= {mark.nonce} if kind is not None and kind.marks_start else set()
            self._orders[mark.nonce] = MarkOrder(mark.pid, mark.serial)
        elif mark.kind in _TURNS:
            self._typed_bytes = b""
            self._is_typing = mark.kind in _PROMPTS and mark.nonce in self._marking_start

    def _message_of_shell(self, mark: ShellMark) -> bytes:
        """Return what a shell printed about a line that it did not start, such as a syntax error."""
        return self._typed_bytes.partition(b"\n")[2] if exit_code(mark.number) != _INTERRUPTED else b""

    def take_background_lines(self) -> bytes:
        """Return complete lines at the prompt after a pause: a background job printed them."""
        if not self._typed_bytes.endswith(b"\n"):
            return b""
        lines, self._typed_bytes = self._typed_bytes, b""
        return lines

    def note_gap(self) -> None:
        """Treat all bytes as output until the next mark: some bytes, and maybe marks, are lost."""
        self._is_typing, self._typed_bytes = False, b""

    @property
    def reports_every_end(self) -> bool:
        """Return whether the shell at the prompt marks each start, so that no end is missed."""
        nested = self._shell_at_prompt
        return nested is not None and nested.kind.marks_start

    async def catch_up(self, timeout_s: float) -> None:
        """Wait until the shell's own reader has read all that the pane has printed, and a new status."""
        if self._shell is not None:
            with suppress(MuxpilotError):  # the pane or tmux has gone
                await self._shell.pane.read_all_output()
                await self._shell.pane.activity.wait_until(self._has_new_status, timeout_s)

    def last_exit_code(self) -> int | None:
        """Return the exit code of the last command, while its shell is at the prompt.

        Return None if no status has come since the beginning: the last one is of an earlier command.
        """
        nested = self._shell_at_prompt
        return nested.status if nested is not None and self._has_new_status() else None

    def _has_new_status(self) -> bool:
        nested = self._shell_at_prompt
        return nested is None or _status_of(nested) != self._first_status

    @property
    def _shell_at_prompt(self) -> NestedShell | None:
        nested = self._shell.stack.innermost if self._shell is not None else None
        return nested if nested is not None and nested.phase in (Phase.PROMPT, Phase.FINISHED) else None


def _status_of(nested: NestedShell | None) -> tuple[str, int] | None:
    """Return which status of which shell was the last one."""
    return (nested.nonce, nested.order.serial) if nested is not None else None


async def track_marks(tmux: Tmux, pane: PaneId, shells: CommandRegistry) -> MarkTracker:
    """Return a tracker for the shell of a pane, if its marks are read or can be from its first byte on.

    Another muxpilot may have run commands there: the records tell about its marks.
    """
    shell = shells.find_pane(tmux, pane)
    is_marked = tmux.streams.is_own_pane(pane) or (
        shell is None and await shells.archive.has_records(tmux, pane)
    )
    if shell is None and is_marked:
        with suppress(MuxpilotError):  # the pane has ended: then there is no shell in it
            shell = await shells.open_pane(tmux, pane)
    return MarkTracker(shell)
