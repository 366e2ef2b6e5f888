"""The workers of `--http-workers`, and connections that end in one of them."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx2

from tests.rigs.http_server import HttpClient, serving_http
from tests.rigs.waiting import eventually, send_signal
from tests.rigs.wire import LIMIT_S, Place, Process


class Workers:
    """The worker processes of one supervisor."""

    def __init__(self, web: HttpClient, process: Process) -> None:
        self.web = web
        self.process = process
        self._clients: list[HttpClient] = []

    def pids(self) -> list[int]:
        pid = self.process.pid
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    async def wait_for(self, number: int) -> list[int]:
        """Wait until there are so many workers, and return their pids."""

        async def all_pids() -> list[int]:
            return found if len(found := self.pids()) == number else []

        await eventually(all_pids)
        return self.pids()

    async def connect(self, pid: int) -> HttpClient:
        """Return a client with one connection, to this worker: the others are stopped meanwhile."""
        limits = httpx2.Limits(max_connections=1, keepalive_expiry=None)
        raw = httpx2.AsyncClient(timeout=LIMIT_S, limits=limits)
        client = HttpClient(self.web.url, self.web.token, raw)
        self._clients.append(client)
        others = [each for each in self.pids() if each != pid]
        with _stopped(others):

            async def all_stopped() -> bool:
                return all(_state(each) == "T" for each in others)

            await eventually(all_stopped)
            assert (await client.send("GET", f"{client.url}/none")).status_code == 404
        return client

    async def connect_to_each(self, number: int) -> list[HttpClient]:
        return [await self.connect(pid) for pid in await self.wait_for(number)]

    async def close(self) -> None:
        for client in self._clients:
            await client.client.aclose()


@contextmanager
def _stopped(pids: list[int]) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            send_signal(pid, signal.SIGCONT)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@asynccontextmanager
async def serving_by_workers(
    place: Place, number: int, *args: str, token: str | None = None
) -> AsyncIterator[Workers]:
    async with serving_http(place, "--http-workers", str(number), *args, token=token) as (web, process):
        workers = Workers(web, process)
        try:
            yield workers
        finally:
            await workers.close()
