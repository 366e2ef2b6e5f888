"""Requests of a session that lives in another worker: they are sent to it, and its answer is sent back.

With `--http-workers` each worker keeps its own sessions. A session id begins with the number of its worker,
and each worker listens on a Unix socket of that name in a private folder. A connection carries one request
that has passed the checks, and then the ASGI messages of the response, as they are made. Both are frames: two
lengths, a head in JSON, and bytes. The end of the connection means that the client has gone.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from muxpilot.calls import report_incident
from muxpilot.errors import BadInput
from muxpilot.server.http_exchange import PING_S, Headers, HttpRequest
from muxpilot.tasks import TaskSet
from muxpilot.trace import area
from muxpilot.web.asgi import HttpRefusal, Message, collect_headers, send_refusal

_SESSION_ID = re.compile(rb"([1-9]\d?)-[0-9a-f]{32}")
_LENGTHS = struct.Struct(">II")
_MOST_BYTES = 64 << 20  # of one frame
_BACKLOG = 2048
_CONNECT_S = 5.0
# A worker sends a ping after each PING_S of silence. One that is silent for longer is stopped or stuck.
_SILENCE_S = 4 * PING_S

_trace = area("server").child(transport="http")

HandleRequest = Callable[[HttpRequest], Awaitable[None]]


class OtherWorkers:
    """Sends requests to the workers of their sessions, and answers those that other workers send here."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._number = number
        self._tasks = TaskSet(_trace)
        self._server: asyncio.Server | None = None
        self._is_closed = False

    @property
    def id_prefix(self) -> str:
        """Return what the ids of this worker's sessions begin with."""
        return f"{self._number}-"

    async def listen(self, handle: HandleRequest) -> None:
        """Answer requests that other workers send. A worker that is started again takes over its path."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            """Answer the request of one connection."""
            try:
                with self._tasks.include_current():
                    await ForwardedRequest(reader, writer).answer(handle)
            except asyncio.CancelledError:  # asyncio of Python 3.11 would log it as an error
                if not self._is_closed:
                    raise

        listener = _bind_private(self._folder / str(self._number))
        self._server = await asyncio.start_unix_server(serve, sock=listener, backlog=_BACKLOG)

    def close(self) -> None:
        """Accept no more requests of other workers, and cancel those that run."""
        self._is_closed = True
        if self._server is not None:
            self._server.close()
        self._tasks.cancel()

    async def forward(self, http: HttpRequest, identity: bytes) -> bool:
        """Let the worker of a session answer. Return False if there is no such worker, or it has ended."""
        number = _find_worker(identity)
        if number is None or number == self._number:
            return False
        try:
            async with asyncio.timeout(_CONNECT_S):
                path = self._folder / str(number)
                reader, writer = await asyncio.open_unix_connection(path, limit=1 << 20)
        except (FileNotFoundError, ConnectionRefusedError):
            _trace.info("the worker of a session has ended", of=number)
            return False
        except (OSError, TimeoutError) as error:  # that the session has ended is not known
            _trace.warning("the worker of a session cannot be reached", of=number, error=error)
            raise HttpRefusal(503, "The process of this session cannot be reached now. Try again.") from None
        with _trace.step("request forwarded", to=number, method=http.method):
            return await _exchange(http, reader, writer, number=number)


async def _exchange(
    http: HttpRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, number: int
) -> bool:
    """Send a request to another worker and its answer to the client. Return whether an answer began."""
    watch = TaskSet(_trace)
    has_begun = False
    try:
        writer.write(_encode_request(http))
        watch.start(_close_when_gone(http, writer))
        await writer.drain()
        while message := await _read_message(reader):
            has_begun = True
            await http.send(message)
            if message["type"] == "http.response.body" and not message["more_body"]:
                break
    except TimeoutError:
        _trace.warning("the worker of a session does not answer", of=number)
        if not has_begun:
            raise HttpRefusal(503, "The process of this session does not answer.") from None
    except (OSError, asyncio.IncompleteReadError):  # without its last part, uvicorn breaks the connection
        _trace.info("the worker of a session ended before its answer", of=number, has_begun=has_begun)
    finally:
        watch.cancel()
        writer.close()
    return has_begun


async def _close_when_gone(http: HttpRequest, writer: asyncio.StreamWriter) -> None:
    await http.wait_until_gone()
    writer.close()


class ForwardedRequest:
    """A request that another worker has sent. The ASGI messages of its response are frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._has_begun = False

    async def answer(self, handle: HandleRequest) -> None:
        """Read the request and answer it, and then close the connection."""
        try:
            http = await self._read()
            if http is not None:
                await handle(http)
        except Exception:  # noqa: BLE001 - a bug in muxpilot must not end the worker
            words = report_incident("forwarded request")
            if not self._has_begun:
                await send_refusal(self._send, HttpRefusal(500, words))
        finally:
            self._writer.close()

    async def _read(self) -> HttpRequest | None:
        try:
            async with asyncio.timeout(_SILENCE_S):
                head, body = await _read_frame(self._reader)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            _trace.info("a forwarded request did not arrive")
            return None
        raw = _as_bytes(head["headers"])
        headers = collect_headers({"headers": raw})
        return HttpRequest(head["method"], headers, raw, body, self._receive, self._send)

    async def _receive(self) -> Message:
        """Wait for the end of the connection: nothing else comes after the request."""
        with suppress(OSError):
            await self._reader.read(1)
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self._has_begun = True
        with suppress(OSError):  # the client has gone, which does not end its call
            self._writer.write(_encode_message(message))
            await self._writer.drain()


async def _read_message(reader: asyncio.StreamReader) -> Message:
    """Read a message of a response. Raise TimeoutError where even pings do not come."""
    async with asyncio.timeout(_SILENCE_S):
        head, body = await _read_frame(reader)
    if head["type"] == "http.response.body":
        return {**head, "body": body}
    return {**head, "headers": _as_bytes(head["headers"])}


async def _read_frame(reader: asyncio.StreamReader) -> tuple[dict[str, Any], bytes]:
    head_length, body_length = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
    if head_length + body_length > _MOST_BYTES:
        raise ConnectionAbortedError("a frame is too long")
    head = json.loads(await reader.readexactly(head_length))
    return head, await reader.readexactly(body_length)


def _encode_request(http: HttpRequest) -> bytes:
    return _encode_frame({"method": http.method, "headers": _as_text(http.raw_headers)}, http.body)


def _encode_message(message: Message) -> bytes:
    if message["type"] == "http.response.body":
        head = {"type": message["type"], "more_body": message.get("more_body", False)}
        return _encode_frame(head, message.get("body", b""))
    return _encode_frame({**message, "headers": _as_text(message["headers"])})


def _encode_frame(head: dict[str, Any], body: bytes = b"") -> bytes:
    text = json.dumps(head).encode()
    return _LENGTHS.pack(len(text), len(body)) + text + body


def _as_text(headers: Headers) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]


def _as_bytes(headers: list[tuple[str, str]]) -> Headers:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


def _find_worker(identity: bytes) -> int | None:
    """Return the number of the worker that a session id names."""
    found = _SESSION_ID.fullmatch(identity)
    return int(found[1]) if found else None


def _bind_private(path: Path) -> socket.socket:
    """Open a Unix socket that only this user can connect to: its folder is closed to others as well."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        os.chmod(path, 0o600)
    except OSError as error:
        listener.close()
        raise BadInput(
            f"The socket {path} cannot be created: {error}.", "Set TMPDIR to a short path."
        ) from None
    return listener
