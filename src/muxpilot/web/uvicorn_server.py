"""uvicorn without its logs, signal handlers and optional parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from muxpilot.errors import BadInput
from muxpilot.web.asgi import Asgi

try:
    import httptools  # noqa: F401 - uvicorn parses requests with it, twice as fast as without
    import uvicorn
except ImportError:
    raise BadInput(
        "HTTP needs the packages uvicorn and httptools.", "Install them with muxpilot: muxpilot[http]."
    ) from None

MOST_CONNECTIONS = 2000


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
        http="httptools",
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
