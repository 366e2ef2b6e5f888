"""Requests over stdio that are malformed, invalid or too large."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.rigs.waiting import patient
from tests.rigs.wire import Wire
from tests.server.stdio.conftest import MEGABYTE, cpu_seconds, peak_memory

pytestmark = pytest.mark.asyncio(loop_scope="module")


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
    before = peak_memory(wire.pid)
    began = cpu_seconds(wire.pid)  # how long the sender takes is its own affair
    for _ in range(100):
        await wire.write(b"x" * MEGABYTE)
    await wire.write(b"\n")
    answer = await wire.next_unmatched_answer()
    assert cpu_seconds(wire.pid) - began < patient(1)
    assert answer["error"]["code"] == -32600
    assert peak_memory(wire.pid) - before < 50 * MEGABYTE
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
