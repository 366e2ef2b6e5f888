"""The ends of commands in a pane, as its shell's own marks tell them; where it has none, nothing is told."""

from __future__ import annotations

from contextlib import suppress

from muxpilot.errors import MuxpilotError
from muxpilot.shells.kinds import exit_code
from muxpilot.shells.layers import At, Layer
from muxpilot.shells.marks import Mark, Scanner
from muxpilot.shells.pane import PaneShell
from muxpilot.shells.registry import Shells
from muxpilot.tmux import PaneId, Tmux


class Ends:
    """Takes what the pane prints; knows the exit codes of what ended."""

    def __init__(self, shell: PaneShell | None = None) -> None:
        self._shell = shell
        self._scanner = Scanner()
        top = shell.layers.top if shell is not None else None
        self._is_running = top is not None and top.at is At.RUNNING
        if shell is not None:
            self._scanner.nonces = shell.scanner.nonces  # the same: it learns of shells that open inside

    def feed(self, data: bytes) -> int | None:
        """The exit code of a command that ended in this, if one did; a prompt alone is no end."""
        code = None
        for item in self._scanner.feed(data) if self._shell is not None else ():
            if isinstance(item, Mark) and item.kind == "C":
                self._is_running, code = True, None
            elif isinstance(item, Mark) and item.kind == "D" and self._is_running:
                self._is_running, code = False, exit_code(item.number)
        return code

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
    def _at_prompt(self) -> Layer | None:
        layer = self._shell.layers.top if self._shell is not None else None
        return layer if layer is not None and layer.at in (At.PROMPT, At.FINISHED) else None


async def ends_in(tmux: Tmux, pane: PaneId, shells: Shells) -> Ends:
    shell = shells.known(tmux, pane)
    if shell is None and tmux.streams.is_ours(pane):  # its stream is read anyway, from the first byte on
        with suppress(MuxpilotError):  # it has ended: then there is no shell in it
            shell = await shells.pane(tmux, pane)
    return Ends(shell)
