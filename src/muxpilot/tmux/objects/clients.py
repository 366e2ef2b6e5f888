"""Clients: the people who look on, and what can be shown to them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from muxpilot.errors import BadInput, NotFound
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.ids import SessionId
from muxpilot.tmux.models import CLIENT, Client
from muxpilot.tmux.quote import literal

_LONGEST_DISPLAY_S = 3600


class Clients:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self) -> Sequence[Client]:
        """People only: a connection of ours, or of another muxpilot, is nobody's terminal."""
        rows = await self._connection.records(CLIENT, Client, "list-clients")
        return [row for row in rows if row.is_person and row.session_id is not None]

    async def detach(self, tty: str) -> None:
        for row in await self.list():
            if tty and tty in (row.tty, row.name):
                await self._connection.run(("detach-client", "-t", row.name))
                return
        raise NotFound("client", tty)

    async def show(self, message: str, *, duration_s: float = 3, session: SessionId | None = None) -> int:
        """Show one line to everybody, or to those who look at a session; answers how many saw it."""
        if not 0 < duration_s <= _LONGEST_DISPLAY_S:
            raise BadInput(
                f"The duration {duration_s:g} is out of range.", f"Use up to {_LONGEST_DISPLAY_S} s."
            )
        text = literal(_shown(message), clock=True)
        people = [row for row in await self.list() if session in (None, row.session_id)]
        delay = ("-d", str(max(1, round(duration_s * 1000))))
        results = await asyncio.gather(
            *(
                self._connection.run(("display-message", "-c", row.name, *delay, "--", text))
                for row in people
            ),
            return_exceptions=True,
        )
        return sum(not _left(result) for result in results)


def _left(result: object) -> bool:
    """Somebody who detached meanwhile saw nothing; any other failure is told."""
    if isinstance(result, NotFound):
        return True
    if isinstance(result, BaseException):
        raise result
    return False


def _shown(message: str) -> str:
    """One line of printable text; a style in it is shown and not obeyed."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", message).replace("#", "##")
