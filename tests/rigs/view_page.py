"""`muxpilot view` in this process, with a page that only reads the stream."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2

from muxpilot.config import Audit, Security, Settings
from muxpilot.view.run_page import listen, run

LIMIT_S = 20.0


@asynccontextmanager
async def viewing(
    socket: str, *, audit: Path | None = None, security: Security | None = None, ssh: str | None = None
) -> AsyncIterator[str]:
    """The address that a person would be told."""
    settings = Settings(
        socket=socket,
        ssh=ssh,
        audit=Audit(path=str(audit) if audit else None),
        security=security or Security(),
    )
    told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stopped = asyncio.Event()
    serving = asyncio.create_task(run(settings, listen(0), told.set_result, stopped))
    try:
        yield await asyncio.wait_for(told, LIMIT_S)
    finally:
        stopped.set()
        await asyncio.wait_for(serving, LIMIT_S)


@dataclass
class Reader:
    """What a page was told: the last scene, the trail, and by pane id its screens and its text."""

    scene: dict[str, Any] = field(default_factory=dict)
    trail: list[dict[str, Any]] = field(default_factory=list)
    trail_problem: str | None = None
    screens: defaultdict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    texts: defaultdict[str, str] = field(default_factory=lambda: defaultdict(str))

    @property
    def panes(self) -> dict[str, dict[str, Any]]:
        return {row["id"]: row for row in self.scene.get("panes", [])}

    def shown(self, pane: str) -> str:
        """The newest screen of a pane, and what came after it."""
        return "\n".join(self.screens[pane][-1]["lines"] if self.screens[pane] else []) + self.texts[pane]

    async def until(self, check: Callable[[], object], limit_s: float = LIMIT_S) -> None:
        deadline = time.monotonic() + limit_s
        while not check():
            assert time.monotonic() < deadline, (self.scene, dict(self.texts), self.trail)
            await asyncio.sleep(0.01)

    def hear(self, what: str, facts: dict[str, Any]) -> None:
        pane = str(facts.get("key", "")).rpartition(" ")[2]
        if what == "scene":
            self.scene = facts
        elif what == "trail":
            self.trail += facts["entries"]
            self.trail_problem = facts["problem"]
        elif what == "screen":
            self.screens[pane].append(facts)
            self.texts[pane] = ""
        else:
            self.texts[pane] += facts["text"]


@asynccontextmanager
async def page(url: str, query: str = "") -> AsyncIterator[Reader]:
    reader = Reader()
    async with (
        httpx2.AsyncClient(timeout=LIMIT_S, verify=False) as client,
        client.stream("GET", f"{url}events{query}") as response,
    ):
        assert response.status_code == 200
        hearing = asyncio.create_task(_hear(response, reader))
        try:
            yield reader
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)


async def _hear(response: httpx2.Response, reader: Reader) -> None:
    what = ""
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "event":
            what = value
        elif name == "data":
            reader.hear(what, json.loads(value))


def line(tool: str, **facts: Any) -> str:
    """A line of an audit log."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"ts": now, "tool": tool, "output_bytes": 0, "ok": True, "ms": 1.0, **facts}) + "\n"
