"""Every exception that callers of muxpilot's modules have to expect.

    MuxpilotError
    ├── BadInput              an argument is invalid; tmux was not asked
    ├── NotFound              no such session, window, pane, client or buffer
    ├── Ambiguous             several windows share the given name
    ├── NameTaken             a session of that name already exists
    ├── PaneDead              the pane's program has ended, so the pane takes no input
    ├── Refused               the call cannot be carried out now: tmux or muxpilot refuses it
    ├── Denied                the configured policy forbids the call
    │   └── ApprovalNeeded    a person must allow the call first
    ├── NoStream              the output of the pane cannot be followed
    └── Unavailable           tmux could not be asked
        ├── NoTmux            the tmux program is missing or too old
        ├── NoServer          no tmux server listens on the socket, or it has no session
        ├── UnsafeSocket      the socket belongs to another user, or is not a socket
        ├── Unreachable       the remote host cannot be reached
        ├── NotAnswering      tmux did not answer before the deadline
        └── ConnectionLost    tmux ended, or closed the connection, during the call

The text of each error is one line: what failed, then the next step for the caller. Hints are written for the
users of the tools, so they name tools, also where the engine in tmux/ raises the error.

Other exceptions are raised and caught inside muxpilot, and are defined where they are raised:

    PathNotAllowed    files/allowed_paths.py         a BadInput that also has the key of the setting
    WrongValue        toolkit/argument_types.py      an argument has the wrong type; becomes a BadInput
    UnknownTool       calls.py                       no tool has that name; becomes a protocol error
    ResourceFailed    resources.py                   a resource cannot be read; becomes a protocol error
    HttpRefusal       web/asgi.py                    an HTTP request is not served; becomes the response
    ForeignEntry      mcp_clients/entries.py         a client's file has our name for another program
    SearchStopped     buffers/search.py              the caller of a search no longer waits for it
    TicketRefused     tmux/objects/typing_ticket.py  another process has typed the text, or a later one
"""

from __future__ import annotations

from typing import ClassVar

_LONGEST_TEXT, _KEPT_TAIL = 1000, 300


def _shorten(what: str) -> str:
    """Cut the middle out of a long text: it may repeat an argument of any length."""
    if len(what) <= _LONGEST_TEXT:
        return what
    return f"{what[: _LONGEST_TEXT - _KEPT_TAIL]} … {what[-_KEPT_TAIL:]}"


class MuxpilotError(Exception):
    """The root of the tree.

    `code` is a stable identifier for programs, `what` says what failed, `hint` is the next step, and
    `tmux_message` is tmux's own text where the error comes from tmux.
    """

    code: ClassVar[str] = "error"
    hint: str | None = None

    def __init__(self, what: str, hint: str | None = None, *, tmux_message: str | None = None) -> None:
        self.what = _shorten(what)
        super().__init__(self.what)
        self.tmux_message = tmux_message
        if hint is not None:
            self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} {self.hint}" if self.hint else self.what


class BadInput(MuxpilotError):
    """An argument is invalid. It is refused before tmux sees it. `argument` is its name, if it is known."""

    code = "bad-input"

    def __init__(
        self,
        what: str,
        hint: str | None = None,
        *,
        tmux_message: str | None = None,
        argument: str | None = None,
    ) -> None:
        super().__init__(what, hint, tmux_message=tmux_message)
        self.argument = argument


class NotFound(MuxpilotError):
    """Raised if no object has this id or name; `wanted` is None where the server has none of that kind."""

    code = "not-found"

    def __init__(self, noun: str, wanted: str | None, *, hint: str | None = None) -> None:
        super().__init__(
            f"There is no {noun}." if wanted is None else f"{noun.capitalize()} {wanted!r} not found.",
            hint or f"Use list-{noun}s to see the {noun}s there are.",
        )
        self.noun = noun
        self.wanted = wanted


class Ambiguous(MuxpilotError):
    """Several windows share the given name."""

    code = "ambiguous"


class NameTaken(MuxpilotError):
    """A session of that name already exists."""

    code = "name-taken"

    def __init__(self, name: str) -> None:
        super().__init__(f"A session named {name!r} already exists.", "Use another name.")
        self.name = name


class PaneDead(MuxpilotError):
    """The pane's program has ended, so the pane takes no input."""

    code = "pane-dead"
    hint = "Use respawn-pane to start a program in it, or kill-pane to remove it."


class Refused(MuxpilotError):
    """The call cannot be carried out now: tmux or muxpilot refuses it."""

    code = "refused"


class Denied(MuxpilotError):
    """The configured policy forbids the call; `key` is the configuration key that does, `why` its reason."""

    code = "denied"
    hint = "Only the person who runs muxpilot can change this."

    def __init__(self, what: str, key: str, why: str) -> None:
        super().__init__(f"{what} is denied by {key}: {why}.")
        self.key = key
        self.why = why


class ApprovalNeeded(Denied):
    """A person must allow the call first. It is refused where no person can be asked."""

    hint = "A person must allow it, and cannot be asked here."
    # The texts that would reach shells. A person allows these, and no others.
    texts: tuple[str, ...] = ()


class NoStream(MuxpilotError):
    """The output of the pane cannot be followed."""

    code = "no-stream"


class Unavailable(MuxpilotError):
    """tmux could not be asked, so nothing is known about its sessions."""

    code = "unavailable"


class NoTmux(Unavailable):
    """The tmux program is missing or too old."""

    code = "no-tmux"
    hint = "Install tmux 3.2 or newer."


class NoServer(Unavailable):
    """Raised if no tmux server listens on the socket, or it has no session."""

    code = "no-server"
    hint = "Create a session to start one."


class UnsafeSocket(Unavailable):
    """The socket belongs to another user, is not a socket, or is in a folder that others can change."""

    code = "unsafe-socket"


class Unreachable(Unavailable):
    """The other host cannot be reached, by ssh or a command."""

    code = "unreachable"


class NotAnswering(Unavailable):
    """tmux did not answer before the deadline."""

    code = "not-answering"
    hint = (
        "tmux may be stopped or overloaded, and the request may still take effect: "
        "check before you repeat it."
    )


class ConnectionLost(Unavailable):
    """tmux ended, or closed the connection, before it answered the request."""

    code = "connection-lost"
    hint = "The request may or may not have taken effect: check before you repeat it."
