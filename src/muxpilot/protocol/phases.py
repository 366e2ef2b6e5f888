"""The phases of a connection: which requests it serves, and what each request changes.

The first request fixes the era. `initialize` opens a connection with a handshake; a request with an envelope
opens one on which every request must have one. The other era's requests are refused from then on. Before the
handshake is done, only `initialize` and `ping` are served.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from muxpilot.protocol.envelope import CLIENT_INFO_KEY, check_envelope, has_envelope
from muxpilot.protocol.messages import Params, RpcRequest
from muxpilot.protocol.parameters import check_parameters
from muxpilot.protocol.revisions import NEWEST_HANDSHAKE, STATELESS_VERSIONS, Revision, negotiate
from muxpilot.protocol.rpc_errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    ProtocolError,
)
from muxpilot.trace import area

_trace = area("server")


class ConnectionPhase(Enum):
    """How far a connection is."""

    OPENING = "no request has come"
    UNINITIALIZED = "the handshake is not done"
    READY = "the handshake is done"
    STATELESS = "every request has an envelope"


class RequestKind(Enum):
    """What a request means for the phase of its connection."""

    INITIALIZE = "it begins the handshake"
    PING = "it is served in all phases of the handshake era"
    ENVELOPED = "it has an envelope"
    PLAIN = "any other"


class Refusal(Enum):
    """Why a request is refused in a phase."""

    NOT_INITIALIZED = "Invalid request parameters: send initialize first"
    ENVELOPE_AFTER_HANDSHAKE = (
        "This connection began with a handshake. Send requests without a protocol version of their own."
    )
    HANDSHAKE_AFTER_ENVELOPE = "This connection serves requests with an envelope. It has no initialize."


_Phase, _Kind = ConnectionPhase, RequestKind

# What each kind of request does in each phase: the next phase, and the refusal if it is not served.
TRANSITIONS: dict[tuple[ConnectionPhase, RequestKind], tuple[ConnectionPhase, Refusal | None]] = {
    (_Phase.OPENING, _Kind.INITIALIZE): (_Phase.READY, None),
    (_Phase.OPENING, _Kind.PING): (_Phase.UNINITIALIZED, None),
    (_Phase.OPENING, _Kind.PLAIN): (_Phase.UNINITIALIZED, Refusal.NOT_INITIALIZED),
    (_Phase.OPENING, _Kind.ENVELOPED): (_Phase.STATELESS, None),
    (_Phase.UNINITIALIZED, _Kind.INITIALIZE): (_Phase.READY, None),
    (_Phase.UNINITIALIZED, _Kind.PING): (_Phase.UNINITIALIZED, None),
    (_Phase.UNINITIALIZED, _Kind.PLAIN): (_Phase.UNINITIALIZED, Refusal.NOT_INITIALIZED),
    (_Phase.UNINITIALIZED, _Kind.ENVELOPED): (_Phase.UNINITIALIZED, Refusal.ENVELOPE_AFTER_HANDSHAKE),
    (_Phase.READY, _Kind.INITIALIZE): (_Phase.READY, None),
    (_Phase.READY, _Kind.PING): (_Phase.READY, None),
    (_Phase.READY, _Kind.PLAIN): (_Phase.READY, None),
    (_Phase.READY, _Kind.ENVELOPED): (_Phase.READY, Refusal.ENVELOPE_AFTER_HANDSHAKE),
    (_Phase.STATELESS, _Kind.INITIALIZE): (_Phase.STATELESS, Refusal.HANDSHAKE_AFTER_ENVELOPE),
    (_Phase.STATELESS, _Kind.PING): (_Phase.STATELESS, None),
    (_Phase.STATELESS, _Kind.PLAIN): (_Phase.STATELESS, None),
    (_Phase.STATELESS, _Kind.ENVELOPED): (_Phase.STATELESS, None),
}


class RequestFacts(NamedTuple):
    """The facts of one request: the revision, what its client can do, its token for progress, its name."""

    revision: Revision
    capabilities: dict[str, Any]
    progress_token: int | str | None
    client: str = ""


class ConnectionState:
    """The phase of one connection, and what its handshake has fixed."""

    def __init__(self) -> None:
        self.phase = ConnectionPhase.OPENING
        self.revision = NEWEST_HANDSHAKE
        self._capabilities: dict[str, Any] = {}
        self._client = ""

    def open_request(self, request: RpcRequest) -> RequestFacts:
        """Check a request and note what it changes. Raise ProtocolError to refuse it."""
        kind = _classify(request)
        if self.phase is ConnectionPhase.READY and kind is RequestKind.PLAIN:  # nearly all
            return self._check_request(request)
        phase, refusal = TRANSITIONS[self.phase, kind]
        if kind is RequestKind.INITIALIZE and refusal is None:
            return self._shake_hands(request, phase)
        self._enter(phase, request.method)
        if self.phase is ConnectionPhase.STATELESS and refusal is None:
            return open_stateless(request)
        if refusal is not None:
            self._refuse(request, refusal)
        return self._check_request(request)

    def _check_request(self, request: RpcRequest) -> RequestFacts:
        method, params = request.method, request.params
        if method not in self.revision.methods:
            raise ProtocolError(METHOD_NOT_FOUND, "Method not found", method[:200])
        check_parameters(method, params)
        token = find_progress_token(params) if "_meta" in params else None
        return RequestFacts(self.revision, self._capabilities, token, self._client)

    def _shake_hands(self, request: RpcRequest, phase: ConnectionPhase) -> RequestFacts:
        if self.phase is ConnectionPhase.OPENING:  # also a bad handshake fixes the era
            self._enter(ConnectionPhase.UNINITIALIZED, request.method)
        check_parameters(request.method, request.params)
        self.revision = negotiate(request.params["protocolVersion"])
        self._capabilities = request.params["capabilities"]
        self._client = _find_name(request.params.get("clientInfo"))
        self._enter(phase, request.method)
        return RequestFacts(self.revision, self._capabilities, None)

    def _enter(self, phase: ConnectionPhase, method: str) -> None:
        if phase is not self.phase:
            _trace.debug(
                "connection phase changed",
                before=self.phase.name,
                after=phase.name,
                method=method[:60],
                revision=self.revision.version,
            )
            self.phase = phase

    def _refuse(self, request: RpcRequest, refusal: Refusal) -> None:
        if refusal is Refusal.HANDSHAKE_AFTER_ENVELOPE:
            asked = request.params.get("protocolVersion")
            data = {"supported": list(STATELESS_VERSIONS)}
            raise ProtocolError(
                UNSUPPORTED_VERSION,
                refusal.value,
                data | ({"requested": asked} if isinstance(asked, str) else {}),
            )
        if refusal is Refusal.ENVELOPE_AFTER_HANDSHAKE:
            raise ProtocolError(INVALID_REQUEST, refusal.value)
        if request.method not in self.revision.methods:  # a client that tries out what there is wants this
            raise ProtocolError(METHOD_NOT_FOUND, "Method not found", request.method[:200])
        raise ProtocolError(INVALID_PARAMS, refusal.value)


def open_stateless(request: RpcRequest, headers: dict[str, str] | None = None) -> RequestFacts:
    """Check a request that has an envelope. `headers` are those of an HTTP request."""
    revision, capabilities = check_envelope(request, headers)
    if request.method not in revision.methods:
        raise ProtocolError(METHOD_NOT_FOUND, "Method not found", request.method[:200])
    check_parameters(request.method, request.params)
    client = _find_name(request.params["_meta"].get(CLIENT_INFO_KEY))
    return RequestFacts(revision, capabilities, find_progress_token(request.params), client)


def _classify(request: RpcRequest) -> RequestKind:
    if request.method == "initialize":
        return RequestKind.INITIALIZE
    if "_meta" in request.params and has_envelope(request.params):
        return RequestKind.ENVELOPED
    return RequestKind.PING if request.method == "ping" else RequestKind.PLAIN


def _find_name(client: object) -> str:
    """Return the name in a client's description of itself, or an empty text."""
    name = client.get("name") if isinstance(client, dict) else None
    return name if isinstance(name, str) else ""


def find_progress_token(params: Params) -> int | str | None:
    """Return the token with which a client asks for progress."""
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if token.__class__ in (int, str) else None


def find_cancelled_id(params: Params) -> int | str | None:
    """Return the id of the request that `notifications/cancelled` is about."""
    identity = params.get("requestId")
    return identity if identity.__class__ in (int, str) else None
