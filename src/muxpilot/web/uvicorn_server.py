"""The web server: uvicorn, as quiet and as small as it can be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from muxpilot.web.asgi import Asgi

MOST_CONNECTIONS = 2000


class Web(uvicorn.Server):
    """Signals are ours to take: uvicorn would raise them again when it has ended."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def hurry(self) -> None:
        self.force_exit = True


def config(application: Asgi) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        http="h11",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="critical",  # what goes wrong in a request is told by whoever serves it
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )
