"""The hub: a small session of our own that the connection is attached to, so that it needs nobody else's.

It ends with us, even if we are killed: its pane reads a FIFO of which our process is the only writer.
(`destroy-unattached` is no way: tmux can crash when the last client leaves such a session.)
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Container
from typing import TypeVar

from muxpilot.errors import ConnectionLost
from muxpilot.tmux import formats
from muxpilot.tmux.connection.control import ControlClient
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.hosts.ssh import FIFO
from muxpilot.tmux.hosts.temporary_folder import Scratch, remove_fifo
from muxpilot.tmux.ids import SessionId
from muxpilot.tmux.models import CLIENT, HUB_OPTION, SESSION, Client, Session
from muxpilot.tmux.quote import literal

Row = TypeVar("Row")

# True for a session that is nobody's hub; joined over all sessions it is empty when only hubs are left.
_OTHERS = f"#{{S:#{{?#{{{HUB_OPTION}}},,1}}}}"

_FLAGS = "no-output,ignore-size"
_NOTE = "muxpilot's connection to this tmux server. It ends by itself; nothing of yours is in here."
# Opened both ways first: to open a FIFO for reading waits for a writer, and we may be gone already.
_PROGRAM = 'exec 4<>"$1" 3<"$1" 4<&- || exit; rm -f "$1"; printf %s "$2"; exec cat <&3 >/dev/null'
_FAR_PROGRAM = _PROGRAM.replace('rm -f "$1"', 'rm -rf "${1%/*}"')


class Hub:
    """One hub for one connection; closing it ends the session."""

    def __init__(self, scratch: Scratch) -> None:
        self.name = _hub_name()
        self._fifo = scratch.fifo("hub")
        # Both ends, so that the open does not wait; the pane's own reading end is another one.
        self._writer = os.open(self._fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def commands(self) -> list[Command]:
        """Make the session and attach to it, in one go: `-E` leaves everybody's environment alone."""
        return self._commands(_PROGRAM, str(self._fifo))

    def _commands(self, script: str, fifo: str) -> list[Command]:
        program = ("/bin/sh", "-c", script, "muxpilot", fifo, _NOTE)
        new = ("new-session", "-E", "-s", literal(self.name), "-x", "80", "-y", "24", "-f", _FLAGS)
        return [(*new, "--", *program), *self.options()]

    def options(self) -> list[Command]:
        target = f"={self.name}:"
        return [("set-option", *option, "-t", target, name, value) for *option, name, value in _OPTIONS]

    def close(self) -> None:
        if self._writer >= 0:
            os.close(self._writer)
            self._writer = -1
            remove_fifo(self._fifo)

    def leave(self, control: ControlClient) -> None:
        """Let the session end, and the connection with it."""
        self.close()


class FarHub(Hub):
    """The same on another host: it ends with our connection, which holds its FIFO open there."""

    def __init__(self) -> None:
        self.name = _hub_name()

    def commands(self) -> list[Command]:
        return self._commands(_FAR_PROGRAM, FIFO)

    def close(self) -> None:
        """Nothing of it is here."""

    def leave(self, control: ControlClient) -> None:
        control.hang_up()


def _hub_name() -> str:
    return f"muxpilot-hub-{os.getpid()}-{secrets.token_hex(4)}"


# A person's configuration must not end the hub early, nor keep it when its program has ended, nor move us
# into one of their sessions then.
_OPTIONS = (
    (HUB_OPTION, "1"),
    ("destroy-unattached", "off"),
    ("detach-on-destroy", "on"),
    ("-w", "remain-on-exit", "off"),
)


async def is_lonely(control: ControlClient) -> bool:
    """Whether no other session is left: the hub must never be what keeps a tmux server alive."""
    try:
        reply = await control.request(("display-message", "-p", _OTHERS))
    except ConnectionLost:
        return True
    return not reply.first_line


async def session_behind(control: ControlClient, used: Container[SessionId]) -> SessionId | None:
    """The session that a bare command of a person would have met without the hub, if it now meets the hub.

    tmux takes the one used last; a bare `tmux attach`, if somebody is attached to each. Those in `used`
    were used since the hub was made; tmux itself tells only the second.
    """
    rows = await _rows(control, SESSION, Session, "list-sessions")
    made = max((row.activity for row in rows if row.is_hub), default=0)
    others = [row for row in rows if not row.is_hub]
    if not others or any(row.activity > made or row.id in used for row in others):
        return None
    return max(others, key=lambda row: (row.activity, int(row.id[1:]))).id


async def use_again(control: ControlClient, session: SessionId) -> bool:
    """Let one of those who are attached to a session use it once more; false if nobody is."""
    clients = await _rows(control, CLIENT, Client, "list-clients")
    theirs = [row for row in clients if row.session_id == session]
    if theirs:
        latest = max(theirs, key=lambda row: row.activity)
        await control.request(("switch-client", "-E", "-c", latest.name, "-t", session))
    return bool(theirs)


async def is_fleeting(control: ControlClient, session: SessionId) -> bool:
    """Whether a session ends when its last client leaves it."""
    reply = await control.request(("display-message", "-p", "-t", session, "#{destroy-unattached}"))
    return reply.first_line not in ("0", "off", "")


def visiting(session: SessionId) -> Command:
    """Attach to a session, as quietly as to the hub."""
    return ("attach-session", "-E", "-t", session, "-f", _FLAGS)


async def _rows(
    control: ControlClient, table: formats.Fields, into: Callable[..., Row], command: str
) -> list[Row]:
    reply = await control.request((command, "-F", formats.template(table)))
    return formats.parse(table, reply.blocks[0].lines, into) if reply.error is None else []
