"""One worker of `--http-workers`. A supervisor starts it (`server/http_supervisor.py`); it is no command."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys

from muxpilot import trace
from muxpilot.errors import MuxpilotError
from muxpilot.server.http_supervisor import WorkerOrder


def main() -> int:
    """Serve as the order on stdin says, until a signal arrives or the supervisor ends."""
    order: WorkerOrder = pickle.load(sys.stdin.buffer)
    trace.configure(order.settings.log_level, worker=order.number)
    try:
        from muxpilot.server.http_server import serve_worker

        asyncio.run(serve_worker(order, supervisor=sys.stdin.fileno(), announce=_announce))
    except MuxpilotError as error:
        print(f"muxpilot: {error}", file=sys.stderr)
        return 2
    return 0


def _announce(address: str) -> None:
    os.write(sys.stdout.fileno(), f"{address}\n".encode())


if __name__ == "__main__":
    raise SystemExit(main())
