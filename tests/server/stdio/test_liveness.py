"""A server on stdio goes on while calls are slow or many, a client does not read, or tmux is stopped."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import statistics
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
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
from tests.rigs.wire import LIMIT_S, Place, Wire, environment
from tests.server.stdio.conftest import MEGABYTE, peak_memory

pytestmark = pytest.mark.asyncio(loop_scope="module")


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
    before = peak_memory(wire.pid)
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
    assert peak_memory(wire.pid) - before < 100 * MEGABYTE
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
