"""Random and half-right messages over stdio and HTTP, in both protocol eras, against the SDK's word.

    ./dev bench fuzz_protocol [--messages N] [--seed S]

The SDK's models say what each message is: a request with an id of ours is answered once, with that id; a
notification is not answered; what is no message gets an error. Nothing of our insides is in an answer, the
server lives, and it neither grows nor keeps descriptors. It ends with 1 if something was wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import mcp_types as types
from pydantic import ValidationError

from bench.fuzz import LEAKS, METHODS, value
from muxpilot.toolkit.spec import Effect
from muxpilot.tools import TOOLS
from tests.rigs.http_server import BOTH, serving_http
from tests.rigs.wire import ENVELOPE, LIMIT_S, MODERN_VERSION, Wire, private_place

READERS = [
    tool.name for tool in TOOLS if tool.effect is Effect.READ and tool.scopes and "watch" not in tool.name
]
SLOW = frozenset({"wait-for-pane-change", "subscriptions/listen"})
ERAS = ("handshake", "stateless")
CLIENTS = 8
# The server may grow by this much between the first quarter and the end.
MOST_GROWTH_MB = 12
MOST_MORE_DESCRIPTORS = 8
STATUSES = frozenset({200, 202, 400, 404, 405, 406, 409, 413, 415})


@dataclass
class Findings:
    """What was sent and answered, and what was wrong."""

    sent: int = 0
    answered: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, what: str, *facts: object) -> None:
        self.wrong.append(f"{what}: {' '.join(str(fact)[:300] for fact in facts)}")


def message(rng: random.Random, number: int, era: str) -> bytes:
    """Return one message. Its id, if it is good, is of ours."""
    if rng.random() < 0.08:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(200))).replace(b"\n", b" ")
    method = rng.choice(METHODS) if rng.random() < 0.6 else "tools/call"
    params: Any = value(rng)
    if method == "tools/call":
        arguments = {"paneId": "%0"} if rng.random() < 0.5 else value(rng)
        params = {"name": rng.choice(READERS), "arguments": arguments}
    if era == "stateless" and isinstance(params, dict) and rng.random() < 0.8:
        params["_meta"] = {**ENVELOPE} if rng.random() < 0.9 else value(rng)
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if not method.startswith("notifications/"):
        body["id"] = rng.choice((number, f"f{number}"))
    for key in tuple(body):
        if rng.random() < 0.03:
            body[key] = value(rng)
    text = json.dumps(body).encode()
    return text[: rng.randrange(len(text))] if rng.random() < 0.04 else text


def classify(line: bytes, number: int) -> str:
    """Say what the SDK takes a message for: ours (a request), notification, response, other or malformed."""
    try:
        decoded = json.loads(line.decode())
        json.dumps(decoded, allow_nan=False)
    except (ValueError, RecursionError):
        return "malformed"
    if not isinstance(decoded, dict):
        return "malformed"
    try:
        if "method" in decoded:
            model = types.JSONRPCRequest if "id" in decoded else types.JSONRPCNotification
            found = model.model_validate(decoded)
            if isinstance(found, types.JSONRPCNotification):
                return "notification"
            return "ours" if found.id in (number, f"f{number}") else "other"
        types.jsonrpc_message_adapter.validate_python(decoded)
    except ValidationError:
        return "malformed"
    return "response"


def is_slow(line: bytes) -> bool:
    return any(word.encode() in line for word in SLOW)


def messages(rng: random.Random, count: int, era: str) -> Iterator[tuple[int, bytes]]:
    for number in range(count):
        line = message(rng, 10_000 + number, era)
        if not is_slow(line) and b"cancelled" not in line:  # what it cancels is not answered
            yield 10_000 + number, line


def check_leaks(found: Findings, text: str) -> None:
    if any(word in text for word in LEAKS):
        found.add("leaks", text)


def memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class Growth:
    """The size of a server after a quarter of the messages, to compare with its size at the end."""

    def __init__(self, pid: int, at: int) -> None:
        self._pid = pid
        self._at = at
        self._before: tuple[float, int] | None = None

    def look(self, number: int) -> None:
        if number >= self._at and self._before is None:
            self._before = memory_mb(self._pid), descriptors(self._pid)

    def check(self, found: Findings) -> None:
        if self._before is None:
            return
        size, files = memory_mb(self._pid), descriptors(self._pid)
        if size - self._before[0] > MOST_GROWTH_MB:
            found.add("grows", f"{self._before[0]:.1f} to {size:.1f} MB")
        if files - self._before[1] > MOST_MORE_DESCRIPTORS:
            found.add("keeps descriptors", self._before[1], files)


async def fuzz_stdio(count: int, seed: int, era: str) -> Findings:
    """Send messages over stdio. Compare which ids were answered with which the SDK calls requests."""
    rng, found = random.Random(seed), Findings()
    wanted: set[int | str] = set()
    malformed = 0
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "fuzz", "cat")
        async with place.serve("--scope", "all", is_new=True) as wire:
            wire.envelope = ENVELOPE if era == "stateless" else None
            await (wire.result("server/discover") if wire.envelope else wire.shake_hands())
            growth = Growth(wire.pid, count // 4)
            for number, line in messages(rng, count, era):
                found.sent += 1
                kind = classify(line, number)
                malformed += kind == "malformed"
                if kind == "ours":
                    wanted.add(json.loads(line)["id"])
                await wire.write(line + b"\n")
                if number % 50 == 49:
                    await check_alive(wire)
                    growth.look(number - 10_000)
            await wait_for_answers(wire, wanted)
            growth.check(found)
            check_answers(found, wire, wanted, malformed)
            if await wire.close_stdin() != 0 or (said := await wire.stderr()):
                found.add("ended badly", wire.process.returncode, said)
    return found


async def check_alive(wire: Wire) -> None:
    await wire.ask("tools/call", {"name": "list-sessions"}, limit_s=LIMIT_S)


async def wait_for_answers(wire: Wire, wanted: set[int | str]) -> None:
    """Wait until all requests are answered, or for the limit."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LIMIT_S):
            while wanted - {answer["id"] for answer in wire.unasked}:
                await check_alive(wire)


def check_answers(found: Findings, wire: Wire, wanted: set[int | str], malformed: int) -> None:
    counted = Counter(answer["id"] for answer in wire.unasked if answer["id"] is not None)
    found.answered = len(wire.unasked)
    for answer in wire.unasked:
        check_leaks(found, json.dumps(answer))
    for identity in wanted - set(counted):
        found.add("not answered", identity)
    for identity in wanted:
        if counted[identity] > 1:
            found.add("answered more than once", identity)
    refused = sum(answer.get("error", {}).get("code") in (-32700, -32600) for answer in wire.unasked)
    if refused < malformed:
        found.add("malformed messages without an error", malformed - refused)


async def fuzz_http(count: int, seed: int, era: str) -> Findings:
    """Send messages by several connections. Each response must be one of HTTP, and of the protocol."""
    rng, found = random.Random(seed), Findings()
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "fuzz", "cat")
        async with serving_http(place, is_new=True) as (web, process):
            port = int(web.url.split(":")[2].partition("/")[0])
            growth = Growth(process.pid, count // 4)
            source = messages(rng, count, era)
            clients = [HttpFuzzer(port, era, random.Random(seed + n), found) for n in range(CLIENTS)]
            await asyncio.gather(*(client.run(source, growth) for client in clients))
            growth.check(found)
            process.terminate()
            assert process.stderr is not None
            said = (await process.stderr.read()).decode()
            if await process.wait() != 0 or said:
                found.add("ended badly", process.returncode, said)
    return found


class HttpFuzzer:
    """One connection at a time, and one session."""

    def __init__(self, port: int, era: str, rng: random.Random, found: Findings) -> None:
        self._port = port
        self._era = era
        self._rng = rng
        self._found = found
        self._session: str | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def run(self, source: Iterator[tuple[int, bytes]], growth: Growth) -> None:
        for number, line in source:
            self._found.sent += 1
            growth.look(number - 10_000)
            if self._era == "handshake" and self._session is None:
                await self._open()
            try:
                async with asyncio.timeout(LIMIT_S):
                    await self._exchange(number, line)
            except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
                self._found.add("no response", type(error).__name__, line)
                self._drop()
        self._drop()

    async def _open(self) -> None:
        who = {"name": "fuzz", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        _, head, _ = await self._post(json.dumps(body).encode(), {})
        self._session = re.findall(r"mcp-session-id: (\S+)", head)[0]

    async def _exchange(self, number: int, line: bytes) -> None:
        headers = self._headers(line)
        status, head, body = await self._post(line, headers)
        kind = classify(line, number)
        text = body.decode("utf-8", "replace")
        check_leaks(self._found, text)
        if status not in STATUSES:
            self._found.add("status", status, line)
        if kind == "malformed" and status not in (400, 404):
            self._found.add("malformed and not refused", status, line)
        if "text/event-stream" in head:
            text = re.findall(r"^data: (.+)$", text, re.MULTILINE)[-1]
        if kind == "ours" and status in (200, 400, 404) and "mcp-session-id" not in text:
            answer = json.loads(text)
            self._found.answered += 1
            if answer["id"] not in (json.loads(line)["id"], None) or ("result" in answer) == (
                "error" in answer
            ):
                self._found.add("wrong answer", text, line)
        if self._rng.random() < 0.01:  # some clients leave without a word
            self._drop()

    def _headers(self, line: bytes) -> dict[str, str]:
        """Return headers that mostly fit the body."""
        if self._era == "handshake":
            return {"mcp-session-id": self._session or "", "mcp-protocol-version": "2025-11-25"}
        given = {"mcp-protocol-version": MODERN_VERSION}
        try:
            body = json.loads(line)
            given["mcp-method"] = str(body["method"])
            name = body["params"].get("name", body["params"].get("uri"))
            given |= {"mcp-name": name} if isinstance(name, str) else {}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            given["mcp-method"] = "nonsense"
        if self._rng.random() < 0.05:
            given[self._rng.choice(tuple(given))] = "wrong"
        return {key: text for key, text in given.items() if text.isascii() and text.isprintable()}

    async def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, str, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 24)
        reader, writer = self._streams
        rows = [f"{name}: {text}" for name, text in headers.items()]
        rows += ["host: localhost", f"accept: {BOTH}", "content-type: application/json"]
        head = "\r\n".join(["POST /mcp HTTP/1.1", *rows, f"content-length: {len(body)}", "", ""])
        writer.write(head.encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode()
        if "chunked" in answer.lower():
            return int(answer.split()[1]), answer.lower(), await self._chunks(reader)
        length = re.findall(r"content-length: (\d+)", answer, re.IGNORECASE)
        return int(answer.split()[1]), answer.lower(), await reader.readexactly(int(length[0]))

    async def _chunks(self, reader: asyncio.StreamReader) -> bytes:
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
        return body

    def _drop(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def fuzz_all(count: int, seed: int) -> list[tuple[str, Findings]]:
    """Run both transports in both eras, with a quarter of the messages each."""
    ways = [("stdio", fuzz_stdio), ("http", fuzz_http)]
    return [(f"{name}, {era}", await run(count // 4, seed, era)) for name, run in ways for era in ERAS]


def main() -> int:
    parser = argparse.ArgumentParser(description="random messages over stdio and HTTP in both eras")
    parser.add_argument("--messages", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    results = asyncio.run(fuzz_all(given.messages, given.seed))
    print(f"seed {given.seed}")
    for name, found in results:
        print(f"{name}: {found.sent} messages, {found.answered} answered, {len(found.wrong)} faults")
        for line in found.wrong[:10]:
            print(f"  {line}")
    return 1 if any(found.wrong for _, found in results) else 0


if __name__ == "__main__":
    raise SystemExit(main())
