"""Run `muxpilot view` in this process, and read its event stream as the page does."""

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

from muxpilot.config.model import AuditSettings, SecuritySettings, Settings
from muxpilot.view.run_page import open_page_listener, run

LIMIT_S = 20.0


@asynccontextmanager
async def run_view(
    socket: str,
    *,
    audit: Path | None = None,
    security: SecuritySettings | None = None,
    ssh: str | None = None,
    codes: list[str] | None = None,
) -> AsyncIterator[str]:
    """Run the page and yield its address. Each code that it prints is added to `codes`."""
    settings = Settings(
        socket=socket,
        ssh=ssh,
        audit=AuditSettings(path=str(audit) if audit else None),
        security=security or SecuritySettings(),
    )
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stopped = asyncio.Event()
    print_code = (codes if codes is not None else []).append
    serving = asyncio.create_task(
        run(settings, open_page_listener(0), address.set_result, stopped, print_code=print_code)
    )
    try:
        yield await asyncio.wait_for(address, LIMIT_S)
    finally:
        stopped.set()
        await asyncio.wait_for(serving, LIMIT_S)


@dataclass
class EventReader:
    """The events that a page received: the last overview, the audit log, the screens and text of panes."""

    overview: dict[str, Any] = field(default_factory=dict)
    audit: list[dict[str, Any]] = field(default_factory=list)
    audit_problem: str | None = None
    questions: list[dict[str, Any]] = field(default_factory=list)
    screens: defaultdict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    texts: defaultdict[str, str] = field(default_factory=lambda: defaultdict(str))

    @property
    def panes(self) -> dict[str, dict[str, Any]]:
        return {row["id"]: row for row in self.overview.get("panes", [])}

    def screen_text(self, pane: str) -> str:
        """Return the newest screen of a pane and the output after it."""
        return "\n".join(self.screens[pane][-1]["lines"] if self.screens[pane] else []) + self.texts[pane]

    async def wait_until(self, check: Callable[[], object], limit_s: float = LIMIT_S) -> None:
        deadline = time.monotonic() + limit_s
        while not check():
            assert time.monotonic() < deadline, (self.overview, dict(self.texts), self.audit)
            await asyncio.sleep(0.01)

    def receive(self, name: str, facts: dict[str, Any]) -> None:
        pane = str(facts.get("key", "")).rpartition(" ")[2]
        if name == "overview":
            self.overview = facts
        elif name == "questions":
            self.questions = facts["questions"]
        elif name == "audit":
            self.audit += facts["entries"]
            self.audit_problem = facts["problem"]
        elif name == "screen":
            self.screens[pane].append(facts)
            self.texts[pane] = ""
        else:
            self.texts[pane] += facts["text"]


@asynccontextmanager
async def open_page(url: str, query: str = "") -> AsyncIterator[EventReader]:
    reader = EventReader()
    async with (
        httpx2.AsyncClient(timeout=LIMIT_S, verify=False) as client,
        client.stream("GET", f"{url}events{query}") as response,
    ):
        assert response.status_code == 200
        receiving = asyncio.create_task(_receive_events(response, reader))
        try:
            yield reader
        finally:
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)


async def _receive_events(response: httpx2.Response, reader: EventReader) -> None:
    event = ""
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "event":
            event = value
        elif name == "data":
            reader.receive(event, json.loads(value))


def audit_line(tool: str, **facts: Any) -> str:
    """Return a line of an audit log."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"ts": now, "tool": tool, "output_bytes": 0, "ok": True, "ms": 1.0, **facts}) + "\n"
