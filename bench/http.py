"""muxpilot behind HTTP: many clients at once beside version 1, and what one process carries.

    ./dev bench http [--scale]

Each client has a session and a connection of its own and asks again as soon as it is answered. The clients
share one process beside the server's, so on few cores they take their part of the time that is told. It
ends with 1 if a call failed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import Times, machine, print_table
from bench.server import OURS, private_tmux, version_1

HEAD = ("server", "clients", "calls", "failed", "calls/s", "p50 ms", "p95 ms", "p99 ms", "server MB")
SCALE_HEAD = ("what", "how many", "list-panes p50 ms", "p95 ms", "server MB")
TURNS = 4
WHO = {"name": "bench", "version": "1"}
_IDS = count(1)


class Client:
    """One keep-alive connection and one session, without a library that would take longer than the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._session = ""

    async def open(self) -> None:
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": WHO}
        head, _ = await self._post({"method": "initialize", "params": params, "id": next(_IDS)})
        found = re.search(r"mcp-session-id: (\S+)", head)
        assert found, head
        self._session = f"mcp-session-id: {found[1]}\r\n"
        await self._post({"method": "notifications/initialized"})

    async def call(self, tool: str, **arguments: Any) -> bool:
        """Whether it was answered, and well."""
        params = {"name": tool, "arguments": arguments}
        head, body = await self._post({"method": "tools/call", "params": params, "id": next(_IDS)})
        return head.startswith("HTTP/1.1 200 ") and b'"isError":false' in body

    def close(self) -> None:
        self._writer.close()

    async def _post(self, message: dict[str, Any]) -> tuple[str, bytes]:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        head = (
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            "accept: application/json, text/event-stream\r\n"
            f"{self._session}content-length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        if "chunked" in answer.lower():
            return answer, await self._chunks()
        length = re.search(r"content-length: (\d+)", answer, re.IGNORECASE)
        return answer, await self._reader.readexactly(int(length[1]) if length else 0)

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self._reader.readline(), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readline()
        return body


@asynccontextmanager
async def clients(port: int, number: int) -> AsyncIterator[list[Client]]:
    made = []
    try:
        for _ in range(number):
            made.append(Client(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)))
            await made[-1].open()
        yield made
    finally:
        for client in made:
            client.close()


@contextmanager
def server(socket: str, home: str, program: Sequence[str] = OURS, *flags: str) -> Iterator[tuple[int, int]]:
    """Its port and its pid."""
    argv = [*program, "--scope", "all", "--http", "127.0.0.1:0", "--socket", socket, *flags]
    kept = {name: os.environ[name] for name in ("PATH", "TERM", "LANG") if name in os.environ}
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=kept | {"HOME": home}, cwd=home)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        yield int(line.rstrip().removesuffix("/mcp").rpartition(":")[2]), process.pid
    finally:
        process.terminate()
        process.wait(10)


def megabytes(pid: int) -> str:
    """Return the memory of a server, with that of its workers."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    workers = [each for each in children if b"http_worker" in Path(f"/proc/{each}/cmdline").read_bytes()]
    return f"{sum(map(_kilobytes, [str(pid), *workers])) / 1024:.0f}"


def _kilobytes(pid: str) -> int:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else 0


@dataclass
class Crowd:
    """What a number of clients got from one server, over several turns."""

    clients: int
    seconds: float = 0.0
    failed: int = 0
    taken: list[float] = field(default_factory=list)

    @property
    def each_second(self) -> float:
        return len(self.taken) / self.seconds

    def row(self, name: str, size: str) -> list[str]:
        times = Times(self.taken)
        at = [f"{times.at(share):.1f}" for share in (0.5, 0.95, 0.99)]
        counts = [str(self.clients), str(len(self.taken)), str(self.failed), f"{self.each_second:.0f}"]
        return [name, *counts, *at, size]


async def gather_crowd(port: int, crowd: Crowd, *, calls: int) -> None:
    """Let all clients call at once."""

    async def run(client: Client) -> None:
        for _ in range(calls):
            began = time.perf_counter()
            crowd.failed += not await client.call("list-panes")
            crowd.taken.append((time.perf_counter() - began) * 1000)

    async with clients(port, crowd.clients) as made:
        began = time.perf_counter()
        await asyncio.gather(*map(run, made))
        crowd.seconds += time.perf_counter() - began


async def one_by_one(client: Client, rounds: int = 100, **arguments: Any) -> list[str]:
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        assert await client.call("list-panes", **arguments)
        taken.append((time.perf_counter() - began) * 1000)
    return [f"{Times(taken).at(share):.1f}" for share in (0.5, 0.95)]


async def panes(most: int) -> AsyncIterator[list[str]]:
    """All panes of one tmux in one answer."""
    with private_tmux() as (socket, home), server(socket, home) as (port, pid):
        async with clients(port, 1) as [client]:
            there = 4
            for wanted in (4, 50, 200, most):
                more = ["new-window", "-d", "-t", "=0:", "exec sleep 1000", ";"] * (wanted - there)
                argv = ["tmux", "-S", socket, *more, "has-session"]
                await asyncio.to_thread(subprocess.run, argv, check=True)
                there = wanted
                yield ["panes of one tmux", str(wanted), *await one_by_one(client), megabytes(pid)]


async def servers(most: int) -> AsyncIterator[list[str]]:
    """One after another, each asked: all of them are then connected."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(private_tmux())[0] for _ in range(most)]
        home = os.path.dirname(sockets[0])
        port, pid = stack.enter_context(server(sockets[0], home))
        async with clients(port, 1) as [client]:
            for wanted in (1, most // 2, most):
                for socket in sockets[:wanted]:
                    assert await client.call("list-panes", socket=socket)
                yield ["tmux servers connected", str(wanted), *await one_by_one(client), megabytes(pid)]


async def crowds(arguments: argparse.Namespace) -> int:
    """Let both servers take turns, so that what disturbs the machine disturbs both."""
    rows, lost = [], 0
    two = "muxpilot, 2 workers"
    programs = {"muxpilot": OURS, two: OURS, "version 1": version_1()}
    flags = {two: ("--http-workers", "2")}
    with ExitStack() as stack:
        running = {}
        for name, program in programs.items():
            socket, home = stack.enter_context(private_tmux())
            running[name] = stack.enter_context(server(socket, home, program, *flags.get(name, ())))
        for number in [1, arguments.clients, *((100, 300) if arguments.scale else ())]:
            found = {name: Crowd(number) for name in programs}
            for _ in range(TURNS):
                for name, (port, _) in running.items():
                    await gather_crowd(port, found[name], calls=arguments.calls // TURNS)
            rows += [found[name].row(name, megabytes(pid)) for name, (_, pid) in running.items()]
            lost += sum(each.failed for each in found.values())
            if number == arguments.clients:
                verdict = compare(found)
    print_table(HEAD, rows)
    print(f"\n{verdict}")
    return lost


def compare(found: Mapping[str, Crowd]) -> str:
    """Say how far the bars are met."""
    ours, before = found["muxpilot"], found["version 1"]
    rate = ours.each_second / before.each_second
    slow = Times(ours.taken).at(0.95) / Times(before.taken).at(0.95)
    met = ["missed", "met"]
    return (
        f"{ours.clients} clients: {rate:.1f} times the calls per second of version 1"
        f" (>= 3.5: {met[rate >= 3.5]}); "
        f"p95 {slow:.2f} times version 1's (<= 0.33: {met[slow <= 1 / 3]})"
    )


async def measured(arguments: argparse.Namespace) -> int:
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}\n")
    lost = await crowds(arguments)
    if arguments.scale:
        rows = [row async for row in panes(500)] + [row async for row in servers(20)]
        print()
        print_table(SCALE_HEAD, rows)
    return 1 if lost else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="muxpilot behind HTTP, measured")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--calls", type=int, default=200, help="of each client")
    parser.add_argument("--scale", action="store_true", help="also more clients, panes and tmux servers")
    return asyncio.run(measured(parser.parse_args()))


if __name__ == "__main__":
    raise SystemExit(main())
