"""The one place where the messages of tmux become exceptions.

The hints are written for the users of the tools, so they name tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from muxpilot.errors import (
    BadInput,
    ConnectionLost,
    MuxpilotError,
    NameTaken,
    NoServer,
    NotFound,
    PaneDead,
    Refused,
    UnsafeSocket,
)
from muxpilot.tmux.connection.protocol import CommandReply

Found = re.Match[str]

_SERVER_GONE = (
    r"\[?(?:server exited|lost server)|no server running"
    r"|error connecting to .*\((?:No such file|Connection refused)"
)

# Each pattern is matched from the beginning of the message: what comes later may be a name from a person.
_ERRORS: tuple[tuple[str, Callable[[Found], MuxpilotError]], ...] = (
    (r"can't find (session|window|pane|client)(?:: (.*))?", lambda m: _not_found(m[1], m[2] or "")),
    (r"no such (session|window|pane): (.*)", lambda m: _not_found(m[1], m[2])),
    (r"(?:no buffer |unknown buffer: )(.*)", lambda m: NotFound("buffer", m[1])),
    (r"no buffers?$", lambda m: NotFound("buffer", "newest")),
    (r"duplicate session: (.*)", lambda m: NameTaken(m[1])),
    (
        r"command too long",
        lambda m: BadInput(
            "The command is too long for a tmux server that is not running yet.",
            "Create a session without it first, or put it into a file and run that.",
        ),
    ),
    (
        r"index in use: (.*)",
        lambda m: Refused(f"The index {m[1]} is in use.", "Give another index, or leave it out."),
    ),
    (r"target pane has exited", lambda m: PaneDead("The pane's program has ended.")),
    (
        r"(?:respawn pane failed: )?pane .* still active",
        lambda m: Refused("The pane's program is still running.", "Set kill to end it first."),
    ),
    (
        r"(?:create pane failed: )?(?:no space for (?:a )?new pane|pane too small)",
        lambda m: Refused(
            "There is no space for another pane.", "Use create-window, or resize or zoom out first."
        ),
    ),
    (
        r"error connecting to (.*) \((Operation not permitted)\)",
        lambda m: UnsafeSocket(
            f"The sandbox around muxpilot forbids unix sockets: {m[1]} cannot be reached.",
            "Allow them in its settings (Anthropic's sandbox-runtime: network.allowAllUnixSockets = true).",
        ),
    ),
    (
        r"error connecting to (.*) \((Permission denied)\)|access not allowed",
        lambda m: UnsafeSocket("The tmux server belongs to another user.", "Use a socket of your own."),
    ),
    (
        r"server version is too old|protocol version mismatch",
        lambda m: Refused(f"{m.string}", "Restart tmux."),
    ),
    (r"\[?(?:server exited|lost server)", lambda m: ConnectionLost("The tmux server has ended.")),
    (
        r"no current (?:target|session|window|pane|client)|no sessions",
        lambda m: NoServer("The tmux server has no session."),
    ),
    (_SERVER_GONE, lambda m: NoServer("No tmux server is running there.")),
)


def _not_found(noun: str, wanted: str) -> NotFound:
    """Return the error with the noun that the id belongs to.

    tmux calls a missing `%9` a window where it looked for a window.
    """
    return NotFound({"$": "session", "@": "window", "%": "pane"}.get(wanted[:1], noun), wanted)


def error_from_message(message: str) -> MuxpilotError:
    """Return the exception for a message of tmux. An unknown message is passed on as it is."""
    text = " ".join(message.splitlines()).strip()
    found = ((make, match) for pattern, make in _ERRORS if (match := re.match(pattern, text)))
    make, match = next(found, (None, None))
    error = make(match) if make and match else Refused(f"tmux refused: {text or 'no reason given'}.")
    error.tmux_message = text
    return error


def raise_on_error(reply: CommandReply) -> CommandReply:
    """Return the reply, or raise the exception for the first command that failed."""
    if reply.error is not None:
        raise error_from_message(reply.error)
    return reply


def is_server_gone(message: str) -> bool:
    return re.match(_SERVER_GONE, message) is not None
