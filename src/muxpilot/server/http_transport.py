"""MCP over Streamable HTTP: which request belongs to which session and era, and how each is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache

from muxpilot.protocol.envelope import ROUTING_HEADERS, VERSION_HEADER, find_stateless, has_envelope
from muxpilot.protocol.messages import (
    MalformedMessage,
    Result,
    RpcMessage,
    RpcNotification,
    RpcRequest,
    RpcResponse,
    encode_error,
    encode_result,
    parse_message,
)
from muxpilot.protocol.phases import RequestFacts, find_cancelled_id, open_stateless
from muxpilot.protocol.revisions import REVISIONS
from muxpilot.protocol.rpc_errors import (
    HEADER_MISMATCH,
    HTTP_STATUS,
    INVALID_REQUEST,
    ProtocolError,
)
from muxpilot.server.client_connection import ClientConnection, RequestContext
from muxpilot.server.event_log import PING, EventLog
from muxpilot.server.http_exchange import PING_S, HttpCall, HttpRequest
from muxpilot.server.http_sessions import SESSION_HEADER, HttpSession, HttpSessions
from muxpilot.tasks import TaskSet
from muxpilot.trace import area
from muxpilot.watch.registry import WatchRegistry

_trace = area("server").child(transport="http")

AnswerRequest = Callable[[RequestContext], Awaitable[Result]]
# Lets another process answer a request of a session, if the session is there. Returns whether it answered.
ForwardRequest = Callable[[HttpRequest, bytes], Awaitable[bool]]

_KEPT_HEADERS = 64  # most clients send the same Accept header with each request


class HttpTransport:
    """Answers HTTP requests that have passed the checks."""

    def __init__(
        self,
        answer: AnswerRequest,
        sessions: HttpSessions,
        *,
        watches: WatchRegistry,
        forward: ForwardRequest | None = None,
    ) -> None:
        self._answer = answer
        self._sessions = sessions
        self._watches = watches
        self._forward = forward
        self._routes = {"POST": self._post, "GET": self._get, "DELETE": self._delete}

    async def handle(self, http: HttpRequest) -> None:
        """Answer one request."""
        if http.method != "POST" and _names_stateless(http):
            await http.respond(405, headers=[(b"allow", b"POST")])
        else:
            await self._routes[http.method](http)

    async def _post(self, http: HttpRequest) -> None:
        if not (_accepts(http, b"application/json") and _accepts(http, b"text/event-stream")):
            await _refuse(http, 406, "Accept both application/json and text/event-stream")
            return
        if http.headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            await _refuse(http, 415, "Content-Type must be application/json")
            return
        try:
            message = parse_message(http.body)
        except MalformedMessage as error:
            await http.refuse(400, error, error.id)
            return
        if self._is_stateless(http, message):
            await self._post_stateless(http, message)
        else:
            await self._post_in_session(http, message)

    def _is_stateless(self, http: HttpRequest, message: RpcMessage) -> bool:
        """Return whether a message belongs to the era without sessions: by its header, or its envelope."""
        if VERSION_HEADER.encode() in http.headers:
            return _names_stateless(http)
        if not isinstance(message, RpcRequest) or message.method == "initialize":
            return False
        return SESSION_HEADER not in http.headers and has_envelope(message.params)

    async def _post_stateless(self, http: HttpRequest, message: RpcMessage) -> None:
        identity = message.id if isinstance(message, RpcRequest) else None
        try:
            if isinstance(message, RpcResponse):
                raise ProtocolError(INVALID_REQUEST, "A body is one request or one notification")
            if isinstance(message, RpcNotification):
                find_stateless(http.header(VERSION_HEADER) or "")
                await http.respond(202)
                return
            facts = open_stateless(message, _routing_headers(http))
        except ProtocolError as error:
            await http.refuse(HTTP_STATUS.get(error.code, 400), error, identity)
            return
        connection = ClientConnection(_drop, self._watches)
        call = HttpCall(http, message.id, EventLog("r"), headers=[], ends_with_connection=True)
        try:
            await call.run(self._run(message, facts, connection, call))
        finally:
            await connection.close()

    async def _post_in_session(self, http: HttpRequest, message: RpcMessage) -> None:
        if SESSION_HEADER not in http.headers:
            await self._open_session(http, message)
            return
        session = await self._find_session(http)
        if session is None:
            return
        with self._sessions.count_request(session):
            if isinstance(message, RpcRequest):
                await self._serve_request(session, http, message)
            else:
                await http.respond(202, headers=session.headers)
                _handle_unanswered(session, message)

    async def _open_session(self, http: HttpRequest, message: RpcMessage) -> None:
        if not isinstance(message, RpcRequest) or message.method != "initialize":
            await _refuse(http, 400, "Begin with initialize, or send the header Mcp-Session-Id")
            return
        session = self._sessions.create()
        try:
            facts = session.connection.state.open_request(message)
        except ProtocolError as error:
            await http.refuse(400, error, message.id)
            return
        try:
            await self._sessions.add(session)
        except ProtocolError as error:
            await http.refuse(503, error, message.id)
            return
        with self._sessions.count_request(session):
            await self._run_call(session, http, message, facts)

    async def _serve_request(self, session: HttpSession, http: HttpRequest, request: RpcRequest) -> None:
        try:
            facts = session.connection.state.open_request(request)
        except ProtocolError as error:
            await http.refuse(200, error, request.id, session.headers)
            return
        await self._run_call(session, http, request, facts)

    async def _run_call(
        self, session: HttpSession, http: HttpRequest, request: RpcRequest, facts: RequestFacts
    ) -> None:
        call = HttpCall(
            http,
            request.id,
            session.open_stream(),
            headers=session.headers,
            has_priming_event=facts.revision.has_priming_event,
        )
        key = str(request.id)
        session.calls[key] = call
        try:
            await call.run(self._run(request, facts, session.connection, call))
        finally:
            if session.calls.get(key) is call:
                del session.calls[key]
            if call.has_stream:
                call.log.end()
                session.keep_stream(call.log)

    async def _run(
        self, request: RpcRequest, facts: RequestFacts, connection: ClientConnection, call: HttpCall
    ) -> tuple[bytes, ProtocolError | None]:
        try:
            with _trace.step("request", id=request.id, method=request.method[:60]):
                result = await self._answer(RequestContext(request, facts, connection, call))
            return encode_result(request.id, result), None
        except ProtocolError as error:
            return encode_error(request.id, error), error

    async def _get(self, http: HttpRequest) -> None:
        """Send the stream of notifications of a session, or the rest of a stream that was interrupted."""
        if not _accepts(http, b"text/event-stream"):
            await _refuse(http, 406, "Accept text/event-stream")
            return
        session = await self._find_session(http)
        if session is None:
            return
        event_id = http.headers.get(b"last-event-id")
        log, last = session.find_stream(event_id)
        if log is session.unasked and session.carrier is not None and event_id is None:
            await _refuse(http, 409, "This session has a stream already")
            return
        session.trace.debug("stream opened", stream=log.name, after=last, is_resumed=event_id is not None)
        with self._sessions.count_request(session, is_stream=True):
            await _carry_events(http, session, log, last)

    async def _delete(self, http: HttpRequest) -> None:
        session = await self._find_session(http)
        if session is not None:
            await self._sessions.end(session)
            await http.respond(200)

    async def _find_session(self, http: HttpRequest) -> HttpSession | None:
        """Return the session that a request names. Where it is not here, answer the request or refuse it."""
        identity = http.headers.get(SESSION_HEADER)
        if identity is None:
            await _refuse(http, 400, "Send the header Mcp-Session-Id")
            return None
        session = self._sessions.find(identity)
        if session is None and not await self._is_answered_elsewhere(http, identity):
            await _refuse(http, 404, "This session does not exist")
        return session

    async def _is_answered_elsewhere(self, http: HttpRequest, identity: bytes) -> bool:
        return self._forward is not None and await self._forward(http, identity)


def _names_stateless(http: HttpRequest) -> bool:
    """Return whether the version header is not one of the revisions with a handshake. Others are refused."""
    version = http.header(VERSION_HEADER)
    return version is not None and (version not in REVISIONS or not REVISIONS[version].has_handshake)


def _handle_unanswered(session: HttpSession, message: RpcMessage) -> None:
    if isinstance(message, RpcResponse):
        session.connection.handle_response(message)
    elif isinstance(message, RpcNotification) and message.method == "notifications/cancelled":
        call = session.calls.get(str(find_cancelled_id(message.params)))
        if call is not None:
            call.cancel()


async def _carry_events(http: HttpRequest, session: HttpSession, log: EventLog, last: int) -> None:
    """Send the events of a stream after `last`, until it ends or another request carries it on."""
    carrier = object()
    if log is session.unasked:
        session.carrier = carrier
        log.changes.notify()  # the one before ends
    watch = TaskSet(_trace)
    gone = watch.start(http.wait_until_gone())
    gone.add_done_callback(lambda _: log.changes.notify())
    try:
        await http.start_stream(session.headers)
        if session.connection.state.revision.has_priming_event:
            await http.send_event(log.priming_event(last))
        while not gone.done() and (log is not session.unasked or session.carrier is carrier):
            count = log.changes.count
            for last, event in log.after(last):  # noqa: B020 - the last one that was sent
                await http.send_event(event)
                log.last_sent = max(log.last_sent, last)
            if log.is_ended:
                break
            if not await log.changes.wait(PING_S, since=count):
                await http.send_event(PING)
        await http.end_stream()
    finally:
        watch.cancel()
        if session.carrier is carrier:
            session.carrier = None


async def _refuse(http: HttpRequest, status: int, words: str) -> None:
    await http.refuse(status, ProtocolError(INVALID_REQUEST, words))


def _accepts(http: HttpRequest, wanted: bytes) -> bool:
    """Return whether the client accepts a type, by its name or by `*`."""
    kinds = _accepted_types(http.headers.get(b"accept", b""))
    return not kinds.isdisjoint((wanted, b"*/*", wanted.partition(b"/")[0] + b"/*"))


@lru_cache(_KEPT_HEADERS)
def _accepted_types(header: bytes) -> frozenset[bytes]:
    return frozenset(part.partition(b";")[0].strip().lower() for part in header.split(b","))


def _routing_headers(http: HttpRequest) -> dict[str, str]:
    """Return the headers that repeat parts of the body. Refuse one that is given twice."""
    names = [name.decode("latin-1").lower() for name, _ in http.raw_headers]
    for name in ROUTING_HEADERS:
        if names.count(name) > 1:
            raise ProtocolError(HEADER_MISMATCH, f"The header {name} is given twice")
    return {name: value for name in ROUTING_HEADERS if (value := http.header(name)) is not None}


async def _drop(message: bytes) -> None:
    """Drop a message for a client that has no connection."""
