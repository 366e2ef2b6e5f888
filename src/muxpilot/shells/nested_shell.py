"""One shell in a pane: who it is, what is known about its prompt, and the line that was typed there last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from muxpilot.records import mutable_object
from muxpilot.shell_table import SHELLS, ShellKind
from muxpilot.shells.command import Command, ShellId
from muxpilot.shells.echo import may_be_echo_of
from muxpilot.shells.osc133 import MarkOrder
from muxpilot.shells.shell_phases import Phase
from muxpilot.trace import Trace, area


@mutable_object
class PromptState:
    """What is known about a shell's prompt, and about the text that a person has typed there."""

    offset: int = 0  # in the stream, after the prompt's last byte
    since: bytearray = field(default_factory=bytearray)  # printed after the prompt, before our typing
    # How much is typed, as the private key reported last, for a muxpilot. None: it has not answered yet.
    typed_length: int | None = 0
    person_typed_at: int | None = None  # the stream's end when text of a person was found at the prompt
    may_have_typeahead: bool = False  # the last command ran long enough for a person to type ahead
    is_first: bool = True  # we have typed nothing at its prompt yet


@mutable_object
class TypedLine:
    """The line that was typed last at a shell's prompt, and what is known about it."""

    text: str = ""
    began_at: float = 0.0
    serial: int = -1  # the number of the prompt at which it was typed
    echo: bytearray | None = None  # printed since the typing; None when output has begun or ended
    is_capturing: bool = False  # bytes are output of the command
    has_output: bool = False  # the command has printed something
    # The command that has started may be a line that a person typed just before ours.
    is_unconfirmed: bool = False
    untyped_lines: list[str] | None = None  # lines of the same command that are typed after this one

    def begin(self, text: str, began_at: float, *, serial: int) -> None:
        """Note that this line was typed at the prompt with this number, not before `began_at`."""
        self.text, self.began_at, self.serial, self.echo = text, began_at, serial, bytearray()
        self.is_capturing = self.has_output = self.is_unconfirmed = False

    def stop_capturing(self) -> None:
        self.is_capturing, self.echo = False, None

    def text_after_echo(self) -> bytes:
        """Return what a shell printed after the echo of a line that never started."""
        return bytes(self.echo or b"").partition(b"\n")[2]


@mutable_object
class NestedShell:
    """One shell in a pane. Only `shell_phases.change_phase` changes its phase."""

    nonce: str
    kind: ShellKind
    order: MarkOrder  # its pid, and the numbers of its marks
    trace: Trace = field(default_factory=lambda: area("shells"))
    depth: int = 0  # its place in the stack
    image: int | None = None  # changes when the process becomes another program
    phase: Phase = Phase.STARTING
    command: Command | None = None
    status: int | None = None  # of the last command
    # Our key asks whether its command has ended. A prompt that is drawn again for the key does not tell it.
    is_end_asked: bool = False
    is_key_silent: bool = False  # the key did not answer: a person may have unbound it
    prompt: PromptState = field(default_factory=PromptState)
    line: TypedLine = field(default_factory=TypedLine)

    @property
    def pid(self) -> int:
        return self.order.pid

    @property
    def id(self) -> ShellId:
        return ShellId(self.nonce, self.pid, self.depth)

    def may_have_started_our_line(self) -> bool:
        """Return whether the echo before a start mark can be that of the line that we typed."""
        if b"\n" in self.prompt.since:
            return False  # a person's line was ended before ours was typed
        echo = bytes(self.prompt.since + (self.line.echo or b""))
        return self.command is None or may_be_echo_of(
            echo, self.line.text, is_decorated=self.kind.decorates_echo
        )

    def runs_unsure_line(self) -> bool:
        """Return whether the command that has ended may have been a person's."""
        return self.line.is_unconfirmed and self.phase is Phase.FINISHED

    def snapshot(self) -> dict[str, str | int | None]:
        """Return what another process must know to read on in this shell's bytes, as plain values.

        Its command is not among them: the process that goes on has to set `command` itself.
        """
        line, prompt = self.line, self.prompt
        return {
            "nonce": self.nonce,
            "kind": self.kind.name,
            "pid": self.order.pid,
            "serial": self.order.serial,
            "started": self.order.started,
            "phase": self.phase.value,
            "status": self.status,
            "image": self.image,
            "promptOffset": prompt.offset,
            "sincePrompt": prompt.since.decode("latin-1"),
            "line": line.text,
            "echo": line.echo.decode("latin-1") if line.echo is not None else None,
            "isCapturing": line.is_capturing,
            "hasOutput": line.has_output,
            "isUnconfirmed": line.is_unconfirmed,
        }


def restore_shell(saved: Mapping[str, str | int | None], *, trace: Trace, depth: int = 0) -> NestedShell:
    """Return the shell that `NestedShell.snapshot` described; raise ValueError if it cannot be one."""
    kind = SHELLS.get(str(saved.get("kind")))
    numbers = [saved.get(name) for name in ("pid", "serial", "started", "promptOffset")]
    if kind is None or not all(isinstance(number, int) for number in numbers):
        raise ValueError("this is no shell")
    pid, serial, started, offset = (int(number or 0) for number in numbers)
    shell = NestedShell(
        str(saved["nonce"]),
        kind,
        MarkOrder(pid, serial, started),
        trace.child(shell=kind.name),
        depth=depth,
        image=_find_number(saved, "image"),
        phase=Phase(saved["phase"]),
        status=_find_number(saved, "status"),
    )
    shell.prompt.offset, shell.prompt.is_first = offset, False
    shell.prompt.since = bytearray(_to_bytes(saved.get("sincePrompt")) or b"")
    echo = _to_bytes(saved.get("echo"))
    shell.line = TypedLine(
        str(saved.get("line") or ""),
        echo=bytearray(echo) if echo is not None else None,
        is_capturing=bool(saved.get("isCapturing")),
        has_output=bool(saved.get("hasOutput")),
        is_unconfirmed=bool(saved.get("isUnconfirmed")),
    )
    return shell


def _find_number(saved: Mapping[str, str | int | None], name: str) -> int | None:
    value = saved.get(name)
    return value if isinstance(value, int) else None


def _to_bytes(text: str | int | None) -> bytes | None:
    return text.encode("latin-1", "replace") if isinstance(text, str) else None
