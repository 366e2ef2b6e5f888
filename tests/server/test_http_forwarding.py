"""A request is forwarded to a worker that has ended, closes, fails or is silent."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from muxpilot.server import http_forwarding
from muxpilot.server.http_exchange import HttpRequest
from muxpilot.server.http_forwarding import OtherWorkers
from muxpilot.web.asgi import HttpRefusal, Message
from tests.rigs.waiting import LIMIT_S, eventually

IDENTITY = b"2-" + b"0" * 32


@pytest_asyncio.fixture(autouse=True)
async def all_closed() -> AsyncIterator[None]:
    """Wait until each connection of a test is closed on both sides: none may be left open."""
    before = len(os.listdir("/proc/self/fd"))
    yield

    async def is_closed() -> bool:
        return len(os.listdir("/proc/self/fd")) <= before

    await eventually(is_closed)


class Client:
    """The client's side of a request: what was sent to it, and when it has gone."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.gone = asyncio.Event()

    def request(self, body: bytes = b"{}") -> HttpRequest:
        async def receive() -> Message:
            await self.gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            self.messages.append(message)

        return HttpRequest("POST", {}, [(b"x-name", b"\xff")], body, receive, send)


@asynccontextmanager
async def second_worker(
    folder: Path, handle: Callable[[HttpRequest], Awaitable[None]]
) -> AsyncIterator[OtherWorkers]:
    """Let worker 2 answer, and yield worker 1."""
    second = OtherWorkers(folder, 2)
    await second.listen(handle)
    try:
        yield OtherWorkers(folder, 1)
    finally:
        second.close()


async def test_a_request_and_its_answer_arrive_as_they_were_sent(folder: Path) -> None:
    seen: list[HttpRequest] = []

    async def handle(http: HttpRequest) -> None:
        seen.append(http)
        await http.respond(201, b"\x00\xff" * 100_000, [(b"x-other", b"\xfe")])

    client = Client()
    async with second_worker(folder, handle) as first:
        assert await first.forward(client.request(b"\x00" * 3_000_000), IDENTITY)
    [given] = seen
    assert (given.method, given.headers, given.body) == ("POST", {b"x-name": b"\xff"}, b"\x00" * 3_000_000)
    start, part = client.messages
    assert (start["status"], start["headers"][-1]) == (201, (b"x-other", b"\xfe"))
    assert (part["body"], part["more_body"]) == (b"\x00\xff" * 100_000, False)


async def test_the_worker_learns_that_the_client_has_gone(folder: Path) -> None:
    client = Client()
    noticed = asyncio.Event()

    async def handle(http: HttpRequest) -> None:
        await http.start_stream([])
        await http.wait_until_gone()
        noticed.set()

    async def has_begun() -> bool:
        return bool(client.messages)

    async with second_worker(folder, handle) as first:
        forwarding = asyncio.create_task(first.forward(client.request(), IDENTITY))
        await eventually(has_begun)
        client.gone.set()
        await asyncio.wait_for(noticed.wait(), LIMIT_S)
        assert await forwarding


async def test_a_bug_in_the_other_worker_is_answered(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def handle(http: HttpRequest) -> None:
        raise KeyError

    client = Client()
    async with second_worker(folder, handle) as first:
        assert await first.forward(client.request(), IDENTITY)
    assert client.messages[0]["status"] == 500
    assert "incident" in caplog.text


@pytest.mark.parametrize("identity", [IDENTITY, b"1-" + b"0" * 32, b"2", b"", b"../2", b"2-" + b"0" * 33])
async def test_what_no_worker_can_answer_is_not_answered(folder: Path, identity: bytes) -> None:
    client = Client()
    assert not await OtherWorkers(folder, 1).forward(client.request(), identity)
    assert client.messages == []


async def test_a_worker_that_ends_before_its_answer_has_not_answered(folder: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8)
        writer.close()

    client = Client()
    async with await asyncio.start_unix_server(serve, folder / "2"):
        assert not await OtherWorkers(folder, 1).forward(client.request(), IDENTITY)
    assert client.messages == []


async def test_a_silent_worker_is_not_taken_for_one_that_has_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_forwarding, "_SILENCE_S", 0.1)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_unix_server(serve, folder / "2"):
        with pytest.raises(HttpRefusal) as refused:
            await OtherWorkers(folder, 1).forward(Client().request(), IDENTITY)
    assert refused.value.status == 503


async def test_a_worker_that_cannot_be_reached_is_not_taken_for_one_that_has_ended(folder: Path) -> None:
    (folder / "2").symlink_to("2")  # connecting fails with ELOOP
    with pytest.raises(HttpRefusal) as refused:
        await OtherWorkers(folder, 1).forward(Client().request(), IDENTITY)
    assert refused.value.status == 503


async def test_a_worker_that_closes_ends_the_requests_of_others(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client, began = Client(), asyncio.Event()

    async def handle(http: HttpRequest) -> None:
        began.set()
        await asyncio.Event().wait()

    async with second_worker(folder, handle) as first:
        forwarding = asyncio.create_task(first.forward(client.request(), IDENTITY))
        await asyncio.wait_for(began.wait(), LIMIT_S)
    assert not await asyncio.wait_for(forwarding, LIMIT_S)
    assert [row for row in caplog.records if row.levelname == "ERROR"] == []
