"""The stdio dispatcher: each request is answered once, a cancelled one never, and no task is left running."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from muxpilot.protocol.elicitation import Elicitation
from muxpilot.protocol.messages import Result
from muxpilot.protocol.rpc_errors import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError
from muxpilot.server.client_connection import ClientConnection, RequestContext
from muxpilot.server.fd_streams import ByteWriter, LineReader
from muxpilot.server.stdio import IncomingMessages, OutgoingMessages, PendingRequests
from muxpilot.server.stdio_dispatcher import StdioDispatcher
from muxpilot.timing import WatchTiming
from muxpilot.watch.limits import WatchLimits
from muxpilot.watch.registry import WatchRegistry

LIMIT_S = 10.0


class Peer:
    """A client's two ends of the pipes, and the calls of the handlers."""

    def __init__(self, to_server: int, from_server: LineReader) -> None:
        self.seen: list[str] = []
        self.go_on = asyncio.Event()
        self._to_server = to_server
        self._from_server = from_server

    def send(self, *messages: Mapping[str, Any]) -> None:
        """Send messages in one write."""
        lines = (json.dumps({"jsonrpc": "2.0", **message}) for message in messages)
        os.write(self._to_server, "".join(f"{line}\n" for line in lines).encode())

    async def answer(self) -> Any:
        line = await asyncio.wait_for(self._from_server.read_line(), LIMIT_S)
        return json.loads(line) if line is not None else None

    async def on_request(self, ctx: RequestContext) -> Result:
        """Do what the tool of a call says."""
        what = ctx.request.params.get("name", ctx.request.method)
        try:
            self.seen.append(f"{what} begins")
            if what == "wait":
                if ctx.facts.progress_token is not None:
                    await ctx.report_progress(1.0, None, "still here")
                await self.go_on.wait()
            if what == "ask":
                answer = await ctx.ask_person(Elicitation("name", "Your name?", {"type": "object"}))
                return {"answer": answer.action, **answer.content}
            if what == "fail":
                raise ProtocolError(INVALID_PARAMS, "no")
            if what == "wait for what is ended":
                ended = asyncio.get_running_loop().create_future()
                ended.cancel()
                await ended
            if what == "break":
                raise RuntimeError("/a/path/of/ours")
            return {"what": what}
        finally:
            self.seen.append(f"{what} ends")


@asynccontextmanager
async def connect_peer(capabilities: dict[str, Any] | None = None) -> AsyncIterator[Peer]:
    """Yield a client that has shaken hands."""
    near_in, far_in = os.pipe()
    near_out, far_out = os.pipe()
    for descriptor in (near_in, far_out, near_out):
        os.set_blocking(descriptor, False)
    writer, unanswered, back = ByteWriter(far_out), PendingRequests(), LineReader(near_out)
    reader = LineReader(near_in)
    outgoing, peer = OutgoingMessages(writer, unanswered), Peer(far_in, back)
    connection = ClientConnection(outgoing.send, make_watches())
    incoming = IncomingMessages(reader, writer, unanswered)
    calls = StdioDispatcher(incoming, outgoing, connection, peer.on_request)
    running = asyncio.create_task(calls.run())
    peer.send(initialize_request(capabilities or {}))
    assert (await peer.answer())["id"] == "hello"
    try:
        yield peer
    finally:
        os.close(far_in)
        await asyncio.wait_for(running, LIMIT_S)
        for each in (reader, back):
            each.close()
        for descriptor in (near_in, near_out, far_out):
            os.close(descriptor)


def make_watches() -> WatchRegistry:
    return WatchRegistry(limits=WatchLimits(100, 1000, 1000, ()), timing=WatchTiming())


def initialize_request(capabilities: dict[str, Any]) -> dict[str, Any]:
    client = {"name": "peer", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client}
    return {"id": "hello", "method": "initialize", "params": params}


def call(identity: int | str, name: str, **more: Any) -> dict[str, Any]:
    return {"id": identity, "method": "tools/call", "params": {"name": name, **more}}


def cancel_notification(identity: object) -> dict[str, Any]:
    return {"method": "notifications/cancelled", "params": {"requestId": identity}}


@pytest.mark.asyncio
async def test_requests_do_not_wait_for_each_other() -> None:
    async with connect_peer() as peer:
        peer.send(call(1, "wait"), call("b", "quick"))
        assert await peer.answer() == {"jsonrpc": "2.0", "id": "b", "result": {"what": "quick"}}
        peer.go_on.set()
        assert (await peer.answer())["id"] == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("token", ["t", "", 0, 1 << 70], ids=repr)
async def test_progress_goes_to_whoever_gave_a_token_while_the_call_is_on(token: int | str) -> None:
    async with connect_peer() as peer:
        peer.send(call(1, "wait", _meta={"progressToken": token}))
        told = await peer.answer()
        assert told["method"] == "notifications/progress"
        assert told["params"] == {"progressToken": token, "progress": 1.0, "message": "still here"}


@pytest.mark.asyncio
@pytest.mark.parametrize("identity", [7, "7"], ids=repr)
async def test_a_request_that_is_given_up_ends_and_is_never_answered(identity: int | str) -> None:
    async with connect_peer() as peer:
        peer.send(call(7, "wait"), call(8, "first"))
        assert (await peer.answer())["id"] == 8
        peer.send(
            cancel_notification(identity), cancel_notification(identity), cancel_notification("never sent")
        )
        peer.send(call(9, "next"))
        assert (await peer.answer())["id"] == 9
        assert "wait ends" in peer.seen


@pytest.mark.asyncio
async def test_an_id_may_come_again_after_its_request_was_given_up_unbegun() -> None:
    async with connect_peer() as peer:
        peer.send(call(7, "wait"), cancel_notification(7), call(7, "again"))
        assert await peer.answer() == {"jsonrpc": "2.0", "id": 7, "result": {"what": "again"}}


@pytest.mark.asyncio
async def test_a_failure_is_answered_and_a_fault_says_nothing_of_ours() -> None:
    async with connect_peer() as peer:
        peer.send(call(1, "fail"))
        assert (await peer.answer())["error"] == {"code": INVALID_PARAMS, "message": "no"}
        for method in ("break", "wait for what is ended"):
            peer.send(call(2, method))
            error = (await peer.answer())["error"]
            assert error == {"code": INTERNAL_ERROR, "message": "Internal error"}


@pytest.mark.asyncio
async def test_who_leaves_ends_its_calls() -> None:
    async with connect_peer() as peer:
        peer.send(call(1, "wait"), call(2, "quick"))
        assert (await peer.answer())["id"] == 2
    assert peer.seen.count("wait ends") == 1


FORM = {"mode": "form", "message": "Your name?", "requestedSchema": {"type": "object"}}


@pytest.mark.asyncio
async def test_a_question_is_a_request_that_the_client_answers() -> None:
    async with connect_peer({"elicitation": {}}) as peer:
        peer.send(call(1, "ask"))
        question = await peer.answer()
        assert (question["method"], question["params"]) == ("elicitation/create", FORM)
        peer.send({"id": question["id"], "result": {"action": "accept", "content": {"name": "Ada"}}})
        assert (await peer.answer())["result"] == {"answer": "accept", "name": "Ada"}


@pytest.mark.asyncio
async def test_a_client_that_cannot_ask_is_not_asked_and_a_bad_answer_is_an_error() -> None:
    async with connect_peer() as peer:
        peer.send(call(1, "ask"))
        assert (await peer.answer())["error"]["code"] == -32021
    async with connect_peer({"elicitation": {"form": {}}}) as peer:
        for answer in ({"result": {"action": "perhaps"}}, {"error": {"code": -1, "message": "no"}}):
            peer.send(call(2, "ask"))
            peer.send({"id": (await peer.answer())["id"], **answer})
            assert "error" in await peer.answer()


@pytest.mark.asyncio
async def test_a_question_of_a_cancelled_call_is_withdrawn() -> None:
    async with connect_peer({"elicitation": {}}) as peer:
        peer.send(call(1, "ask"))
        question = await peer.answer()
        peer.send(cancel_notification(1))
        told = await peer.answer()
        assert (told["method"], told["params"]) == (
            "notifications/cancelled",
            {"requestId": question["id"]},
        )
