"""The phases of a connection, the revisions, and which requests each serves."""

from __future__ import annotations

import itertools
from typing import Any

import mcp_types.methods as sdk_methods
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from muxpilot.protocol.messages import RpcRequest
from muxpilot.protocol.phases import (
    TRANSITIONS,
    ConnectionPhase,
    ConnectionState,
    RequestKind,
    open_stateless,
)
from muxpilot.protocol.revisions import REVISIONS
from muxpilot.protocol.rpc_errors import ProtocolError
from tests.rigs.wire import ENVELOPE, HANDSHAKE_VERSIONS, MODERN_VERSION

CLIENT = {"name": "x", "version": "1"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": CLIENT}
REQUESTS = {
    RequestKind.INITIALIZE: RpcRequest(1, "initialize", HELLO),
    RequestKind.PING: RpcRequest(1, "ping", {}),
    RequestKind.PLAIN: RpcRequest(1, "tools/list", {}),
    RequestKind.ENVELOPED: RpcRequest(1, "tools/list", {"_meta": ENVELOPE}),
}
OPENINGS = {
    ConnectionPhase.OPENING: (),
    ConnectionPhase.UNINITIALIZED: (RequestKind.PING,),
    ConnectionPhase.READY: (RequestKind.INITIALIZE,),
    ConnectionPhase.STATELESS: (RequestKind.ENVELOPED,),
}


def code_of(state: ConnectionState, request: RpcRequest) -> int | None:
    try:
        state.open_request(request)
    except ProtocolError as error:
        return error.code
    return None


def test_every_request_has_a_row_in_every_phase() -> None:
    assert set(TRANSITIONS) == set(itertools.product(ConnectionPhase, RequestKind))


@pytest.mark.parametrize(("phase", "kind"), TRANSITIONS)
def test_a_connection_does_what_its_row_says(phase: ConnectionPhase, kind: RequestKind) -> None:
    state = ConnectionState()
    for before in OPENINGS[phase]:
        state.open_request(REQUESTS[before])
    assert state.phase is phase
    after, refusal = TRANSITIONS[phase, kind]
    code = code_of(state, REQUESTS[kind])
    has_no_envelope = phase is ConnectionPhase.STATELESS and kind in (RequestKind.PING, RequestKind.PLAIN)
    assert (code is not None) == (refusal is not None or has_no_envelope)
    assert state.phase is after


def test_a_handshake_that_fails_fixes_the_era_and_can_be_repeated() -> None:
    state = ConnectionState()
    assert code_of(state, RpcRequest(1, "initialize", {})) == -32602
    assert code_of(state, REQUESTS[RequestKind.ENVELOPED]) == -32600
    assert code_of(state, REQUESTS[RequestKind.INITIALIZE]) is None
    assert state.revision.version == "2025-06-18"


def test_the_revisions_are_those_of_the_sdk() -> None:
    assert tuple(REVISIONS) == KNOWN_PROTOCOL_VERSIONS == (*HANDSHAKE_VERSIONS, MODERN_VERSION)
    assert [row.version for row in REVISIONS.values() if row.has_handshake] == list(
        HANDSHAKE_PROTOCOL_VERSIONS
    )
    assert [row.version for row in REVISIONS.values() if not row.has_handshake] == list(
        MODERN_PROTOCOL_VERSIONS
    )


@pytest.mark.parametrize("version", REVISIONS)
def test_a_revision_has_the_methods_of_the_sdk_but_logging(version: str) -> None:
    known = {method for method, at in sdk_methods.CLIENT_REQUESTS if at == version}
    assert REVISIONS[version].methods == known - {"logging/setLevel"}  # not declared, so not served


def test_elicitation_is_there_from_the_revision_that_added_it() -> None:
    asks = {version for method, version in sdk_methods.SERVER_REQUESTS if method == "elicitation/create"}
    for version, row in REVISIONS.items():
        assert bool(row.elicitation_modes) == (version in asks or not row.has_handshake)


BAD_META: list[Any] = [
    None,
    {},
    {k: v for k, v in ENVELOPE.items() if "Capabilities" not in k},
    ENVELOPE | {"io.modelcontextprotocol/protocolVersion": 7},
    ENVELOPE | {"io.modelcontextprotocol/clientCapabilities": []},
]


@pytest.mark.parametrize("meta", BAD_META)
def test_an_incomplete_envelope_is_refused(meta: Any) -> None:
    with pytest.raises(ProtocolError) as caught:
        open_stateless(RpcRequest(1, "tools/list", {"_meta": meta}))
    assert caught.value.code == -32602


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"mcp-method": "tools/call", "mcp-name": "a b"}, None),
        ({"mcp-method": "tools/call", "mcp-name": "=?base64?YSBi?="}, None),
        ({"mcp-method": "tools/call", "mcp-name": "=?base64?YSBj?="}, -32020),
        ({"mcp-method": "tools/call", "mcp-name": "=?base64?YSBi=?="}, -32020),
        ({"mcp-method": "tools/call", "mcp-name": "=?base64?/w==?="}, -32020),
        ({"mcp-method": "tools/call"}, -32020),
        ({"mcp-method": "tools/list", "mcp-name": "a b"}, -32020),
        ({"mcp-name": "a b"}, -32020),
        ({"mcp-method": "tools/call", "mcp-name": "a b", "mcp-protocol-version": "2025-11-25"}, -32020),
    ],
)
def test_headers_say_what_the_body_says(headers: dict[str, str], code: int | None) -> None:
    request = RpcRequest(1, "tools/call", {"name": "a b", "_meta": ENVELOPE})
    given = {"mcp-protocol-version": MODERN_VERSION} | headers
    try:
        open_stateless(request, given)
        found = None
    except ProtocolError as error:
        found = error.code
    assert found == code


PARAMETERS: list[tuple[str, dict[str, Any]]] = [
    ("tools/call", {}),
    ("tools/call", {"name": 1}),
    ("tools/call", {"name": "x", "arguments": []}),
    ("tools/call", {"name": "x", "arguments": None}),
    ("tools/call", {"name": "x", "other": 1}),
    ("tools/call", {"name": "x", "_meta": 1}),
    ("tools/call", {"name": "x", "_meta": None}),
    ("resources/read", {}),
    ("resources/read", {"uri": None}),
    ("resources/subscribe", {"uri": ["x"]}),
    ("resources/unsubscribe", {"uri": "tmux://pane/%0"}),
    ("prompts/get", {"name": "x", "arguments": {"a": 1}}),
    ("prompts/get", {"name": "x", "arguments": {"a": "b"}}),
    ("prompts/get", {"arguments": {}}),
    ("completion/complete", {}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a"}}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}},
    ),
    ("initialize", {}),
    ("initialize", {**HELLO, "clientInfo": {"name": "x"}}),
    ("initialize", {**HELLO, "capabilities": None}),
    ("initialize", HELLO),
]


@pytest.mark.parametrize(("method", "params"), PARAMETERS)
def test_parameters_are_refused_where_the_sdk_refuses_them(method: str, params: dict[str, Any]) -> None:
    state = ConnectionState()
    state.open_request(REQUESTS[RequestKind.INITIALIZE])
    try:
        sdk_methods.validate_client_request(method, "2025-11-25", params)
        is_good = True
    except ValueError:
        is_good = False
    assert code_of(state, RpcRequest(1, method, params)) == (None if is_good else -32602)
