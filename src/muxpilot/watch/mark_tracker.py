"""What a pane's shell tells by its own marks: what is typing, and how commands end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from muxpilot.errors import MuxpilotError
from muxpilot.shells.command_registry import Shells
from muxpilot.shells.osc133 import Mark, Scanner
from muxpilot.shells.pane_shell import PaneShell
from muxpilot.shells.shell_stack import NestedShell, Phase
from muxpilot.shells.shell_table import SHELLS, exit_code
from muxpilot.tmux import PaneId, Tmux

_CATCH_UP_S = 1.0
_LONGEST_TYPING = 1 << 16
_INTERRUPTED = 130


class Piece(NamedTuple):
    """Bytes of the pane; typing is what comes between a prompt and the start of the command."""

    data: bytes
    is_typing: bool = False


class Heard(NamedTuple):
    """What was printed, and the exit code of a command that ended in it, if one did."""

    pieces: Sequence[Piece]
    code: int | None = None


class Ends:
    """Takes what the pane prints."""

    def __init__(self, shell: PaneShell | None = None) -> None:
        self._shell = shell
        self._scanner = Scanner()
        self._is_running = False
        self._is_typing = False
        self._typing = b""
        self._telling: set[str] = set()  # the nonces of shells that mark the start of each command
        self._busy: set[str] = set()  # and of those that run one: a prompt inside it may be inherited
        if shell is not None:
            self._scanner.nonces = shell.scanner.nonces  # the same: it learns of shells that open inside
            self._stand(shell)

    async def begin(self, offset: int) -> None:
        """From here on in the stream; where the shell stands there is known once it has been read so far."""
        if (shell := self._shell) is not None:
            await shell.until(lambda: shell.seen >= offset, _CATCH_UP_S)
            self._stand(shell)

    def _stand(self, shell: PaneShell) -> None:
        top = shell.layers.top
        self._telling = {layer.nonce for layer in shell.layers.stack if layer.shell.tells_start}
        self._busy = {layer.nonce for layer in shell.layers.stack if layer.at is Phase.RUNNING}
        self._is_running = top is not None and top.at is Phase.RUNNING
        is_at_line = top is not None and top.at in (Phase.PROMPT, Phase.TYPED, Phase.CONTINUATION)
        self._is_typing = is_at_line and top is not None and top.shell.tells_start

    def feed(self, data: bytes) -> Heard:
        """A prompt alone is no end of a command."""
        if self._shell is None:
            return Heard((Piece(data),))
        pieces: list[Piece] = []
        code = None
        for item in self._scanner.feed(data):
            if isinstance(item, bytes):
                pieces.append(Piece(item, self._is_typing))
                self._typing = (self._typing + item)[-_LONGEST_TYPING:] if self._is_typing else b""
                continue
            if item.kind == "D" and self._is_typing:
                pieces.append(Piece(self._said(item)))
            if item.kind == "C":
                self._is_running, code = True, None
            elif item.kind == "D" and self._is_running:
                self._is_running, code = False, exit_code(item.number)
            self._follow(item)
        return Heard(pieces, code)

    def _follow(self, mark: Mark) -> None:
        if mark.kind == "I":
            shell = SHELLS.get(mark.value.partition(".")[0])
            self._telling |= {mark.nonce} if shell is not None and shell.tells_start else set()
        elif mark.kind in "BPCD":
            self._busy |= {mark.nonce} if mark.kind == "C" else set()
            self._busy -= {mark.nonce} if mark.kind == "D" else set()
            self._typing = b""
            self._is_typing = mark.kind in "BP" and mark.nonce in self._telling - self._busy

    def _said(self, mark: Mark) -> bytes:
        """What a shell says of a line that it does not start: of its syntax, for one."""
        return self._typing.partition(b"\n")[2] if exit_code(mark.number) != _INTERRUPTED else b""

    def pause(self) -> bytes:
        """Nothing more came for a while: whole lines at a prompt are a background job's, and no typing."""
        if not self._typing.endswith(b"\n"):
            return b""
        lines, self._typing = self._typing, b""
        return lines

    def lose(self) -> None:
        """Some bytes were not seen: everything counts until a mark tells more."""
        self._is_typing, self._typing = False, b""

    @property
    def tells_all(self) -> bool:
        """Whether the shell at the prompt marks the start of each command, so that no end goes unheard."""
        layer = self._at_prompt
        return layer is not None and layer.shell.tells_start

    def last(self) -> int | None:
        """The exit code of the last command, while its shell is at the prompt."""
        layer = self._at_prompt
        return layer.status if layer is not None else None

    @property
    def _at_prompt(self) -> NestedShell | None:
        layer = self._shell.layers.top if self._shell is not None else None
        return layer if layer is not None and layer.at in (Phase.PROMPT, Phase.FINISHED) else None


async def ends_in(tmux: Tmux, pane: PaneId, shells: Shells) -> Ends:
    shell = shells.known(tmux, pane)
    if shell is None and tmux.streams.is_ours(pane):  # its stream is read anyway, from the first byte on
        with suppress(MuxpilotError):  # it has ended: then there is no shell in it
            shell = await shells.pane(tmux, pane)
    return Ends(shell)
