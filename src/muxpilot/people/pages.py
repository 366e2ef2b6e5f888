"""View pages that run: each announces its address on a socket, so that a question can point to it."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from muxpilot.people.json_lines import receive_message, send_message
from muxpilot.people.other_processes import request
from muxpilot.people.sockets import SHOWS, find_sockets, open_private_socket, remove_socket

_PAGE_S = 2.0


class PageAnnouncement:
    """Tells other processes the address of a view page of this process, until it is closed.

    The address must not hold a token: it is shown to clients and their models. `list_sockets` returns the
    tmux servers that the page shows, by the real paths of their sockets.
    """

    def __init__(self, address: str, list_sockets: Callable[[], Collection[str]]) -> None:
        self._address = address
        self._list_sockets = list_sockets
        self._path: Path | None = None
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Publish the address. Raise OSError or UnsafeSocket if no private socket can be made."""
        self._path, listener = open_private_socket(f"{SHOWS}{os.getpid()}-{secrets.token_hex(4)}")
        self._server = await asyncio.start_unix_server(self._serve, sock=listener)

    def close(self) -> None:
        """Withdraw the announcement."""
        if self._server is not None:
            self._server.close()
        if self._path is not None:
            remove_socket(self._path)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, ValueError):
                message = await receive_message(reader)
                is_shown = message is not None and message.get("socket") in self._list_sockets()
                await send_message(writer, {"url": self._address if is_shown else None})
        finally:
            writer.close()


async def find_page(socket: str) -> str | None:
    """Return the address of a view page that runs and shows this tmux server, or None."""
    message = {"do": "page", "socket": os.path.realpath(socket)}  # noqa: ASYNC240 - a few local names
    for path in find_sockets(SHOWS):
        answer = await request(path, message, _PAGE_S)
        if answer is not None and isinstance(answer.get("url"), str):
            return str(answer["url"])
    return None
