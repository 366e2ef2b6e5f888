"""Run each request of a stdio client in its own task, until it is answered or cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from muxpilot.protocol.messages import (
    Result,
    RpcMessage,
    RpcNotification,
    RpcRequest,
    RpcResponse,
    encode_error,
    encode_result,
)
from muxpilot.protocol.phases import find_cancelled_id
from muxpilot.protocol.rpc_errors import CONNECTION_CLOSED, INTERNAL_ERROR, ProtocolError
from muxpilot.server.client_connection import ClientConnection, RequestContext
from muxpilot.server.stdio import IncomingMessages, OutgoingMessages
from muxpilot.tasks import TaskSet
from muxpilot.trace import area

_trace = area("server").child(transport="stdio")

# A task that continues after it was cancelled is cancelled again this often.
_CANCEL_AGAIN_S = 0.1

AnswerRequest = Callable[[RequestContext], Awaitable[Result]]


class StdioCall:
    """A request that runs. It sends nothing more once it is answered or cancelled."""

    __slots__ = ("_outgoing", "is_cancelled", "is_finished", "task")

    def __init__(self, outgoing: OutgoingMessages) -> None:
        self._outgoing = outgoing
        self.is_cancelled = False
        self.is_finished = False
        self.task: asyncio.Task[None] | None = None

    async def deliver(self, message: bytes) -> None:
        """Send a message that belongs to this request."""
        if not self.is_finished:
            await self._outgoing.send(message)

    def cancel(self) -> None:
        """End the request. The client does not want its answer any more."""
        self.is_cancelled = True
        if self.task is not None:
            self.task.cancel()


class StdioDispatcher:
    """Reads the client's messages and runs its requests. Ids 7 and "7" count as one."""

    def __init__(
        self,
        incoming: IncomingMessages,
        outgoing: OutgoingMessages,
        connection: ClientConnection,
        answer: AnswerRequest,
    ) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._connection = connection
        self._answer = answer
        self._tasks = TaskSet(_trace)
        self._running: dict[str, StdioCall] = {}

    async def run(self) -> None:
        """Serve messages until the client leaves, then cancel what still runs."""
        self._incoming.hand_over_requests(self._start_request)
        try:
            while (message := await self._incoming.receive()) is not None:
                self._handle(message)
        finally:
            await self._cancel_all()
            await self._connection.close()

    def _handle(self, message: RpcMessage) -> None:
        if isinstance(message, RpcRequest):
            self._start_request(message)
        elif isinstance(message, RpcResponse):
            self._connection.handle_response(message)
        elif message.method == "notifications/cancelled":
            self._handle_cancel(message)

    def _start_request(self, request: RpcRequest) -> None:
        """Start the task of a request. Tasks begin in the order of their requests."""
        call = StdioCall(self._outgoing)
        call.task = self._tasks.start(self._handle_request(call, request), name="request")
        self._running[str(request.id)] = call

    def _handle_cancel(self, message: RpcNotification) -> None:
        identity = find_cancelled_id(message.params)
        call = self._running.pop(str(identity), None) if identity is not None else None
        _trace.debug("request cancelled", id=identity, is_running=call is not None)
        if call is not None:
            call.cancel()

    async def _handle_request(self, call: StdioCall, request: RpcRequest) -> None:
        """Answer a request, unless the client has cancelled it."""
        try:
            with _trace.step("request", id=request.id, method=request.method[:60]):
                # Before anything is awaited: requests change the phase in the order in which they came.
                facts = self._connection.state.open_request(request)
                result = await self._answer(RequestContext(request, facts, self._connection, call))
            message = encode_result(request.id, result)
        except ProtocolError as error:
            message = encode_error(request.id, error)
        except asyncio.CancelledError as error:
            if _is_cancelled_from_outside():
                if not call.is_cancelled:
                    closed = ProtocolError(CONNECTION_CLOSED, "Connection closed")
                    self._outgoing.write(encode_error(request.id, closed))
                raise
            message = _internal_error(request, error)
        except Exception as error:  # noqa: BLE001 - one request must not end the others
            message = _internal_error(request, error)
        finally:
            call.is_finished = True
            self._forget(call, request)
        if not call.is_cancelled:
            await self._outgoing.send_answer(request.id, message)

    def _forget(self, call: StdioCall, request: RpcRequest) -> None:
        """Forget a request, unless a newer one has the same id."""
        key = str(request.id)
        if self._running.get(key) is call:
            del self._running[key]

    async def _cancel_all(self) -> None:
        while self._tasks:
            self._tasks.cancel()
            await self._tasks.wait(_CANCEL_AGAIN_S)


def _is_cancelled_from_outside() -> bool:
    """Return whether this task itself is cancelled, and not something that its handler waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _internal_error(request: RpcRequest, error: BaseException) -> bytes:
    """Log an exception that no handler has explained, and return what the client gets."""
    _trace.error("handler failed", error=error)
    return encode_error(request.id, ProtocolError(INTERNAL_ERROR, "Internal error"))
