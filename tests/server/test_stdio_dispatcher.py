"""The stdio dispatcher: each request is answered once, a cancelled one never, and no task is left running."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from muxpilot.server.fast_json import PreSerialized, encode_message
from muxpilot.server.fd_streams import ByteWriter, LineReader
from muxpilot.server.stdio import IncomingMessages, OutgoingMessages, PendingRequests
from muxpilot.server.stdio_dispatcher import StdioDispatcher

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

    async def on_request(self, call: Any, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        try:
            self.seen.append(f"{method} begins")
            if method == "wait":
                await call.progress(1.0, None, "still here")
                await self.go_on.wait()
            if method == "fail":
                raise MCPError(types.INVALID_PARAMS, "no")
            if method == "wait for what is ended":
                ended = asyncio.get_running_loop().create_future()
                ended.cancel()
                await ended
            if method == "break":
                raise RuntimeError("/a/path/of/ours")
            return {"method": method}
        finally:
            self.seen.append(f"{method} ends")

    async def on_notify(self, call: Any, method: str, params: Mapping[str, Any] | None) -> None:
        self.seen.append(method)


@asynccontextmanager
async def connect_peer() -> AsyncIterator[Peer]:
    near_in, far_in = os.pipe()
    near_out, far_out = os.pipe()
    for descriptor in (near_in, far_out, near_out):
        os.set_blocking(descriptor, False)
    writer, unanswered, back = ByteWriter(far_out), PendingRequests(), LineReader(near_out)
    reader = LineReader(near_in)
    calls = StdioDispatcher(
        IncomingMessages(reader, writer, unanswered), OutgoingMessages(writer, unanswered)
    )
    peer = Peer(far_in, back)
    running = asyncio.create_task(calls.run(peer.on_request, peer.on_notify))
    try:
        yield peer
    finally:
        os.close(far_in)
        await asyncio.wait_for(running, LIMIT_S)
        for each in (reader, back):
            each.close()
        for descriptor in (near_in, near_out, far_out):
            os.close(descriptor)


def cancel_notification(identity: object) -> dict[str, Any]:
    return {"method": "notifications/cancelled", "params": {"requestId": identity}}


@pytest.mark.asyncio
async def test_requests_do_not_wait_for_each_other() -> None:
    async with connect_peer() as peer:
        peer.send({"id": 1, "method": "wait"}, {"id": "b", "method": "quick"})
        assert await peer.answer() == {"jsonrpc": "2.0", "id": "b", "result": {"method": "quick"}}
        peer.go_on.set()
        assert (await peer.answer())["id"] == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("token", ["t", "", 0, 1 << 70], ids=repr)
async def test_progress_goes_to_whoever_gave_a_token_while_the_call_is_on(token: int | str) -> None:
    async with connect_peer() as peer:
        peer.send({"id": 1, "method": "wait", "params": {"_meta": {"progressToken": token}}})
        told = await peer.answer()
        assert told["method"] == "notifications/progress"
        assert told["params"] == {"progressToken": token, "progress": 1.0, "message": "still here"}


@pytest.mark.asyncio
@pytest.mark.parametrize("identity", [7, "7"], ids=repr)
async def test_a_request_that_is_given_up_ends_and_is_never_answered(identity: int | str) -> None:
    async with connect_peer() as peer:
        peer.send({"id": 7, "method": "wait"}, {"id": 8, "method": "first"})
        assert (await peer.answer())["id"] == 8
        peer.send(
            cancel_notification(identity), cancel_notification(identity), cancel_notification("never sent")
        )
        peer.send({"id": 9, "method": "next"})
        assert (await peer.answer())["id"] == 9
        assert "wait ends" in peer.seen


@pytest.mark.asyncio
async def test_an_id_may_come_again_after_its_request_was_given_up_unbegun() -> None:
    async with connect_peer() as peer:
        peer.send({"id": 7, "method": "wait"}, cancel_notification(7), {"id": 7, "method": "again"})
        assert await peer.answer() == {"jsonrpc": "2.0", "id": 7, "result": {"method": "again"}}


@pytest.mark.asyncio
async def test_a_failure_is_answered_and_a_fault_says_nothing_of_ours() -> None:
    async with connect_peer() as peer:
        peer.send({"id": 1, "method": "fail"})
        assert (await peer.answer())["error"] == {"code": types.INVALID_PARAMS, "message": "no"}
        for method in ("break", "wait for what is ended"):
            peer.send({"id": 2, "method": method})
            error = (await peer.answer())["error"]
            assert error == {"code": types.INTERNAL_ERROR, "message": "Internal error"}


@pytest.mark.asyncio
async def test_who_leaves_ends_its_calls() -> None:
    async with connect_peer() as peer:
        peer.send({"id": 1, "method": "wait"}, {"id": 2, "method": "quick"})
        assert (await peer.answer())["id"] == 2
    assert peer.seen.count("wait ends") == 1


@pytest.mark.parametrize("text", ['{"a":"é\\n\\"\\\\ 🙂"}', "{}", '{"panes":[{"id":"%0","exitCode":null}]}'])
@pytest.mark.parametrize("identity", [1, 'a"b\u00e9'])
def test_an_answer_that_is_written_already_is_the_same_message(text: str, identity: int | str) -> None:
    data = json.loads(text)
    result = {"content": [{"type": "text", "text": text}], "isError": False, "structuredContent": data}
    plain = types.JSONRPCResponse(jsonrpc="2.0", id=identity, result=result)
    quick = types.JSONRPCResponse(
        jsonrpc="2.0", id=identity, result={**result, "structuredContent": PreSerialized(data, text)}
    )
    assert json.loads(encode_message(quick)) == json.loads(encode_message(plain))
    assert encode_message(quick).count(b"\n") == 1
