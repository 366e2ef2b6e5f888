"""A client as the handlers see it: what was agreed with it, what it follows, and how to send it something."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from muxpilot.protocol.elicitation import (
    METHOD,
    Elicitation,
    InputRequired,
    PersonAnswer,
    can_ask,
    find_answer,
    parse_answer,
    to_params,
)
from muxpilot.protocol.messages import (
    Params,
    RpcRequest,
    RpcResponse,
    encode_notification,
    encode_request,
)
from muxpilot.protocol.phases import ConnectionState, RequestFacts
from muxpilot.protocol.rpc_errors import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    MISSING_CLIENT_CAPABILITY,
    ProtocolError,
)
from muxpilot.server.subscriptions import ConnectionSubscriptions
from muxpilot.trace import area
from muxpilot.watch.registry import WatchRegistry

if TYPE_CHECKING:
    from muxpilot.toolkit.redact import ValueRedactor

_trace = area("server")

Deliver = Callable[[bytes], Awaitable[None]]


class ClientConnection:
    """One client. `deliver` sends a message that belongs to none of its requests."""

    def __init__(self, deliver: Deliver, watches: WatchRegistry) -> None:
        self.state = ConnectionState()
        self.subscriptions = ConnectionSubscriptions(watches)
        self._deliver = deliver
        self._numbers = count(1)
        self._questions: dict[str, asyncio.Future[RpcResponse]] = {}
        # Takes secrets out of notifications; the server sets it with the first request.
        self.redactor: ValueRedactor | None = None

    async def notify(self, method: str, params: Params | None = None) -> None:
        """Send a notification that belongs to no request."""
        await self._deliver(self.encode(method, params))

    def encode(self, method: str, params: Params | None) -> bytes:
        """Return a notification without secrets, where the configuration says so."""
        if self.redactor is not None and params is not None:
            params = self.redactor.redact_value(params)
        return encode_notification(method, params)

    async def ask(self, method: str, params: Params, *, deliver: Deliver) -> dict[str, Any]:
        """Send the client a request and return its result. The caller sets the time limit."""
        identity = f"muxpilot-{next(self._numbers)}"
        future: asyncio.Future[RpcResponse] = asyncio.get_running_loop().create_future()
        self._questions[identity] = future
        _trace.debug("client is asked", method=method, id=identity)
        try:
            await deliver(encode_request(identity, method, params))
            response = await future
        except asyncio.CancelledError:
            await self.notify("notifications/cancelled", {"requestId": identity})
            raise
        finally:
            del self._questions[identity]
        if response.result is None:
            code = (response.error or {}).get("code", INTERNAL_ERROR)
            raise ProtocolError(code, "The client could not answer the request.")
        return response.result

    def handle_response(self, response: RpcResponse) -> None:
        """Pass a client's answer to the task that waits for it. Others are dropped."""
        future = self._questions.get(str(response.id))
        _trace.debug("client has answered", is_awaited=future is not None)
        if future is not None and not future.done():
            future.set_result(response)

    async def close(self) -> None:
        """End what the client follows, and the questions that it has not answered."""
        for future in self._questions.values():
            if not future.done():
                future.set_exception(ProtocolError(CONNECTION_CLOSED, "The client has left."))
        await self.subscriptions.close()


class RequestChannel(Protocol):
    """How a transport sends what belongs to one request, before its answer."""

    async def deliver(self, message: bytes) -> None:
        """Send a message to the client that made the request."""


class RequestContext:
    """One request of a client, with the means to report on it."""

    __slots__ = ("_channel", "connection", "facts", "request")

    def __init__(
        self, request: RpcRequest, facts: RequestFacts, connection: ClientConnection, channel: RequestChannel
    ) -> None:
        self.request = request
        self.facts = facts
        self.connection = connection
        self._channel = channel

    @property
    def subscriptions(self) -> ConnectionSubscriptions | None:
        """Return the subscriptions of the connection, or None on revisions without connections."""
        return self.connection.subscriptions if self.facts.revision.has_handshake else None

    async def notify(self, method: str, params: Params | None = None) -> None:
        """Send a notification that belongs to this request."""
        await self._channel.deliver(self.connection.encode(method, params))

    async def report_progress(self, progress: float, total: float | None, message: str) -> None:
        """Send progress. Call this only if the client has sent a token."""
        params: Params = {"progressToken": self.facts.progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        await self.notify("notifications/progress", params | ({"message": message} if message else {}))

    async def ask_person(self, question: Elicitation) -> PersonAnswer:
        """Put a question to the person who uses the client, and return what they answer.

        Raise ProtocolError if the client cannot ask. Since 2026-07-28, raise InputRequired, which must reach
        `MuxpilotServer.answer`: the client repeats its request with the answer, and then this returns it.
        """
        if not can_ask(self.facts, question.mode):
            needed: Params = {"requiredCapabilities": {"elicitation": {question.mode: {}}}}
            raise ProtocolError(MISSING_CLIENT_CAPABILITY, "The client cannot ask its person.", needed)
        if self.facts.revision.has_handshake:
            params = to_params(question, has_id=True)
            began = time.monotonic()
            result = await self.connection.ask(METHOD, params, deliver=self._channel.deliver)
            return parse_answer(result)._replace(seconds=time.monotonic() - began)
        answer = find_answer(self.request.params, question.key)
        if answer is None:
            raise InputRequired((question,))
        return answer
