"""muxpilot over HTTP, with raw requests and with the SDK's client."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.rigs.wire import LIMIT_S, Place, Process, close_pipes, environment, start_server

BOTH = "application/json, text/event-stream"
VERSION = "2025-11-25"
TOKEN = "a-token-that-nobody-guesses"

_IDS = itertools.count(1)


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": next(_IDS), "method": method, "params": params}


def initialize_request() -> dict[str, Any]:
    who = {"name": "raw", "version": "1"}
    return request("initialize", protocolVersion=VERSION, capabilities={}, clientInfo=who)


def answer_of(response: httpx2.Response) -> Any:
    """Return the last message of a stream, or the only one of a body."""
    if response.headers["content-type"].startswith("text/event-stream"):
        [*_, last] = re.findall(r"^data: (.+)$", response.text, re.MULTILINE)
        return json.loads(last)
    return response.json()


@dataclass
class HttpClient:
    """Raw requests to one server."""

    url: str
    token: str | None = None
    client: httpx2.AsyncClient = field(default_factory=lambda: httpx2.AsyncClient(timeout=LIMIT_S))

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"} if self.token else {}

    async def post(self, body: Any, **headers: str) -> httpx2.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"content-type": "application/json", "accept": BOTH} | self.headers | _named(headers)
        return await self.client.post(self.url, content=content, headers=given)

    async def send(self, method: str, url: str | None = None, **headers: str) -> httpx2.Response:
        given = {"accept": BOTH} | self.headers | _named(headers)
        return await self.client.request(method, url or self.url, headers=given)

    async def open(self) -> str:
        """Open a session by hand and return its id."""
        response = await self.post(initialize_request())
        assert response.status_code == 200, response.text
        identity: str = response.headers["mcp-session-id"]
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await self.post(done, mcp_session_id=identity)).status_code == 202
        return identity

    async def call(self, identity: str, tool: str, **arguments: Any) -> Any:
        body = request("tools/call", name=tool, arguments=arguments)
        answer = answer_of(await self.post(body, mcp_session_id=identity))
        return answer["result"]["structuredContent"]

    @asynccontextmanager
    async def stream(self, identity: str) -> AsyncIterator[httpx2.Response]:
        headers = {"accept": "text/event-stream", "mcp-session-id": identity} | self.headers
        async with self.client.stream("GET", self.url, headers=headers) as response:
            yield response


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@asynccontextmanager
async def session(web: HttpClient, **more: Any) -> AsyncIterator[ClientSession]:
    """Yield the SDK's client. It ends its session at the end."""
    async with (
        httpx2.AsyncClient(headers=web.headers, timeout=httpx2.Timeout(LIMIT_S, read=60)) as http,
        streamable_http_client(web.url, http_client=http) as (reader, writer),
        ClientSession(reader, writer, **more) as client,
    ):
        await client.initialize()
        yield client


@asynccontextmanager
async def serving_http(
    place: Place, *args: str, token: str | None = None, is_new: bool = False
) -> AsyncIterator[tuple[HttpClient, Process]]:
    given = ["--http", "127.0.0.1:0", "--scope", "all", "--socket", place.socket, *args]
    if token is not None:
        path = place.home / "token"
        path.touch(0o600)
        path.write_text(f"{token}\n")
        given += ["--http-token-file", str(path)]
    env = environment(place.home) | {"TMPDIR": str(place.passing)}
    process = await start_server(given, env, place.home, is_new=is_new)
    assert process.stderr is not None
    line = await _find_announcement(process.stderr)
    found = re.fullmatch(r"muxpilot: serving MCP at http://(\S+):(\d+)/mcp\n", line)
    assert found, line
    web = HttpClient(f"http://{found[1].replace('0.0.0.0', '127.0.0.1')}:{found[2]}/mcp", token)
    try:
        yield web, process
    finally:
        await web.client.aclose()
        with suppress(ProcessLookupError):  # the test may have ended it just now
            process.terminate()
        await asyncio.wait_for(process.wait(), LIMIT_S)
        close_pipes(process)


async def _find_announcement(stderr: asyncio.StreamReader) -> str:
    """Return the line that says where the server listens, after the lines of its log if it has one."""
    while True:
        line = (await asyncio.wait_for(stderr.readline(), LIMIT_S)).decode()
        if not re.match(r"muxpilot \d", line):
            return line


async def connect(web: HttpClient) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    port = int(web.url.split(":")[2].partition("/")[0])
    return await asyncio.open_connection("127.0.0.1", port)


def request_head(web: HttpClient, *headers: str) -> bytes:
    rows = ["POST /mcp HTTP/1.1", "host: localhost", "content-type: application/json", *headers]
    return "\r\n".join([*rows, f"authorization: Bearer {web.token}", "", ""]).encode()


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    await asyncio.wait([asyncio.ensure_future(writer.wait_closed())])
