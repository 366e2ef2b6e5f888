"""MCP by HTTP: who gets in, what the protocol does there, and what ends with a client."""

from __future__ import annotations

import asyncio
import os
import signal
import socket as sockets
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
import pytest_asyncio
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from muxpilot.app import build
from muxpilot.config import settings
from muxpilot.server import http
from muxpilot.server.pipes import LARGEST_LINE
from tests.conftest import eventually, is_running
from tests.server.http_rig import Web, answer_of, opening, request, serving, session
from tests.server.wire import LIMIT_S, Place, command, environment, private_place

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOKEN = "a-token-that-nobody-guesses"


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with private_place() as place:
        yield place


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(place: Place) -> AsyncIterator[Web]:
    """One server with a token, for everything that must not harm it."""
    async with serving(place, token=TOKEN) as (web, _):
        yield web


@pytest_asyncio.fixture(loop_scope="module")
async def pane(web: Web, place: Place) -> str:
    return place.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "cat")


async def call(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments, read_timeout_seconds=LIMIT_S)
    assert not result.is_error, result.content
    answer: dict[str, Any] = result.structured_content
    return answer


# Who gets in


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
async def test_who_gets_in(web: Web, headers: dict[str, str], status: int) -> None:
    response = await web.post(opening(), **headers)
    assert response.status_code == status, response.text
    assert ("www-authenticate" in response.headers) == (status == 401)
    assert TOKEN not in response.text


async def test_the_token_is_asked_for_before_anything_is_said(web: Web) -> None:
    stranger = Web(web.url)
    for method, url in (("GET", None), ("DELETE", None), ("PUT", None), ("GET", web.url + "/no")):
        assert (await stranger.send(method, url)).status_code == 401
    await stranger.client.aclose()


# What is no good request


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
async def test_what_is_no_message_is_told_without_our_insides(web: Web, body: bytes, code: int) -> None:
    response = await web.post(body)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == code
    assert "pydantic" not in response.text


@pytest.mark.parametrize("size", [LARGEST_LINE + 1, 100 << 20])
async def test_a_body_that_says_that_it_is_too_large_is_not_read(web: Web, size: int) -> None:
    reader, writer = await _connected(web)
    writer.write(_head(web, f"content-length: {size}") + b"{")
    answer = await asyncio.wait_for(reader.read(1 << 16), LIMIT_S)
    assert answer.startswith(b"HTTP/1.1 413 ")
    await _closed(writer)


async def test_a_body_that_becomes_too_large_is_refused_as_well(web: Web) -> None:
    reader, writer = await _connected(web)
    writer.write(_head(web, "transfer-encoding: chunked"))
    chunk = b"x" * (1 << 20)
    answer = asyncio.create_task(reader.readline())
    for _ in range(6):
        writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
        await asyncio.sleep(0)
    assert (await asyncio.wait_for(answer, LIMIT_S)).startswith(b"HTTP/1.1 413 ")
    await _closed(writer)


async def test_a_large_request_that_is_not_too_large_is_served(web: Web, pane: str) -> None:
    identity = await web.open()
    text = "x" * (LARGEST_LINE - 1000)
    body = request("tools/call", name="set-buffer", arguments={"name": "large", "content": text})
    response = await web.post(body, mcp_session_id=identity)
    assert not answer_of(response)["result"]["isError"]
    assert answer_of(response)["id"] == body["id"]


async def test_a_client_that_goes_in_the_middle_of_its_request_harms_nobody(web: Web) -> None:
    _, writer = await _connected(web)
    writer.write(_head(web, "content-length: 1000") + b'{"jsonrpc"')
    await writer.drain()
    await _closed(writer)
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
async def test_methods_without_a_session(web: Web, method: str, headers: dict[str, str], status: int) -> None:
    assert (await web.send(method, **headers)).status_code == status


async def test_a_request_in_no_session_is_refused_and_one_of_another_type_too(web: Web) -> None:
    assert (await web.post(request("tools/list"))).status_code == 400
    assert (await web.post(request("tools/list"), mcp_session_id="none")).status_code == 404
    assert (await web.post(opening(), content_type="text/plain")).status_code == 400
    assert (await web.post(opening(), accept="text/html")).status_code == 406
    assert (await web.send("GET", web.url.removesuffix("/mcp") + "/")).status_code == 404


async def test_a_session_has_one_stream_and_ends_when_it_is_deleted(web: Web) -> None:
    identity = await web.open()
    async with web.stream(identity) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert (await web.send("GET", mcp_session_id=identity)).status_code == 409
        assert (await web.send("DELETE", mcp_session_id=identity)).status_code == 200
        assert await asyncio.wait_for(stream.aread(), LIMIT_S) is not None
    assert (await web.post(request("tools/list"), mcp_session_id=identity)).status_code == 404
    assert (await web.send("GET", mcp_session_id=identity)).status_code == 404


# The protocol


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_both_eras_get_the_same_tools_and_answers(place: Place, mode: Any) -> None:
    async with serving(place) as (web, _), Client(web.url, mode=mode) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"list-panes", "execute-command"}
        made = await call(client, "create-session", name=f"era-{mode}", command="cat")
        rows = await call(client, "list-panes", sessionId=f"era-{mode}")
        assert [row["id"] for row in rows["panes"]] == [made["paneId"]]
        result = await client.call_tool("kill-pane", {"paneId": "%999"})
        assert result.is_error
        with pytest.raises(MCPError, match="Unknown tool: none"):
            await client.call_tool("none", {})


async def test_progress_is_told_while_a_call_waits(web: Web, pane: str) -> None:
    told = asyncio.Event()

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.set()

    async with session(web) as client:
        given = {"paneId": pane, "triggers": "pattern:never", "timeout": 20, "mode": "quick"}
        waiting = asyncio.create_task(client.call_tool("watch-pane", given, progress_callback=heard))
        await asyncio.wait_for(told.wait(), LIMIT_S)
        waiting.cancel()
        await asyncio.wait([waiting])


async def test_a_cancelled_call_ends_at_once(web: Web, pane: str) -> None:
    identity = await web.open()
    given = {"paneId": pane, "triggers": "pattern:never", "timeout": 60}
    body = request("tools/call", name="watch-pane", arguments=given)
    waiting = asyncio.create_task(web.post(body, mcp_session_id=identity))
    await web.call(identity, "list-panes")
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": body["id"]}}

    async def is_over() -> bool:
        await web.post(cancel, mcp_session_id=identity)  # it may not have begun when first asked
        return bool((await asyncio.wait([waiting], timeout=0.2))[0])

    await eventually(is_over)
    assert answer_of(waiting.result())["error"]["code"] == -32800


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_a_subscriber_is_told_and_nobody_else_is(web: Web, pane: str, place: Place) -> None:
    heard: dict[str, list[Any]] = {"one": [], "two": []}

    def ear(who: str) -> Any:
        async def hear(message: object) -> None:
            heard[who].append(message)

        return hear

    async with (
        session(web, message_handler=ear("one")) as one,
        session(web, message_handler=ear("two")) as two,
    ):
        uri = f"tmux://pane/{pane}"
        await one.subscribe_resource(uri)

        async def is_told() -> bool:
            place.tmux("send-keys", "-t", pane, "x")  # its stream may open after the subscription
            return bool(heard["one"])

        await eventually(is_told)
        await call(two, "list-panes")
    assert isinstance(heard["one"][0], types.ResourceUpdatedNotification)
    assert heard["two"] == []


async def test_commands_are_known_to_every_client_by_ids_that_nobody_guesses(web: Web) -> None:
    async with session(web) as one, session(web) as two:
        made = await call(one, "create-session", name="shared")
        runs = [
            call(client, "execute-command", paneId=made["paneId"], command=f"echo {word}")
            for client, word in ((one, "one"), (two, "two"))
        ]
        mine, theirs = await asyncio.gather(*runs)
        assert mine["commandId"] != theirs["commandId"]
        assert [mine["output"].strip(), theirs["output"].strip()] == ["one", "two"]
        assert (await call(two, "get-command-result", commandId=mine["commandId"]))["output"] == mine[
            "output"
        ]


async def test_many_clients_at_once_get_their_own_answers(web: Web, place: Place) -> None:
    async def client(number: int) -> None:
        async with session(web) as client:
            name = f"many-{number}"
            await call(client, "create-session", name=name, command="cat")
            for _ in range(5):
                assert (await call(client, "find-session", name=name))["name"] == name

    await asyncio.gather(*(client(number) for number in range(8)))


# What ends with a client


async def test_what_a_client_follows_ends_with_its_session_and_its_panes_stay(
    web: Web, place: Place, pane: str
) -> None:
    one, two = await web.open(), await web.open()
    watch = await web.call(one, "notify-when", paneId=pane, triggers="pattern:never")
    await web.post(request("resources/subscribe", uri=f"tmux://pane/{pane}"), mcp_session_id=one)
    assert _is_followed(place, pane)
    assert (await web.call(two, "get-watch", watchId=watch["watchId"]))["status"] == "watching"
    assert (await web.send("DELETE", mcp_session_id=one)).status_code == 200

    async def is_over() -> bool:
        status = (await web.call(two, "get-watch", watchId=watch["watchId"]))["status"]
        return bool(status == "cancelled" and not _is_followed(place, pane))

    await eventually(is_over)
    assert pane in place.tmux("list-panes", "-a", "-F", "#{pane_id}").split()


async def test_a_client_that_has_gone_without_a_word_is_noticed_by_its_stream(place: Place) -> None:
    async with _in_process(place, gone_s=0.2) as web:
        one, two = await web.open(), await web.open()
        made = await web.call(one, "create-session", name="left", command="cat")
        async with web.stream(one):
            watch = await web.call(one, "notify-when", paneId=made["paneId"], triggers="pattern:never")

        async def is_over() -> bool:
            found = await web.call(two, "get-watch", watchId=watch["watchId"])
            return bool(found["status"] == "cancelled")

        await eventually(is_over)
        assert (await web.post(request("tools/list"), mcp_session_id=one)).status_code == 404
        assert await web.call(two, "list-panes")


async def test_a_client_that_opens_its_stream_again_in_time_has_not_gone(place: Place) -> None:
    async with _in_process(place, gone_s=0.3) as web:
        identity = await web.open()
        async with web.stream(identity):
            pass
        async with web.stream(identity) as stream:
            assert stream.status_code == 200
            await asyncio.sleep(0.5)  # longer than it may be away
            assert (await web.post(request("tools/list"), mcp_session_id=identity)).status_code == 200


@pytest.mark.parametrize("way", ["SIGTERM", "SIGINT", "SIGHUP"])
async def test_a_signal_ends_it_in_the_middle_of_everything(way: str) -> None:
    with private_place() as place:
        async with serving(place) as (web, process):
            identity = await web.open()
            made = await web.call(identity, "create-session", name="ours", command="cat")
            given = {"paneId": made["paneId"], "triggers": "pattern:never", "timeout": 60}
            body = request("tools/call", name="watch-pane", arguments=given)
            waiting = asyncio.create_task(web.post(body, mcp_session_id=identity))
            _, half = await _connected(web)
            half.write(_head(web, "content-length: 100"))
            async with web.stream(identity):
                await web.call(identity, "list-panes")
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                assert children
                began = time.monotonic()
                os.kill(process.pid, signal.Signals[way])
                assert await asyncio.wait_for(process.wait(), LIMIT_S) == 0
                assert time.monotonic() - began < 5
            assert process.stderr is not None
            assert await process.stderr.read() == b""
            await asyncio.wait([waiting])
            waiting.exception()
            await _closed(half)
        assert not any(is_running(int(pid)) for pid in children)
        assert list(place.passing.iterdir()) == []
        assert place.tmux("list-sessions", "-F", "#{session_name} #{session_attached}") == "ours 0"


# At the start


def _token_file(folder: Path, text: str = TOKEN, mode: int = 0o600) -> str:
    path = folder / "token"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--http", "8722"], "is not HOST:PORT"),
        (["--http", "localhost:"], "is not HOST:PORT"),
        (["--http", "localhost:70000"], "is not HOST:PORT"),
        (["--http", "::1:80"], "is not HOST:PORT"),
        (["--http", ":80"], "is not HOST:PORT"),
        (["--http", "no.such.host.invalid:0"], "there is no host"),
        (["--http", "0.0.0.0:0"], "would be open to other machines"),
        (["--http", "[::]:0"], "would be open to other machines"),
        (["--http-token-file", "x"], "without --http"),
        (["--http", "127.0.0.1:0", "--http-token-file", "{folder}/none"], "cannot be read"),
        (["--http", "127.0.0.1:0", "--http-token-file", "{folder}"], "is no file"),
        (["--http", "127.0.0.1:0", "--http-token-file", "{folder}/open"], "is open to others"),
        (["--http", "127.0.0.1:0", "--http-token-file", "{folder}/short"], "visible ASCII characters"),
        (["--http", "127.0.0.1:0", "--http-token-file", "{folder}/two"], "visible ASCII characters"),
    ],
)
async def test_what_is_wrong_is_said_at_the_start(folder: Path, args: list[str], words: str) -> None:
    for name, text, mode in (("open", TOKEN, 0o640), ("short", "x" * 15, 0o600), ("two", "x " * 20, 0o600)):
        (folder / name).write_text(text)
        (folder / name).chmod(mode)
    code, said = await _started(folder, *(arg.format(folder=folder) for arg in args))
    assert code == 2
    assert words in said
    assert said.count("\n") == 1


async def test_a_port_that_is_taken_is_said_at_the_start(folder: Path) -> None:
    with sockets.create_server(("127.0.0.1", 0)) as taken:
        code, said = await _started(folder, "--http", f"127.0.0.1:{taken.getsockname()[1]}")
    assert code == 2
    assert "cannot be listened on: Address already in use" in said


async def test_with_a_token_other_machines_may_connect_and_by_any_name(place: Place) -> None:
    async with serving(place, "--http", "0.0.0.0:0", token=TOKEN) as (web, _):
        assert (await web.post(opening(), host="build.example")).status_code == 200
        assert (await web.post(opening(), host="build.example", authorization="")).status_code == 401
        assert (await web.post(opening(), origin="http://build.example")).status_code == 403


async def _started(folder: Path, *args: str) -> tuple[int, str]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command(*args), stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environment(folder)
    )
    out, said = await asyncio.wait_for(process.communicate(), LIMIT_S)
    assert out == b""
    assert process.returncode is not None
    return process.returncode, said.decode()


class _in_process:  # noqa: N801 - used as a function
    """The same server in this process, which may notice sooner that a client has gone."""

    def __init__(self, place: Place, *, gone_s: float) -> None:
        self._app = build(settings({}, scope="all", socket=place.socket))
        self._listener = sockets.create_server(("127.0.0.1", 0))
        self._stopped = asyncio.Event()
        self._gone_s = gone_s

    async def __aenter__(self) -> Web:
        self._web = Web(http.address(self._listener))
        serving = http.run(
            self._app, [self._listener], token=None, stopped=self._stopped, gone_s=self._gone_s
        )
        self._task = asyncio.create_task(serving)
        return self._web

    async def __aexit__(self, *_: object) -> None:
        await self._web.client.aclose()
        self._stopped.set()
        await asyncio.wait_for(self._task, LIMIT_S)


def _is_followed(place: Place, pane: str) -> bool:
    """By a pipe, or by a client of ours in its session."""
    return place.tmux("display-message", "-p", "-t", pane, "#{pane_pipe} #{session_attached}") != "0 0"


async def _connected(web: Web) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    port = int(web.url.split(":")[2].partition("/")[0])
    return await asyncio.open_connection("127.0.0.1", port)


def _head(web: Web, *headers: str) -> bytes:
    rows = ["POST /mcp HTTP/1.1", "host: localhost", "content-type: application/json", *headers]
    return "\r\n".join([*rows, f"authorization: Bearer {web.token}", "", ""]).encode()


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    await asyncio.wait([asyncio.ensure_future(writer.wait_closed())])
