"""Triggers on this machine: ports, addresses and files."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Shell
from tests.rigs.waiting import eventually
from tests.rigs.watching import wait_for_report

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Yield a socket with a port of its own, on which it does not listen yet."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield listener


def port_of(listener: socket.socket) -> int:
    port: int = listener.getsockname()[1]
    return port


@asynccontextmanager
async def serve_http(listener: socket.socket, status: Callable[[], str]) -> AsyncIterator[list[bytes]]:
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(f"HTTP/1.1 {status()}\r\nLocation: http://example.com/\r\n\r\n".encode())
        writer.close()

    server = await asyncio.start_server(answer, sock=listener)
    async with server:
        yield asked


async def test_a_port_is_told_once_something_listens_and_is_not_connected_to(
    call: Call, pane: Shell, listener: socket.socket
) -> None:
    made, port = await pane("exec sleep 60"), port_of(listener)
    watch = (await call("notify-when", paneId=made.pane, triggers=f"port:{port}", timeout=60))["watchId"]
    assert (await call("get-watch", watchId=watch))["status"] == "watching"
    asked: list[object] = []
    server = await asyncio.start_server(lambda reader, writer: asked.append(writer), sock=listener)
    async with server:
        report = await wait_for_report(call, watch)
    assert (report["event"], report["detail"]) == (f"port:{port}", f"Port {port} is listened on")
    assert asked == []


@pytest.mark.parametrize("good", ["200 OK", "302 Found", "404 Not Found"])
async def test_an_address_is_told_once_it_answers_below_500(
    call: Call, pane: Shell, listener: socket.socket, good: str
) -> None:
    made = await pane("exec sleep 60")
    answers = iter(["503 Service Unavailable", "500 No", *[good] * 1000])
    trigger = f"url:http://localhost:{port_of(listener)}/health?x=1"
    watch = (await call("notify-when", paneId=made.pane, triggers=trigger, timeout=60))["watchId"]
    async with serve_http(listener, lambda: next(answers)) as asked:
        report = await wait_for_report(call, watch)
    assert (report["event"], report["detail"]) == (trigger, f"Answered with status {good[:3]}")
    assert len(asked) == 3, "a redirection is an answer, and is not followed"
    assert asked[0].startswith(b"GET /health?x=1 HTTP/1.1\r\nHost: localhost:")


async def test_a_file_is_told_once_it_is_there(call: Call, pane: Shell, tmp_path: Path) -> None:
    made = await pane("exec sleep 60", cwd=str(tmp_path))
    watch = (await call("notify-when", paneId=made.pane, triggers="file:a, b", timeout=60))["watchId"]
    assert (await call("get-watch", watchId=watch))["status"] == "watching"
    (tmp_path / "a, b").touch()
    report = await wait_for_report(call, watch)
    assert (report["event"], report["detail"]) == ("file:a, b", f"The file is there: {tmp_path}/a, b")


async def test_what_no_pane_prints_is_waited_for_beyond_the_panes_end(
    call: Call, rig: Rig, pane: Shell, tmp_path: Path
) -> None:
    made = await pane("printf go; read -r x")
    await rig.wait_until_shown(made.pane, "go")
    trigger = f"file:{tmp_path}/late"
    watch = (await call("notify-when", paneId=made.pane, triggers=trigger, timeout=60))["watchId"]
    await call("send-keys", paneId=made.pane, keys="x", enter=True)
    await eventually(lambda: _is_gone(rig, made.pane))
    (tmp_path / "late").touch()
    assert (await wait_for_report(call, watch))["event"] == trigger


async def _is_gone(rig: Rig, pane: str) -> bool:
    return pane not in rig.raw("list-panes", "-a", "-F", "#{pane_id}").split()
