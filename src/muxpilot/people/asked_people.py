"""Names of the people who are asked, for the audit log: by their terminal, MCP client or browser."""

from __future__ import annotations

import os

from muxpilot.people.shown_text import show_line
from muxpilot.processes.identity import find_user
from muxpilot.tmux import Client

_LONGEST = 100


def describe_terminal(client: Client) -> str:
    """Return the user, the terminal and the session of a tmux client."""
    session = show_line(client.session_name, _LONGEST)
    return f"{_find_user(client)} at {client.tty} (tmux client {client.pid}, session {session})"


def describe_mcp_client(name: str) -> str:
    """Return an MCP client by the name that it gives itself."""
    return f"MCP client {show_line(name, _LONGEST)}"


def describe_process(pid: int, claim: str) -> str:
    """Return a process that answers through the question socket, with what it says of its person."""
    return f"{show_line(claim, _LONGEST)} (process {pid})" if claim else f"process {pid}"


def _find_user(client: Client) -> str:
    """Return the name of the user who runs a tmux client, or the number of a user without a name."""
    import pwd  # few processes need it

    uid = find_user(client.pid)
    if uid is None:
        try:
            uid = os.stat(client.tty).st_uid
        except OSError:
            return "a user who is not known"
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
