"""The hub: a small session of our own that the control client is attached to, instead of a person's session.

It ends with this process, even if that is killed: the program in its pane reads a FIFO whose only writer is
this process. (`destroy-unattached` cannot be used instead: tmux can crash when the last client leaves such a
session.)
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
from muxpilot.tmux.hosts.far_script import FAR_PIPE, FAR_TMUX, FAR_TMUX_VARIABLE, HUB_SCRIPT
from muxpilot.tmux.hosts.temporary_folder import TemporaryFolder, remove_fifo
from muxpilot.tmux.ids import SessionId
from muxpilot.tmux.models import CLIENT, HUB_OPTION, SESSION, Client, Session
from muxpilot.tmux.quote import escape_format

Row = TypeVar("Row")

# `1` for each session that is not the hub of a muxpilot. It is empty when only hubs are left.
_OTHER_SESSIONS = f"#{{S:#{{?#{{{HUB_OPTION}}},,1}}}}"

_CLIENT_FLAGS = "no-output,ignore-size"
_SCREEN_TEXT = "muxpilot's connection to this tmux server. It ends by itself; nothing of yours is in here."
# The FIFO is first opened for reading and writing: to open it only for reading waits for a writer, and this
# process may have ended already.
_SCRIPT = 'exec 4<>"$1" 3<"$1" 4<&- || exit; rm -f "$1"; printf %s "$2"; exec cat <&3 >/dev/null'

# The person's configuration must not end the hub early, keep it when its program has ended, or move our
# client into one of the person's sessions then.
_OPTIONS = (
    (HUB_OPTION, "1"),
    ("destroy-unattached", "off"),
    ("detach-on-destroy", "on"),
    ("-w", "remain-on-exit", "off"),
)


class HubSession:
    """The hub of one connection to a server on this host. Closing it ends the session."""

    def __init__(self, folder: TemporaryFolder) -> None:
        self.name = _hub_name()
        self._fifo = folder.create_fifo("hub")
        # Opened for reading and writing, so that the open does not wait. The pane has its own reading end.
        self._writer = os.open(self._fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def create_commands(self) -> list[Command]:
        """Return the commands that create the session and attach to it.

        `-E` keeps tmux from updating the environment of sessions.
        """
        return self._create_commands(_SCRIPT, str(self._fifo), _SCREEN_TEXT)

    def _create_commands(self, script: str, *arguments: str, variables: Command = ()) -> list[Command]:
        program = ("/bin/sh", "-c", script, "muxpilot", *arguments)
        new = (
            *("new-session", "-E", "-s", escape_format(self.name)),
            *("-x", "80", "-y", "24", "-f", _CLIENT_FLAGS),
            *(word for variable in variables for word in ("-e", variable)),
        )
        return [(*new, "--", *program), *self.option_commands()]

    def option_commands(self) -> list[Command]:
        """Return the commands that set the options of the session."""
        target = f"={self.name}:"
        return [("set-option", *option, "-t", target, name, value) for *option, name, value in _OPTIONS]

    def close(self) -> None:
        """Close our end of the FIFO, which ends the program in the pane and so the session."""
        if self._writer >= 0:
            os.close(self._writer)
            self._writer = -1
            remove_fifo(self._fifo)

    def end_session(self, control: ControlClient) -> None:
        """Let the session end, and with it the control client."""
        self.close()


class RemoteHubSession(HubSession):
    """The hub on another host. It ends with our connection, which holds a pipe open there.

    The name of a hub that follows a lost one differs in the number at its end only.
    """

    def __init__(self, lost_hub: str | None = None) -> None:
        family, _, number = (lost_hub or f"{_hub_name()}-0").rpartition("-")
        self.name = f"{family}-{int(number) + 1}"

    def create_commands(self) -> list[Command]:
        arguments = (FAR_PIPE, _SCREEN_TEXT, FAR_TMUX)
        return self._create_commands(HUB_SCRIPT, *arguments, variables=(FAR_TMUX_VARIABLE,))

    def close(self) -> None:
        """Do nothing: the pipe is on the other host."""

    def end_session(self, control: ControlClient) -> None:
        control.close_writing()


def _hub_name() -> str:
    return f"muxpilot-hub-{os.getpid()}-{secrets.token_hex(4)}"


async def has_no_other_session(control: ControlClient) -> bool:
    """Return whether only hubs are left. A hub must never be what keeps a tmux server alive."""
    try:
        reply = await control.request(("display-message", "-p", _OTHER_SESSIONS))
    except ConnectionLost:
        return True
    return not reply.first_line


async def default_session_without_hub(control: ControlClient, used: Container[SessionId]) -> SessionId | None:
    """Return the session that would be tmux's default without our hub, or None if the hub is not the default.

    A command without a target uses the session that was used last. So does a bare `tmux attach`, if each
    session has a client. Sessions in `used` were used since the hub was created: tmux itself reports the
    time of use only in whole seconds.
    """
    rows = await _list_rows(control, SESSION, Session, "list-sessions")
    created = max((row.activity for row in rows if row.is_hub), default=0)
    others = [row for row in rows if not row.is_hub]
    if not others or any(row.activity > created or row.id in used for row in others):
        return None
    return max(others, key=lambda row: (row.activity, int(row.id[1:]))).id


async def touch_session(control: ControlClient, session: SessionId) -> bool:
    """Make a session the one used last, through a client that is attached to it. Return False if none is."""
    clients = await _list_rows(control, CLIENT, Client, "list-clients")
    attached = [row for row in clients if row.session_id == session]
    if attached:
        latest = max(attached, key=lambda row: row.activity)
        await control.request(("switch-client", "-E", "-c", latest.name, "-t", session))
    return bool(attached)


async def is_destroyed_when_unattached(control: ControlClient, session: SessionId) -> bool:
    """Return whether tmux destroys a session when its last client leaves it."""
    reply = await control.request(("display-message", "-p", "-t", session, "#{destroy-unattached}"))
    return reply.first_line not in ("0", "off", "")


def attach_command(session: SessionId) -> Command:
    """Return the command that attaches to a session without changing its size or environment."""
    return ("attach-session", "-E", "-t", session, "-f", _CLIENT_FLAGS)


async def _list_rows(
    control: ControlClient, table: formats.FieldTable, into: Callable[..., Row], command: str
) -> list[Row]:
    reply = await control.request((command, "-F", formats.template(table)))
    return formats.parse(table, reply.blocks[0].lines, into) if reply.error is None else []
