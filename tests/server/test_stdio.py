"""The stdio transport with good, bad and hanging clients."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import statistics
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from muxpilot.app import build
from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope
from muxpilot.dispatch import Dispatch
from muxpilot.protocol.messages import RpcRequest, encode_result
from muxpilot.server import stdio
from muxpilot.server.fd_streams import ByteWriter, LineReader
from muxpilot.tools import TOOLS
from muxpilot.tools.context import Context
from tests.rigs.waiting import eventually, patient, within
from tests.rigs.wire import LIMIT_S, Place, Wire, environment, private_place

pytestmark = pytest.mark.asyncio(loop_scope="module")

MEGABYTE = 1 << 20


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place() -> AsyncIterator[Place]:
    with private_place() as place:
        yield place


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def wire(place: Place) -> AsyncIterator[Wire]:
    """Yield one server for tests that must not harm it."""
    async with place.serve(is_new=True) as wire:
        await wire.shake_hands()
        yield wire


@pytest_asyncio.fixture(loop_scope="module")
async def typewriter(wire: Wire) -> AsyncIterator[str]:
    """Yield a pane that shows what is typed into it."""
    session = await wire.call("create-session", command="stty -icanon -echo; printf :; exec cat")
    await wait_for_text(wire, session["paneId"], ":")
    yield session["paneId"]
    await wire.call("kill-session", sessionId=session["sessionId"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def long_text(wire: Wire) -> dict[str, Any]:
    """Return the arguments of a capture whose answer has 50 KB."""
    program = f"yes {'x' * 99} | head -n 500; exec sleep 1000"
    session = await wire.call("create-session", command=program)
    arguments = {"paneId": session["paneId"], "lines": 500}

    async def is_printed() -> bool:
        return len(await wire.call("capture-pane", **arguments)) == 49_999

    await eventually(is_printed)
    return arguments


@pytest.mark.parametrize(
    "line",
    [b"{", b"", b"\r", b" ", b"\xff\xfe{}", b"[]", b"[{}]", b"3", b'"text"', b"null", b"[" * 100_000, b"\0"],
    ids=lambda line: repr(line[:10]),
)
async def test_what_is_no_message_is_answered_as_a_parse_error(wire: Wire, line: bytes) -> None:
    await wire.write(line + b"\n")
    answer = await wire.next_unmatched_answer()
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    assert await wire.result("ping") == {}


@pytest.mark.parametrize(
    ("message", "identity"),
    [
        ({"jsonrpc": "2.0", "id": "a"}, "a"),
        ({"id": "a", "method": "ping"}, "a"),
        ({"jsonrpc": "1.0", "id": "a", "method": "ping"}, "a"),
        ({"jsonrpc": "2.0", "id": "a", "method": 5}, "a"),
        ({"jsonrpc": "2.0", "id": "a", "method": "ping", "params": [1]}, "a"),
        ({"jsonrpc": "2.0", "id": "a", "method": "ping", "params": "x"}, "a"),
        # With these ids a request would pass for a notification, and never be answered.
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, None),
        ({}, None),
    ],
    ids=json.dumps,
)
async def test_an_invalid_request_is_refused_with_its_id(
    wire: Wire, message: dict[str, Any], identity: str | None
) -> None:
    await wire.send(message)
    answer = await wire.next_unmatched_answer()
    assert (answer["id"], answer["error"]["code"]) == (identity, -32600)
    assert await wire.result("ping") == {}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such", {}, -32601),
        ("tools/run", {}, -32601),
        ("tools/call", {"name": "no-such-tool"}, -32602),
        ("tools/call", {"name": "rename-session", "arguments": {}}, -32602),  # in another scope
        ("tools/call", {"name": 3}, -32602),
        ("tools/call", {"name": "list-sessions", "arguments": []}, -32602),
        ("tools/call", {}, -32602),
        ("resources/read", {}, -32602),
    ],
)
async def test_a_request_that_cannot_be_served_is_an_error(
    wire: Wire, method: str, params: dict[str, Any], code: int
) -> None:
    fault = await wire.error(method, params)
    assert fault["code"] == code
    assert "Traceback" not in json.dumps(fault)
    assert "pydantic" not in json.dumps(fault)


@pytest.mark.parametrize(
    ("start", "end", "identity"),
    [
        ('{"jsonrpc": "2.0", "id": "big", "method": "ping", "params": {"x": "', '"}}', "big"),
        ('{"method": "ping", "params": {"x": "', '"}, "jsonrpc": "2.0", "id": "big"}', "big"),
        ('{"method": "ping", "params": {"id": 3, "x": "', '"}}', None),
        ('{"method": "ping", "params": {"x": "', '", "y": {"id": 3}}}', None),
        ('{"method": "ping", "params": {"x": "', ', \\"id\\": 3}"}}', None),
    ],
    ids=["id first", "id last", "only an inner id", "an inner id at the end", "an id in a text"],
)
async def test_a_request_above_4_mb_is_refused_and_the_server_goes_on(
    wire: Wire, start: str, end: str, identity: str | None
) -> None:
    await wire.write((start + "x" * 4 * MEGABYTE + end + "\n").encode())
    answer = await wire.next_unmatched_answer()
    assert (answer["id"], answer["error"]["code"]) == (identity, -32600)
    assert "too large" in answer["error"]["message"]
    assert await wire.result("ping") == {}


async def test_a_request_of_just_below_4_mb_is_served(wire: Wire) -> None:
    assert await wire.result("ping", {"x": "x" * (4 * MEGABYTE - 200)}) == {}


async def test_100_mb_are_refused_within_a_second_and_take_no_memory(wire: Wire) -> None:
    before = _peak_memory(wire.pid)
    began = _cpu_seconds(wire.pid)  # how long the sender takes is its own affair
    for _ in range(100):
        await wire.write(b"x" * MEGABYTE)
    await wire.write(b"\n")
    answer = await wire.next_unmatched_answer()
    assert _cpu_seconds(wire.pid) - began < patient(1)
    assert answer["error"]["code"] == -32600
    assert _peak_memory(wire.pid) - before < 50 * MEGABYTE
    assert await wire.result("ping") == {}


async def test_notifications_are_never_answered(wire: Wire) -> None:
    for method in ("no/such", "notifications/no-such", "ping", "tools/call", "notifications/cancelled"):
        await wire.notify(method, {"requestId": "nobody"})
    identities: list[object] = [None, [], {}, 1.5]
    for identity in identities:
        await wire.notify("notifications/cancelled", {"requestId": identity})
    await wire.notify("notifications/progress", {"progressToken": 1, "progress": "much"})
    await wire.send({"jsonrpc": "2.0", "id": "nobody", "result": {}})
    await wire.send({"jsonrpc": "2.0", "id": "nobody", "error": {"code": 1, "message": "x"}})
    assert await wire.result("ping") == {}
    assert wire.unasked == []


async def test_200_calls_without_waiting_are_all_answered(wire: Wire, long_text: dict[str, Any]) -> None:
    pending = [await wire.start_call("list-panes") for _ in range(200)]
    answers = await asyncio.wait_for(asyncio.gather(*pending), LIMIT_S)
    assert all(answer["result"]["structuredContent"]["panes"] for answer in answers)


async def test_fifty_slow_calls_hold_nobody_else_up(wire: Wire, typewriter: str) -> None:
    slow = [
        await wire.start_call("send-keys", paneId=typewriter, keys="x" * 20, delayMs=1000) for _ in range(50)
    ]
    await wait_for_text(wire, typewriter, ":x+")
    with within(10):  # one of them alone takes twice as long
        assert await wire.result("ping") == {}
        assert len((await wire.call("list-sessions"))["sessions"]) > 0
        other = await wire.call("create-session", command="exec cat")
        await wire.call("send-keys", paneId=other["paneId"], keys="y")
    assert not any(call.done() for call in slow)
    for call in slow:
        await wire.notify("notifications/cancelled", {"requestId": call.id})
    await wire.call("kill-session", sessionId=other["sessionId"])
    await wire.call("send-keys", paneId=typewriter, keys="z")
    assert not any(call.done() for call in slow), "a cancelled call is never answered"


async def test_a_cancelled_call_stops_at_once_and_leaves_the_pane_free(wire: Wire, typewriter: str) -> None:
    call = await wire.start_call("send-keys", paneId=typewriter, keys="a" * 450, delayMs=50)
    await wait_for_text(wire, typewriter, ":a{3,}")
    await wire.notify("notifications/cancelled", {"requestId": call.id, "reason": "enough"})
    with within(10):  # half of what the whole text takes
        await wire.call("send-keys", paneId=typewriter, keys="Z")
    await wait_for_text(wire, typewriter, ":a+Z")
    await wire.call("send-keys", paneId=typewriter, keys="Y", delayMs=100)
    assert re.fullmatch(":a{3,400}ZY", await wait_for_text(wire, typewriter, ".*Y"))
    assert not call.done(), "a cancelled call is never answered"


async def test_a_client_that_stops_reading_does_not_freeze_the_server(
    wire: Wire, place: Place, long_text: dict[str, Any]
) -> None:
    before = _peak_memory(wire.pid)
    await wire.stop_reading()
    pending = [await wire.start_call("capture-pane", **long_text) for _ in range(200)]
    sign = await wire.start_call("create-session", name="still-alive")

    async def is_made() -> bool:
        return "still-alive" in place.tmux("list-sessions", "-F", "#{session_name}")

    await eventually(is_made)
    assert not sign.done()
    wire.resume_reading()
    answers = await asyncio.wait_for(asyncio.gather(*pending, sign), 2 * LIMIT_S)
    assert {len(answer["result"]["content"][0]["text"]) for answer in answers[:-1]} == {49_999}
    assert _peak_memory(wire.pid) - before < 100 * MEGABYTE
    await wire.call("kill-session", sessionId="still-alive")


async def test_ping_is_answered_while_tmux_is_stopped(place: Place) -> None:
    async with place.serve() as wire:
        await wire.shake_hands()
        await wire.call("create-session", name="stopped")
        with place.tmux_stopped():
            hanging = await wire.start_call("list-sessions")
            assert statistics.median([await time_call(wire) for _ in range(9)]) < patient(0.5)
            assert not hanging.done()
        answer = await asyncio.wait_for(hanging, LIMIT_S)
        assert "stopped" in answer["result"]["content"][0]["text"]
        await wire.call("kill-session", sessionId="stopped")


async def test_a_call_ends_within_its_deadline_while_tmux_is_stopped(place: Place) -> None:
    app = build(Settings(scope=Scope.ALL, socket=place.socket))
    tool = next(tool for tool in TOOLS if tool.name == "list-sessions")
    dispatch = app.dispatch
    hasty = Dispatch(
        [replace(tool, deadline_s=0.3)],
        Scope.ALL,
        app.servers,
        lambda request, caller, check_part: Context(request.tmux, app.services, caller, check_part),
        locks=app.services.locks,
        workspaces=app.services.workspaces,
    )
    try:
        place.tmux("new-session", "-d", "-s", "deadline")
        assert not (await dispatch.call(tool.name, {})).is_error
        with place.tmux_stopped():
            with within(10):  # a third of what a call has otherwise
                answer = await hasty.call(tool.name, {})
            assert answer.error == "not-answering"
            assert "did not finish within 0.3 s" in answer.text
        assert not (await dispatch.call(tool.name, {})).is_error
    finally:
        await app.close()
        place.tmux("kill-session", "-t", "=deadline")


async def test_requests_wait_in_the_pipe_while_too_many_answers_are_unread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Send 2,000 requests, each with an answer of 10 KB, before reading."""
    monkeypatch.setattr(stdio, "MOST_UNANSWERED", 50)
    with _socketpair() as requests, _socketpair() as answers:
        writer, unanswered = ByteWriter(answers[1].fileno()), stdio.PendingRequests()
        reader = LineReader(requests[1].fileno())
        incoming = stdio.IncomingMessages(reader, writer, unanswered)
        outgoing = stdio.OutgoingMessages(writer, unanswered)
        taken: list[int | str] = []

        async def serve() -> None:
            async with asyncio.TaskGroup() as tasks:
                while (message := await incoming.receive()) is not None:
                    assert isinstance(message, RpcRequest)
                    taken.append(message.id)
                    answer = encode_result(message.id, {"text": "x" * 10_000})
                    tasks.create_task(outgoing.send_answer(message.id, answer))

        async def is_full() -> bool:
            return len(unanswered._ids) == 50

        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            tasks.create_task(serve())
            loop = asyncio.get_running_loop()
            lines = b"".join(b'{"jsonrpc": "2.0", "id": %d, "method": "ping"}\n' % at for at in range(2000))
            sending = asyncio.create_task(loop.sock_sendall(requests[0], lines))
            await eventually(is_full)
            for _ in range(1000):
                await asyncio.sleep(0)
            assert len(taken) < 200, "fifty, and what fits into the client's own buffer"
            received = 0
            while received < 2000:
                received += (await loop.sock_recv(answers[0], 1 << 20)).count(b"\n")
            await sending
            incoming.end()
        reader.close()
        assert taken == list(range(2000))


async def test_whoever_stops_waiting_leaves_a_whole_line_behind() -> None:
    """Cancel a call while its answer is written: the line must stay whole."""
    with _socketpair() as (near, far):
        outgoing = stdio.OutgoingMessages(ByteWriter(far.fileno()), stdio.PendingRequests())
        big = encode_result(1, {"text": "x" * 2_000_000})
        writing = asyncio.create_task(outgoing.send(big))
        await asyncio.sleep(0)
        assert not writing.done()
        writing.cancel()
        await asyncio.wait([writing])
        after = asyncio.create_task(outgoing.send(encode_result(2, {})))
        received = b""
        async with asyncio.timeout(20):
            while received.count(b"\n") < 2:
                received += await asyncio.get_running_loop().sock_recv(near, 1 << 20)
        await after
        assert [json.loads(line)["id"] for line in received.splitlines()] == [1, 2]


@contextmanager
def _socketpair() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        far.setblocking(False)
        yield near, far


async def test_what_code_and_children_print_never_reaches_the_client(place: Place) -> None:
    """Check that other code can neither write to nor read from the protocol."""
    script = (
        "import os, sys\n"
        "from muxpilot.server import prompts\n"
        "from muxpilot.cli.main import main\n"
        "def fill(self, given):\n"
        "    print('stray', flush=True)\n"
        "    os.system('echo child; cat')\n"
        "    return 'good'\n"
        "prompts.PromptTemplate.fill = fill\n"
        f"sys.exit(main(['--socket', {place.socket!r}]))\n"
    )
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script), stdin=pipe, stdout=pipe, stderr=pipe, env=environment(place.home)
    )
    wire = Wire(process)
    try:
        await wire.shake_hands()
        result = await wire.result("prompts/get", {"name": "run-and-report", "arguments": {"command": "x"}})
        assert result["messages"][0]["content"]["text"] == "good"
        assert await wire.close_stdin() == 0
        assert (await wire.stderr()).split() == ["stray", "child"]
    finally:
        await wire.close()


async def time_call(wire: Wire) -> float:
    began = time.monotonic()
    await wire.result("ping")
    return time.monotonic() - began


async def wait_for_text(wire: Wire, pane: str, pattern: str) -> str:
    """Wait until a pane shows a pattern."""

    async def shown() -> str:
        text = str(await wire.call("capture-pane", paneId=pane, join=True)).strip()
        return text if re.fullmatch(pattern, text) else ""

    return str(await eventually(shown))


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
