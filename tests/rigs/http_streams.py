"""Streams of events as a raw client reads them, and requests of the era without sessions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from tests.rigs.http_server import BOTH, HttpClient, request
from tests.rigs.wire import ENVELOPE, LIMIT_S, MODERN_VERSION


class Events:
    """The events of an open stream, one at a time."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.last_id = ""
        self._lines = response.aiter_lines()

    async def next(self) -> Any:
        """Return the data of the next event that has some."""
        async with asyncio.timeout(LIMIT_S):
            async for line in self._lines:
                name, _, value = line.partition(": ")
                if name == "id":
                    self.last_id = value
                if name == "data" and value:
                    return json.loads(value)
        raise AssertionError("the stream has ended")


@asynccontextmanager
async def stream(web: HttpClient, method: str, body: Any = None, **headers: str) -> AsyncIterator[Events]:
    given = {"accept": BOTH, "content-type": "application/json"} | web.headers
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    content = None if body is None else json.dumps(body).encode()
    async with web.client.stream(method, web.url, headers=given, content=content) as response:
        yield Events(response)


def modern(method: str, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a request of the era without sessions, and its headers."""
    body = request(method, **params, _meta=dict(ENVELOPE))
    headers = {"mcp_protocol_version": MODERN_VERSION, "mcp_method": method}
    name = params.get("name", params.get("uri"))
    return body, headers | ({"mcp_name": name} if name else {})
