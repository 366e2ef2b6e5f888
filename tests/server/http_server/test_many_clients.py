"""200 HTTP clients that connect, subscribe, vanish and come back: nothing is lost, and nothing is left."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

from tests.rigs.http_server import BOTH, HttpClient, initialize_request, request, serving_http
from tests.rigs.waiting import eventually
from tests.rigs.wire import LIMIT_S, Place, private_place

CLIENTS = 200
PANES = 4


class RawClient:
    """A client with one connection for requests, and one for its stream, which it may just drop."""

    def __init__(self, web: HttpClient) -> None:
        self._port = int(web.url.split(":")[2].partition("/")[0])
        self.session = ""
        self.ids: list[str] = []
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def open(self, uri: str) -> None:
        """Shake hands and subscribe."""
        head, _ = await self._ask("POST", initialize_request())
        self.session = re.findall(r"mcp-session-id: (\S+)", head)[0]
        _, body = await self._ask("POST", request("resources/subscribe", uri=uri))
        assert json.loads(body)["result"] == {}

    async def listen(self) -> None:
        """Open the stream, or resume it after the last event that came."""
        last = {"last-event-id": self.ids[-1]} if self.ids else {}
        self._stream = await asyncio.open_connection("127.0.0.1", self._port)
        self._stream[1].write(self._head("GET", 0, **last))
        head = (await self._stream[0].readuntil(b"\r\n\r\n")).decode()
        assert head.startswith("HTTP/1.1 200 "), head

    async def next_event(self) -> Any:
        """Return the next event with data, and note its id."""
        assert self._stream is not None
        identity = ""
        async with asyncio.timeout(LIMIT_S):
            while True:
                line = (await self._stream[0].readline()).decode().strip()
                if line.startswith("id: "):
                    identity = line[4:]
                if line.startswith("data: "):
                    self.ids.append(identity)
                    return json.loads(line[6:])

    def vanish(self) -> None:
        """Drop the stream without a word."""
        assert self._stream is not None
        self._stream[1].transport.abort()

    async def end(self) -> None:
        self.vanish()
        head, _ = await self._ask("DELETE", None)
        assert head.startswith("HTTP/1.1 200 ")

    async def _ask(self, method: str, body: Any) -> tuple[str, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        content = b"" if body is None else json.dumps(body).encode()
        writer.write(self._head(method, len(content)) + content)
        async with asyncio.timeout(LIMIT_S):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = re.findall(r"content-length: (\d+)", head)
            answer = await reader.readexactly(int(length[0]))
        writer.close()
        return head, answer

    def _head(self, method: str, length: int, **more: str) -> bytes:
        session = {"mcp-session-id": self.session} if self.session else {}
        given = {"host": "localhost", "accept": BOTH, "content-type": "application/json"} | session | more
        rows = [f"{name.replace('_', '-')}: {value}" for name, value in given.items()]
        return "\r\n".join([f"{method} /mcp HTTP/1.1", *rows, f"content-length: {length}", "", ""]).encode()


async def test_two_hundred_clients_lose_nothing_and_leave_nothing() -> None:
    with private_place() as place:
        panes = [
            place.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "stty -echo; exec cat")
            for _ in range(PANES)
        ]
        async with serving_http(place, is_new=True) as (web, process):
            clients = [RawClient(web) for _ in range(CLIENTS)]
            files = _open_files(process.pid)
            for at in range(0, CLIENTS, 20):  # twenty at a time: the machine is shared
                await asyncio.gather(
                    *(
                        client.open(f"tmux://pane/{panes[(at + n) % PANES]}")
                        for n, client in enumerate(clients[at : at + 20])
                    )
                )
            await asyncio.gather(*(client.listen() for client in clients))
            await _type_everywhere(place, panes)
            for client, event in zip(clients, await _next_events(clients), strict=True):
                assert event["method"] == "notifications/resources/updated", client.session
            for client in clients:
                client.vanish()
            for pane in panes:
                place.tmux("kill-pane", "-t", pane)  # a change that comes while all are away
            await asyncio.gather(*(client.listen() for client in clients))
            await _next_events(clients)
            for client in clients:
                first, second = (int(identity.rpartition("-")[2]) for identity in client.ids[-2:])
                assert second == first + 1, "an event is missing"
            await asyncio.gather(*(client.end() for client in clients))

            async def is_left() -> bool:
                return _open_files(process.pid) <= files + 10

            await eventually(is_left)


async def _next_events(clients: list[RawClient]) -> list[Any]:
    return await asyncio.gather(*(client.next_event() for client in clients))


async def _type_everywhere(place: Place, panes: list[str]) -> None:
    for pane in panes:
        place.tmux("send-keys", "-t", pane, "x", "Enter")


def _open_files(pid: int) -> int:
    return len(os.listdir(Path(f"/proc/{pid}/fd")))
