"""The same requests to our server and to the SDK's, in every revision: the same results and error codes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.wire import HANDSHAKE_VERSIONS, MODERN_VERSION, Message, Place, Wire, private_place

SDK_SERVER = Path(__file__).parents[1] / "rigs" / "sdk_server.py"
PROGRAM = (
    f"import runpy, sys; sys.argv[0] = {str(SDK_SERVER)!r}; runpy.run_path(sys.argv[0], run_name='__main__')"
)

REQUESTS: list[tuple[str, Any]] = [
    ("ping", {}),
    ("tools/list", {}),
    ("tools/list", {"cursor": None}),
    ("tools/call", {"name": "list-sessions"}),
    ("tools/call", {"name": "list-sessions", "arguments": None}),
    ("tools/call", {"name": "list-panes", "arguments": {}}),
    ("tools/call", {"name": "list-panes", "arguments": {"paneId": "%0"}}),
    ("tools/call", {"name": "capture-pane", "arguments": {"paneId": "%0"}}),
    ("tools/call", {"name": "kill-pane", "arguments": {"paneId": "%99"}}),
    ("tools/call", {"name": "no-such", "arguments": {}}),
    ("tools/call", {"name": 7}),
    ("tools/call", {"name": "list-panes", "arguments": []}),
    ("tools/call", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "tmux://sessions"}),
    ("resources/read", {"uri": "tmux://pane/%0"}),
    ("resources/read", {"uri": "tmux://pane/%99"}),
    ("resources/read", {"uri": 7}),
    ("resources/read", {}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "run-and-report", "arguments": {"command": "make"}}),
    ("prompts/get", {"name": "run-and-report", "arguments": {"command": 7}}),
    ("prompts/get", {"name": "run-and-report"}),
    ("prompts/get", {"name": "none"}),
    ("no/such", {}),
    ("initialize", {}),
]


@asynccontextmanager
async def both(place: Place, version: str) -> AsyncIterator[tuple[Wire, Wire]]:
    """Yield our server and the SDK's, each after its handshake in this revision."""
    async with place.serve() as ours, place.serve(program=PROGRAM) as theirs:
        hellos = []
        for wire in (ours, theirs):
            if version == MODERN_VERSION:
                wire.use_modern_revision()
                hellos.append(await wire.result("server/discover"))
            else:
                hellos.append(await wire.shake_hands(version))
        assert plain(hellos[0]) == plain(hellos[1])
        yield ours, theirs


def plain(result: Message) -> Message:
    """Leave out what the SDK's server does otherwise: cache hints, and subscriptions, which it lacks here."""
    kept = {key: value for key, value in result.items() if key not in ("ttlMs", "cacheScope")}
    if "capabilities" in kept:
        kept["capabilities"] = sorted({*kept["capabilities"]} - {"completions", "experimental"})
    return kept


def outcome(answer: Message) -> Any:
    """Return the result, or the code of the error: its words are each server's own."""
    return plain(answer["result"]) if "result" in answer else answer["error"]["code"]


@pytest.mark.parametrize("version", [*HANDSHAKE_VERSIONS, MODERN_VERSION])
async def test_both_servers_answer_alike(version: str) -> None:
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "same", "-n", "window", "exec cat")
        async with both(place, version) as (ours, theirs):
            for method, params in REQUESTS:
                found, wanted = [outcome(await wire.ask(method, params)) for wire in (ours, theirs)]
                assert found == wanted, (method, params)


@pytest.mark.parametrize("version", [HANDSHAKE_VERSIONS[-1], MODERN_VERSION])
async def test_both_servers_refuse_alike_before_the_first_good_request(version: str) -> None:
    envelope: dict[str, Any] = {"io.modelcontextprotocol/protocolVersion": version}
    requests: list[tuple[str, Any]] = [
        ("tools/list", {"_meta": envelope}) if version == MODERN_VERSION else ("tools/list", {}),
        ("tools/list", {}),
        ("no/such", {}),
        ("initialize", {"protocolVersion": "2025-11-25"}),
        ("server/discover", {"_meta": {**envelope, "io.modelcontextprotocol/clientCapabilities": {}}}),
    ]
    with private_place() as place:
        async with place.serve() as ours, place.serve(program=PROGRAM) as theirs:
            for method, params in requests:
                found, wanted = [outcome(await wire.ask(method, params)) for wire in (ours, theirs)]
                if isinstance(wanted, int) or isinstance(found, int):
                    assert found == wanted, (method, params)
