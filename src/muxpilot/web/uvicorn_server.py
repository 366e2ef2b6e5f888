"""uvicorn without its logs, signal handlers and optional parts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from muxpilot.errors import BadInput
from muxpilot.web.asgi import Asgi

try:
    import httptools  # noqa: F401 - uvicorn parses requests with it, twice as fast as without
    import uvicorn
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError:
    raise BadInput(
        "HTTP needs the packages uvicorn and httptools.", "Install them with muxpilot: muxpilot[http]."
    ) from None

MOST_CONNECTIONS = 2000


class JoiningTransport:
    """A transport that sends what is written in one turn of the event loop as one piece.

    uvicorn writes the head and the body of a response one after the other: two system calls, each a tenth of
    the time of a whole request.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send with everything else that is written before the event loop goes on."""
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(data)

    def close(self) -> None:
        """Close after everything is sent."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        pieces, self._pieces = self._pieces, []
        if pieces:
            self._transport.write(b"".join(pieces))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class JoiningProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol on such a transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast("asyncio.Transport", JoiningTransport(transport)))


class UvicornServer(uvicorn.Server):
    """A uvicorn server that leaves signals to muxpilot: uvicorn would raise them again when it has ended."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def force_close(self) -> None:
        """Close open connections without waiting for their requests."""
        self.force_exit = True


def build_config(application: Asgi) -> uvicorn.Config:
    """Return the settings that all our servers use."""
    return uvicorn.Config(
        application,
        http=JoiningProtocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="critical",  # the applications report their own errors
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )
