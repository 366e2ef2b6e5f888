"""Every exception that muxpilot raises on purpose.

    MuxpilotError
    ├── BadInput              an argument that is refused before tmux sees it
    ├── NotFound              no such session, window, pane, client or buffer
    ├── Ambiguous             a name that several windows share
    ├── NameTaken             a session of that name is already there
    ├── PaneDead              the pane's program has ended; it takes no input
    ├── Refused               tmux said no, in its own words
    ├── Denied                the policy of whoever runs muxpilot says no
    ├── NoStream              the pane's output cannot be followed
    └── Unavailable           tmux could not be asked
        ├── NoTmux            no tmux program, or one that is too old
        ├── NoServer          nothing listens on the socket
        ├── UnsafeSocket      the socket is somebody else's
        ├── Unreachable       the host that it is on cannot be reached
        ├── NotAnswering      no answer before the deadline
        └── ConnectionLost    tmux went away while the call was under way

The text of each is one line: what failed, then what to do.
"""

from __future__ import annotations

from typing import ClassVar

_LONGEST, _KEPT_END = 1000, 300


def _brief(what: str) -> str:
    """A caller's argument may be of any length, and they know it."""
    if len(what) <= _LONGEST:
        return what
    return f"{what[: _LONGEST - _KEPT_END]} … {what[-_KEPT_END:]}"


class MuxpilotError(Exception):
    """The root of the tree; `code` is stable, `hint` is the next step, `words` are tmux's own if it spoke."""

    code: ClassVar[str] = "error"
    hint: str | None = None

    def __init__(self, what: str, hint: str | None = None, *, words: str | None = None) -> None:
        self.what = _brief(what)
        super().__init__(self.what)
        self.words = words
        if hint is not None:
            self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} {self.hint}" if self.hint else self.what


class BadInput(MuxpilotError):
    code = "bad-input"


class NotFound(MuxpilotError):
    """Something that was asked for by id or name is not there; with None, none is."""

    code = "not-found"

    def __init__(self, noun: str, wanted: str | None, *, hint: str | None = None) -> None:
        super().__init__(
            f"There is no {noun}." if wanted is None else f"{noun.capitalize()} {wanted!r} not found.",
            hint or f"Use list-{noun}s to see the {noun}s there are.",
        )
        self.noun = noun
        self.wanted = wanted


class Ambiguous(MuxpilotError):
    code = "ambiguous"


class NameTaken(MuxpilotError):
    code = "name-taken"

    def __init__(self, name: str) -> None:
        super().__init__(f"A session named {name!r} is already there.", "Use another name.")
        self.name = name


class PaneDead(MuxpilotError):
    code = "pane-dead"
    hint = "Use respawn-pane to run something in it again, or kill-pane to remove it."


class Refused(MuxpilotError):
    code = "refused"


class Denied(MuxpilotError):
    """`key` is the rule of the configuration that denied."""

    code = "denied"
    hint = "Only who runs muxpilot can change that."

    def __init__(self, what: str, key: str, why: str) -> None:
        super().__init__(f"{what} is denied by {key}: {why}.")
        self.key = key
        self.why = why


class NoStream(MuxpilotError):
    code = "no-stream"


class Unavailable(MuxpilotError):
    code = "unavailable"


class NoTmux(Unavailable):
    code = "no-tmux"
    hint = "Install tmux 3.2 or newer, or name one that is."


class NoServer(Unavailable):
    code = "no-server"
    hint = "Create a session to start one."


class UnsafeSocket(Unavailable):
    code = "unsafe-socket"


class Unreachable(Unavailable):
    code = "unreachable"


class NotAnswering(Unavailable):
    code = "not-answering"
    hint = "It may be stopped or overloaded, and what was asked may still happen; look before you repeat it."


class ConnectionLost(Unavailable):
    code = "connection-lost"
    hint = "What was asked may or may not have happened; look before you repeat it."
