"""HTTP requests that are refused: token, host, origin, path, method, body."""

from __future__ import annotations

import asyncio
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from muxpilot.server.fd_streams import LARGEST_LINE
from muxpilot.server.http_checks import PATH, HttpChecks
from muxpilot.server.http_exchange import HttpRequest
from muxpilot.web.asgi import Message
from tests.rigs.http_server import (
    TOKEN,
    HttpClient,
    answer_of,
    close,
    connect,
    initialize_request,
    request,
    request_head,
)
from tests.rigs.wire import LIMIT_S

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"authorization": f"bearer {TOKEN}"}, 200),
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer"}, 401),
        ({"authorization": f"Bearer {TOKEN}x"}, 401),
        ({"authorization": f"Bearer {TOKEN[:-1]}"}, 401),
        ({"authorization": f"Basic {TOKEN}"}, 401),
        ({"authorization": TOKEN}, 401),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "https://127.0.0.1"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "http://localhost@evil.example"}, 403),
        ({"origin": "file://localhost"}, 403),
        ({"origin": ""}, 403),
        ({"host": "localhost"}, 200),
        ({"host": "127.0.0.1:1"}, 200),
        ({"host": "[::1]:80"}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "localhost.evil.example:80"}, 421),
        ({"host": "localhost@evil.example"}, 421),
        ({"host": "localhost:port"}, 421),
        ({"host": "evil.example", "authorization": ""}, 421),
    ],
)
async def test_who_gets_in(web: HttpClient, headers: dict[str, str], status: int) -> None:
    response = await web.post(initialize_request(), **headers)
    assert response.status_code == status, response.text
    assert ("www-authenticate" in response.headers) == (status == 401)
    assert TOKEN not in response.text


async def test_blanks_around_the_value_of_a_header_do_not_count(web: HttpClient) -> None:
    reader, writer = await connect(web)
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    blank = ("accept:  application/json, text/event-stream \t", f"content-length: {len(body)}  ")
    head = request_head(web, *blank).replace(
        b"content-type: application/json", b"content-type:\tapplication/json "
    )
    writer.write(head + body)
    answer = await asyncio.wait_for(reader.read(1 << 16), LIMIT_S)
    assert answer.startswith(b"HTTP/1.1 400 ")  # it has no session: everything else was understood
    assert b"initialize" in answer
    await close(writer)


async def test_the_token_is_asked_for_before_anything_is_said(web: HttpClient) -> None:
    stranger = HttpClient(web.url)
    for method, url in (("GET", None), ("DELETE", None), ("PUT", None), ("GET", web.url + "/no")):
        assert (await stranger.send(method, url)).status_code == 401
    await stranger.client.aclose()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[]", -32700),
        (b"", -32700),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600),
        (b'{"id": 1, "method": "ping"}', -32600),
        (b"[" * 100_000, -32700),
    ],
)
async def test_what_is_no_message_is_told_without_our_insides(
    web: HttpClient, body: bytes, code: int
) -> None:
    response = await web.post(body)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == code
    assert "pydantic" not in response.text


@pytest.mark.parametrize("size", [LARGEST_LINE + 1, 100 << 20])
async def test_a_body_that_says_that_it_is_too_large_is_not_read(web: HttpClient, size: int) -> None:
    reader, writer = await connect(web)
    writer.write(request_head(web, f"content-length: {size}") + b"{")
    answer = await asyncio.wait_for(reader.read(1 << 16), LIMIT_S)
    assert answer.startswith(b"HTTP/1.1 413 ")
    await close(writer)


@pytest.mark.parametrize("head", [[(b"content-length", b"104857600")], [(b"transfer-encoding", b"chunked")]])
async def test_a_body_is_refused_before_the_rest_of_it_has_come(head: list[tuple[bytes, bytes]]) -> None:
    """A client on a slow line reads the whole answer while it still sends."""
    is_chunked = head[0][0] == b"transfer-encoding"
    parts = [LARGEST_LINE + 1] * is_chunked + [1 << 16] * 4
    done: list[str] = []

    async def receive() -> Message:
        """Return the next part of the body."""
        done.append("received")
        return {"type": "http.request", "body": b"x" * parts.pop(0), "more_body": bool(parts)}

    async def send(message: Message) -> None:
        done.append(f"sent {len(message.get('body', b''))}")

    checks = HttpChecks(_refuse_all, token=None, is_local=True)
    scope = {"type": "http", "method": "POST", "path": PATH, "headers": [(b"host", b"localhost"), *head]}
    await checks(scope, receive, send)
    answer = ["sent 0", f"sent {len(f'A request may have at most {LARGEST_LINE} bytes.') + 1}"]
    assert done == [*["received"] * is_chunked, *answer, *["received"] * 4, "sent 0"]


async def _refuse_all(http: HttpRequest) -> None:
    raise AssertionError("a body that is too large was passed on")


async def test_who_sends_the_whole_of_it_first_reads_the_answer_too(web: HttpClient) -> None:
    """Send the whole body first, as many clients do. Closing early would give them EPIPE and no answer."""

    def post() -> int:
        with closing(HTTPConnection(urlsplit(web.url).netloc, timeout=LIMIT_S)) as client:
            client.request("POST", "/mcp", b"x" * (20 << 20), web.headers)
            return client.getresponse().status

    assert await asyncio.to_thread(post) == 413


async def test_a_body_that_becomes_too_large_is_refused_as_well(web: HttpClient) -> None:
    reader, writer = await connect(web)
    writer.write(request_head(web, "transfer-encoding: chunked"))
    chunk = b"x" * (1 << 20)
    answer = asyncio.create_task(reader.readline())
    for _ in range(6):
        writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
        await asyncio.sleep(0)
    assert (await asyncio.wait_for(answer, LIMIT_S)).startswith(b"HTTP/1.1 413 ")
    await close(writer)


async def test_a_large_request_that_is_not_too_large_is_served(web: HttpClient, pane: str) -> None:
    identity = await web.open()
    text = "x" * (LARGEST_LINE - 1000)
    body = request("tools/call", name="set-buffer", arguments={"name": "large", "content": text})
    response = await web.post(body, mcp_session_id=identity)
    assert not answer_of(response)["result"]["isError"]
    assert answer_of(response)["id"] == body["id"]


async def test_a_client_that_goes_in_the_middle_of_its_request_harms_nobody(web: HttpClient) -> None:
    _, writer = await connect(web)
    writer.write(request_head(web, "content-length: 1000") + b'{"jsonrpc"')
    await writer.drain()
    await close(writer)
    assert await web.open()


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {}, 400),
        ("GET", {"mcp_session_id": "none"}, 404),
        ("DELETE", {"mcp_session_id": "none"}, 404),
        ("GET", {"accept": "application/json"}, 406),
        ("PUT", {}, 405),
        ("OPTIONS", {}, 405),
        ("HEAD", {}, 405),
    ],
)
async def test_methods_without_a_session(
    web: HttpClient, method: str, headers: dict[str, str], status: int
) -> None:
    assert (await web.send(method, **headers)).status_code == status


async def test_a_request_in_no_session_is_refused_and_one_of_another_type_too(web: HttpClient) -> None:
    assert (await web.post(request("tools/list"))).status_code == 400
    assert (await web.post(request("tools/list"), mcp_session_id="none")).status_code == 404
    assert (await web.post(initialize_request(), content_type="text/plain")).status_code == 415
    assert (await web.post(initialize_request(), accept="text/html")).status_code == 406
    assert (await web.send("GET", web.url.removesuffix("/mcp") + "/")).status_code == 404


async def test_a_session_has_one_stream_and_ends_when_it_is_deleted(web: HttpClient) -> None:
    identity = await web.open()
    async with web.stream(identity) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert (await web.send("GET", mcp_session_id=identity)).status_code == 409
        assert (await web.send("DELETE", mcp_session_id=identity)).status_code == 200
        assert await asyncio.wait_for(stream.aread(), LIMIT_S) is not None
    assert (await web.post(request("tools/list"), mcp_session_id=identity)).status_code == 404
    assert (await web.send("GET", mcp_session_id=identity)).status_code == 404
