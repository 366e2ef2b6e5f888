"""The shells that stand in a pane, one inside the other, as their marks tell it.

The outermost shell is the first layer; `ssh`, `su` or `bash` typed at its prompt opens another inside it.
Each layer has a nonce of its own, so that a mark tells which of them speaks: when an outer one does, all
inside it have ended.
"""

from __future__ import annotations

import enum
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from muxpilot.shells.command import Command
from muxpilot.shells.echo import echo_end, may_show
from muxpilot.shells.osc133 import Mark, Scanner
from muxpilot.shells.shell_table import SHELLS, Shell, exit_code

_LONGEST_ECHO = 1 << 16
_INTERRUPTED = 130
_A_MOMENT_S = 0.05
# What may stand between several programs of one command line.
_SEVERAL = re.compile(r"[;&|\n]")


class Phase(enum.Enum):
    """Where a shell stands."""

    STARTING = "starting"
    PROMPT = "prompt"
    TYPED = "typed"  # a line of ours is on its way
    RUNNING = "running"
    FINISHED = "finished"  # the prompt is about to come
    CONTINUATION = "continuation"
    UNKNOWN = "unknown"


@dataclass(slots=True, eq=False)
class NestedShell:
    nonce: str
    shell: Shell
    pid: int
    at: Phase = Phase.STARTING
    command: Command | None = None
    status: int | None = None
    prompt_offset: int = 0
    half_line: int | None = None  # the stream's end when something of a person's stood at the prompt
    began: float = 0.0
    is_fresh: bool = True  # nothing of ours was typed at its prompt yet
    may_have_typeahead: bool = False  # it ran so long that somebody may have typed ahead, unseen
    image: int | None = None
    typed_line: int | None = None  # how much is typed, as the private key told it
    is_capturing: bool = False
    echo: bytearray | None = None  # what came since the typing, where no mark tells the start
    ahead: bytearray = field(default_factory=bytearray)  # what came between the prompt and the typing
    line: str = ""  # what was typed last
    lines_left: list[str] | None = None
    is_doubted: bool = False  # what has begun may be a line that somebody typed just before ours

    def forget_length(self) -> None:
        self.typed_line = None

    def shows_its_line(self) -> bool:
        if b"\n" in self.ahead:
            return False  # a line was ended before ours was typed
        echo = bytes(self.ahead + (self.echo or b""))
        return self.command is None or may_show(echo, self.line, is_drawn=self.shell.draws)

    def said_of_the_line(self) -> bytes:
        """What a shell printed behind the echo of a line that never started."""
        return bytes(self.echo or b"").partition(b"\n")[2]


class Layers:
    """Text and marks in; commands are started, fed and ended."""

    def __init__(
        self, scanner: Scanner, changed: Callable[[], None], is_behind: Callable[[NestedShell], bool]
    ) -> None:
        """`is_behind` tells whether another program has the terminal, so that the layer cannot prompt."""
        self.stack: list[NestedShell] = []
        self.answered: Mark | None = None  # a shell's answer to a line that asks what it is
        self._scanner = scanner
        self._changed = changed
        self._is_behind = is_behind

    @property
    def top(self) -> NestedShell | None:
        return self.stack[-1] if self.stack else None

    def text(self, data: bytes) -> None:
        for layer in self.stack:
            if layer.at is Phase.PROMPT and len(layer.ahead) < _LONGEST_ECHO:
                layer.ahead += data
            if layer.command is None:
                continue
            if layer.is_capturing:
                layer.command.output.feed(data)
            elif layer.echo is not None:
                self._past_echo(layer, data)

    def mark(self, mark: Mark) -> None:
        if mark.kind == "S":
            self.answered = mark
        elif mark.kind == "I":
            self._loaded(mark)
        else:
            layer = self._find(mark.nonce)
            if layer is not None and self._is_borrowed(layer, mark):
                return
            # An E comes before the status that tells how the shells inside have ended.
            if mark.kind != "E":
                self._end_inside(layer, mark)
            if layer is not None:
                _ACTIONS[mark.kind](self, layer, mark)
        self._changed()

    def typed(self, layer: NestedShell, line: str) -> None:
        """A line of the layer's command is about to be typed at its prompt."""
        layer.began, layer.is_fresh = time.monotonic(), False
        layer.at, layer.status, layer.line = Phase.TYPED, None, line
        layer.echo, layer.is_capturing, layer.is_doubted = bytearray(), False, False

    def forget(self, layer: NestedShell, reason: str) -> None:
        """A layer, and all inside it, that will not speak again."""
        while layer in self.stack:
            gone = self.stack.pop()
            self._scanner.nonces.discard(gone.nonce)
            if gone.command is not None:
                gone.command.lose(reason)

    def end(self, status: int | None, reason: str) -> None:
        """The pane has ended: the outermost shell's command with its status, the others unseen."""
        while self.stack:
            layer = self.stack.pop()
            if layer.command is None:
                continue
            if not self.stack and status is not None:
                is_unseen = layer.at is Phase.TYPED and not layer.command.output.size
                words = " What it printed was not seen." if is_unseen else ""
                layer.command.finish(status, f"The shell ended with it, and the pane is closed.{words}")
            else:
                layer.command.lose(reason)

    def _loaded(self, mark: Mark) -> None:
        name, _, pid = mark.value.partition(".")
        layer = self._find(mark.nonce)
        if layer is None:
            shell = SHELLS.get(name)
            if shell is not None:
                self.stack.append(NestedShell(mark.nonce, shell, int(pid) if pid.isdigit() else 0))

    def _find(self, nonce: str) -> NestedShell | None:
        return next((layer for layer in self.stack if layer.nonce == nonce), None)

    def _is_borrowed(self, layer: NestedShell, mark: Mark) -> bool:
        """Whether a program inside shows a prompt that it has inherited, with the marks of this layer."""
        is_in_prompt = mark.kind in "BPQ" or (mark.kind == "D" and not layer.shell.tells_start)
        return is_in_prompt and self._is_behind(layer)

    def _end_inside(self, layer: NestedShell | None, mark: Mark) -> None:
        """A layer speaks: those inside it have ended, with the status that it now tells."""
        while layer is not None and self.stack[-1] is not layer:
            gone = self.stack.pop()
            self._scanner.nonces.discard(gone.nonce)
            if gone.command is None:
                continue
            if mark.kind in "DQ" and _is_one_program(self.stack[-1]):
                gone.command.finish(exit_code(mark.number), "The shell ended with it.")
            else:
                gone.command.lose("The shell that it ran in has ended; nothing tells with which status.")

    def _past_echo(self, layer: NestedShell, data: bytes) -> None:
        """Where no mark tells the start, output begins behind the line end that follows the echo."""
        assert layer.echo is not None
        if len(layer.echo) < _LONGEST_ECHO:
            layer.echo += data
        if layer.shell.tells_start or layer.command is None:
            return
        at = echo_end(bytes(layer.echo), layer.line)
        if at < 0:
            return
        rest, layer.echo = bytes(layer.echo[at:]), None
        layer.at, layer.is_capturing = Phase.RUNNING, True
        if rest:
            layer.command.output.feed(rest)

    def starts(self, layer: NestedShell, _: Mark) -> None:
        if layer.at is not Phase.TYPED:
            layer.began = time.monotonic()
        self._disown(layer)
        layer.is_doubted = layer.at is Phase.TYPED and not layer.shows_its_line()
        layer.at, layer.status, layer.half_line = Phase.RUNNING, None, None
        layer.is_capturing, layer.echo = layer.command is not None, None

    def _disown(self, layer: NestedShell) -> None:
        """Another command follows at once: the one before it was not ours."""
        if layer.is_doubted and layer.command is not None:
            layer.command.output.restart()
        layer.is_doubted = False

    def output_ends(self, layer: NestedShell, _: Mark) -> None:
        if layer.command is not None and layer.echo and layer.at is Phase.TYPED:
            self._disown(layer)
            layer.command.output.feed(layer.said_of_the_line())
        for inner in self.stack[self.stack.index(layer) :]:
            inner.is_capturing, inner.echo = False, None

    def finishes(self, layer: NestedShell, mark: Mark) -> None:
        self.output_ends(layer, mark)
        layer.may_have_typeahead = time.monotonic() - layer.began > _A_MOMENT_S
        layer.at, layer.status, layer.half_line = Phase.FINISHED, exit_code(mark.number), None
        if not layer.lines_left and not layer.is_doubted:
            self.finish(layer)

    def finishes_late(self, layer: NestedShell, mark: Mark) -> None:
        """Only where the hook that tells it is gone: a prompt may be drawn more than once."""
        if layer.at is Phase.RUNNING:
            self.finishes(layer, mark)

    def prompts(self, layer: NestedShell, mark: Mark) -> None:
        layer.prompt_offset = mark.end
        if layer.at is Phase.TYPED:
            return  # drawn again, while a line of ours is on its way
        if layer.is_doubted and layer.at is Phase.FINISHED:
            layer.at, layer.echo = Phase.TYPED, bytearray()  # ours may be about to begin
            layer.ahead = bytearray()
            return
        if layer.at is Phase.RUNNING and layer.command is not None:
            layer.command.lose("The shell's prompt came back and told no status.")
            layer.command = None
        layer.at, layer.ahead = Phase.PROMPT, bytearray()
        if not layer.lines_left:
            self.finish(layer)

    def trust(self, layer: NestedShell) -> None:
        """Nothing has followed: what was doubted was the command."""
        if layer.is_doubted and layer.at is Phase.TYPED and layer.status is not None:
            layer.is_doubted, layer.at = False, Phase.PROMPT
            self.finish(layer)

    def finish(self, layer: NestedShell) -> None:
        command, layer.command = layer.command, None
        if command is None:
            return
        if layer.status is None:
            command.lose("It was given up before it was complete.")
        else:
            command.finish(layer.status, "Interrupted." if layer.status == _INTERRUPTED else None)

    def continues(self, layer: NestedShell, _: Mark) -> None:
        layer.is_capturing, layer.echo = False, None
        layer.at = Phase.CONTINUATION

    def tells_length(self, layer: NestedShell, mark: Mark) -> None:
        layer.typed_line = mark.number


def _is_one_program(layer: NestedShell) -> bool:
    """Whether the status that a layer tells is that of the shell inside it."""
    return layer.command is None or not _SEVERAL.search(layer.command.text)


_ACTIONS: dict[str, Callable[[Layers, NestedShell, Mark], None]] = {
    "C": Layers.starts,
    "E": Layers.output_ends,
    "D": Layers.finishes,
    "Q": Layers.finishes_late,
    "B": Layers.prompts,
    "P": Layers.continues,
    "L": Layers.tells_length,
}
