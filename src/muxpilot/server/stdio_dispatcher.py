"""Run each request of a stdio client in its own task, until it is answered or cancelled.

This implements the SDK's `Dispatcher` for a pair of pipes and a server that sends its client no requests. The
SDK's own serves every transport and both sides of a connection, at three times the cost per request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NoReturn

import anyio
import mcp_types as types
from anyio.abc import TaskStatus

from muxpilot.server.sdk_internals import (
    CallOptions,
    Dispatcher,
    NoBackChannelError,
    OnNotify,
    OnNotifyIntercept,
    OnRequest,
    SessionMessage,
    TransportContext,
    cancelled_request_id_from_params,
    coerce_request_id,
    handler_exception_to_error_data,
    progress_token_from_params,
    run_notify_intercept,
)
from muxpilot.server.stdio import IncomingMessages, OutgoingMessages
from muxpilot.tasks import TaskSet
from muxpilot.trace import area

_trace = area("server").child(transport="stdio")

_TRANSPORT = TransportContext(kind="stdio", can_send_request=False)
_CLOSED = types.ErrorData(code=types.CONNECTION_CLOSED, message="Connection closed")
# A task that continues after it was cancelled is cancelled again this often.
_CANCEL_AGAIN_S = 0.1

Params = Mapping[str, Any] | None


class StdioCall:
    """The message that a handler serves, with its means to answer: the SDK's `DispatchContext`."""

    transport = _TRANSPORT
    message_metadata = None
    can_send_request = False

    def __init__(
        self, dispatcher: StdioDispatcher, request_id: types.RequestId | None = None, params: Params = None
    ) -> None:
        self.request_id = request_id
        self.is_cancelled = False
        self._dispatcher = dispatcher
        self._token = progress_token_from_params(params)
        self._is_finished = False

    @cached_property
    def cancel_requested(self) -> anyio.Event:
        return anyio.Event()

    async def notify(self, method: str, params: Params, opts: CallOptions | None = None) -> None:
        if not self._is_finished:
            await self._dispatcher.notify(method, params, opts)

    async def send_raw_request(
        self, method: str, params: Params, opts: CallOptions | None = None
    ) -> NoReturn:
        raise NoBackChannelError(method)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Send progress, if the client asked for it with a token."""
        if self._token is None:
            return
        fields = {"progressToken": self._token, "progress": progress, "total": total, "message": message}
        given = {key: value for key, value in fields.items() if value is not None}
        await self.notify("notifications/progress", given)

    def cancel(self) -> None:
        """Note that the client does not want an answer any more."""
        self.is_cancelled = True
        self.cancel_requested.set()

    def finish(self) -> None:
        """Send no more notifications for this message."""
        self._is_finished = True


class StdioDispatcher(Dispatcher[TransportContext]):
    """Reads the client's messages and runs their handlers."""

    def __init__(self, incoming: IncomingMessages, outgoing: OutgoingMessages) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._tasks = TaskSet(_trace)
        self._running: dict[types.RequestId, tuple[StdioCall, asyncio.Task[None]]] = {}

    async def send_raw_request(
        self, method: str, params: Params, opts: CallOptions | None = None
    ) -> NoReturn:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Params, opts: CallOptions | None = None) -> None:
        given = {} if params is None else {"params": dict(params)}
        await self._send(types.JSONRPCNotification(jsonrpc="2.0", method=method, **given))

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve messages until the client leaves, then cancel what still runs."""
        task_status.started()
        try:
            async for item in self._incoming:
                message = item.message
                if isinstance(message, types.JSONRPCRequest):
                    task = self._start_request(message, on_request)
                    if message.method == "initialize":  # later messages need what the handshake agreed on
                        await asyncio.wait([task])
                elif isinstance(message, types.JSONRPCNotification):
                    self._handle_cancel(message)
                    if not run_notify_intercept(on_notify_intercept, message.method, message.params):
                        self._tasks.start(self._handle_notification(message, on_notify), name="notification")
        finally:
            await self._cancel_all()

    def _start_request(self, request: types.JSONRPCRequest, on_request: OnRequest) -> asyncio.Task[None]:
        call = StdioCall(self, request.id, request.params)
        task = self._tasks.start(self._handle_request(call, request, on_request), name="request")
        self._running[coerce_request_id(request.id)] = call, task
        return task

    def _handle_cancel(self, message: types.JSONRPCNotification) -> None:
        if message.method != "notifications/cancelled":
            return
        identity = cancelled_request_id_from_params(message.params)
        found = self._running.pop(coerce_request_id(identity), None) if identity is not None else None
        _trace.debug("request cancelled", id=identity, is_running=found is not None)
        if found is not None:
            call, task = found
            call.cancel()
            task.cancel()

    async def _handle_notification(self, message: types.JSONRPCNotification, on_notify: OnNotify) -> None:
        await on_notify(StdioCall(self), message.method, message.params)

    async def _handle_request(
        self, call: StdioCall, request: types.JSONRPCRequest, on_request: OnRequest
    ) -> None:
        """Run a request's handler and send its answer, unless the client has cancelled the request."""
        answer: types.JSONRPCMessage = _error_answer(request, _CLOSED)
        try:
            with _trace.step("request", id=request.id, method=request.method):
                result = await on_request(call, request.method, request.params)
            answer = types.JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)
        except asyncio.CancelledError as error:
            if _is_cancelled_from_outside():
                if not call.is_cancelled:
                    self._outgoing.write(answer)
                raise
            answer = _error_answer(request, _internal_error(error))
        except Exception as error:  # noqa: BLE001 - one request must not end the others
            answer = _error_answer(request, handler_exception_to_error_data(error) or _internal_error(error))
        finally:
            call.finish()
            self._forget(call, request)
        if not call.is_cancelled:
            await self._send(answer)

    def _forget(self, call: StdioCall, request: types.JSONRPCRequest) -> None:
        """Forget a request, unless a newer one has the same id."""
        key = coerce_request_id(request.id)
        if self._running.get(key, (None, None))[0] is call:
            del self._running[key]

    async def _send(self, message: types.JSONRPCMessage) -> None:
        await self._outgoing.send(SessionMessage(message))

    async def _cancel_all(self) -> None:
        while self._tasks:
            self._tasks.cancel()
            await self._tasks.wait(_CANCEL_AGAIN_S)


def _is_cancelled_from_outside() -> bool:
    """Tell whether this task itself is cancelled, and not something that its handler waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _error_answer(request: types.JSONRPCRequest, error: types.ErrorData) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request.id, error=error)


def _internal_error(error: BaseException) -> types.ErrorData:
    """Log an exception that our handlers did not map to an error, and return what the client gets."""
    _trace.error("handler failed", error=error)
    return types.ErrorData(code=types.INTERNAL_ERROR, message="Internal error")
