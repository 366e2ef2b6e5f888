"""A muxpilot that asks, and a view page on which a person could answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2

from tests.rigs.asking import use_home
from tests.rigs.view_page import LIMIT_S, run_view
from tests.rigs.waiting import eventually
from tests.rigs.wire import Pending, Place, Wire, private_place


@dataclass
class AskingPage:
    """The page, the muxpilot that asks, and a browser's cookies and key."""

    place: Place
    wire: Wire
    address: str
    codes: list[str]
    client: httpx2.AsyncClient
    key: str = ""
    log: list[str] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://{urlsplit(self.address).netloc}"

    @property
    def ask(self) -> str:
        return f"{self.origin}/ask/"

    async def post(self, path: str, body: Any, **headers: str) -> httpx2.Response:
        given = {"origin": self.origin, "x-muxpilot-key": self.key, **headers}
        return await self.client.post(self.ask + path, json=body, headers=given)

    async def open_questions(self) -> list[dict[str, Any]]:
        answer = await self.client.get(f"{self.ask}open", headers={"x-muxpilot-key": self.key})
        assert answer.status_code == 200, answer.text
        return list(answer.json()["questions"])

    async def unlock(self) -> None:
        answer = await self.post("code", {"code": self.codes[-1]})
        assert answer.json()["problem"] == "", answer.text
        self.key = answer.json()["key"]

    async def wait_for_question(self) -> dict[str, Any]:
        async def find() -> Any:
            return next(iter(await self.open_questions()), None)

        found: Any = await eventually(find)
        return dict(found)

    async def start_asking(self, **arguments: Any) -> Pending:
        return await self.wire.start_call("ask-person", **arguments)


@asynccontextmanager
async def open_page(place: Place, wire: Any) -> AsyncIterator[AskingPage]:
    """Run the view page of a place. `wire` is the muxpilot that asks; None where the SDK's client runs it."""
    codes: list[str] = []
    async with (
        run_view(place.socket, codes=codes) as address,
        httpx2.AsyncClient(verify=False, timeout=LIMIT_S) as client,
    ):
        yield AskingPage(place, wire, address, codes, client)


@asynccontextmanager
async def asking_page(*args: str) -> AsyncIterator[AskingPage]:
    """Run a private tmux with a session, a muxpilot, and a view page for it."""
    with private_place() as place, use_home(place):
        place.tmux("new-session", "-d", "-s", "dev", "-x", "80", "-y", "24", "exec cat")
        async with place.serve("--scope", "all", *args) as wire, open_page(place, wire) as page:
            await wire.shake_hands()
            yield page
