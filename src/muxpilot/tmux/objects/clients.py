"""Clients: list the people who are attached, show them messages, detach them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from muxpilot.errors import BadInput, NotFound, Refused
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.ids import SessionId
from muxpilot.tmux.models import CLIENT, Client
from muxpilot.tmux.quote import escape_format
from muxpilot.tmux.version import MESSAGES_REACH_CLIENTS

_LONGEST_DISPLAY_S = 3600


class Clients:
    """The people who are attached to one server. Connections of programs are left out."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self) -> Sequence[Client]:
        """List the clients of people; control connections, ours and other muxpilots', are left out."""
        rows = await self._connection.list_records(CLIENT, Client, "list-clients")
        return [row for row in rows if row.is_person and row.session_id is not None]

    async def detach(self, tty: str) -> None:
        """Detach the client on this terminal."""
        for row in await self.list():
            if tty and tty in (row.tty, row.name):
                await self._connection.run(("detach-client", "-t", row.name))
                return
        raise NotFound("client", tty)

    async def show_message(
        self, message: str, *, duration_s: float = 3, session: SessionId | None = None
    ) -> int:
        """Show one line to all people, or to those in a session. Return how many saw it."""
        if not 0 < duration_s <= _LONGEST_DISPLAY_S:
            raise BadInput(
                f"The duration {duration_s:g} is out of range.", f"Use up to {_LONGEST_DISPLAY_S} s."
            )
        if await self._connection.server_version() < MESSAGES_REACH_CLIENTS:
            raise Refused(
                "This tmux cannot show a message to a chosen client; 3.3 and newer can.",
                "Use write-to-display.",
            )
        text = escape_format(_one_printable_line(message), is_strftime=True)
        people = [row for row in await self.list() if session in (None, row.session_id)]
        delay = ("-d", str(max(1, round(duration_s * 1000))))
        results = await asyncio.gather(
            *(
                self._connection.run(("display-message", "-c", row.name, *delay, "--", text))
                for row in people
            ),
            return_exceptions=True,
        )
        return sum(not _has_left(result) for result in results)


def _has_left(result: object) -> bool:
    """Return whether the client detached before it saw the message. Raise any other failure."""
    if isinstance(result, NotFound):
        return True
    if isinstance(result, BaseException):
        raise result
    return False


def _one_printable_line(message: str) -> str:
    """Replace control characters by blanks; double # so that styles are shown and not applied."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", message).replace("#", "##")
