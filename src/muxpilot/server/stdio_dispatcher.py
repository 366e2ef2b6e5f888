"""The requests of one client, each a task of its own, which its answer ends or the client's change of mind.

This is the SDK's `Dispatcher` for a pair of pipes and a server that asks its client nothing. The SDK's own
serves every transport and both sides of a connection, at three times the cost for each request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from functools import cached_property
from typing import Any, NoReturn

import anyio
import mcp_types as types
from anyio.abc import TaskStatus
from mcp.shared.dispatcher import (
    CallOptions,
    Dispatcher,
    OnNotify,
    OnNotifyIntercept,
    OnRequest,
    coerce_request_id,
    run_notify_intercept,
)
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import (
    cancelled_request_id_from_params,
    handler_exception_to_error_data,
    progress_token_from_params,
)
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext

from muxpilot.server.stdio import Incoming, Outgoing

log = logging.getLogger("muxpilot")

_PIPES = TransportContext(kind="stdio", can_send_request=False)
_CLOSED = types.ErrorData(code=types.CONNECTION_CLOSED, message="Connection closed")
# How often a task that goes on regardless is told once more that its client has left.
_CANCEL_AGAIN_S = 0.1

Params = Mapping[str, Any] | None


class Call:
    """What a handler has of the message that it serves: the SDK's `DispatchContext`."""

    transport = _PIPES
    message_metadata = None
    can_send_request = False

    def __init__(
        self, calls: Calls, request_id: types.RequestId | None = None, params: Params = None
    ) -> None:
        self.request_id = request_id
        self.is_given_up = False
        self._calls = calls
        self._token = progress_token_from_params(params)
        self._is_over = False

    @cached_property
    def cancel_requested(self) -> anyio.Event:
        return anyio.Event()

    async def notify(self, method: str, params: Params, opts: CallOptions | None = None) -> None:
        if not self._is_over:
            await self._calls.notify(method, params, opts)

    async def send_raw_request(
        self, method: str, params: Params, opts: CallOptions | None = None
    ) -> NoReturn:
        raise NoBackChannelError(method)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self._token is None:
            return
        told = {"progressToken": self._token, "progress": progress, "total": total, "message": message}
        given = {key: value for key, value in told.items() if value is not None}
        await self.notify("notifications/progress", given)

    def give_up(self) -> None:
        """The client wants no answer any more."""
        self.is_given_up = True
        self.cancel_requested.set()

    def end(self) -> None:
        """Nothing more is told of it."""
        self._is_over = True


class Calls(Dispatcher[TransportContext]):
    def __init__(self, incoming: Incoming, outgoing: Outgoing) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._tasks: set[asyncio.Task[None]] = set()
        self._served: dict[types.RequestId, tuple[Call, asyncio.Task[None]]] = {}

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
        task_status.started()
        try:
            async for item in self._incoming:
                message = item.message
                if isinstance(message, types.JSONRPCRequest):
                    task = self._serve(message, on_request)
                    if message.method == "initialize":  # what comes after it finds a client that is known
                        await asyncio.wait([task])
                elif isinstance(message, types.JSONRPCNotification):
                    self._heed(message)
                    if not run_notify_intercept(on_notify_intercept, message.method, message.params):
                        self._start(self._told(message, on_notify))
        finally:
            await self._end()

    def _serve(self, request: types.JSONRPCRequest, on_request: OnRequest) -> asyncio.Task[None]:
        call = Call(self, request.id, request.params)
        task = self._start(self._answered(call, request, on_request))
        self._served[coerce_request_id(request.id)] = call, task
        return task

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a message was not served", exc_info=error)

    def _heed(self, message: types.JSONRPCNotification) -> None:
        if message.method != "notifications/cancelled":
            return
        identity = cancelled_request_id_from_params(message.params)
        found = self._served.pop(coerce_request_id(identity), None) if identity is not None else None
        if found is not None:
            call, task = found
            call.give_up()
            task.cancel()

    async def _told(self, message: types.JSONRPCNotification, on_notify: OnNotify) -> None:
        await on_notify(Call(self), message.method, message.params)

    async def _answered(self, call: Call, request: types.JSONRPCRequest, on_request: OnRequest) -> None:
        """A request that the client gave up is not answered, whatever became of it."""
        answer: types.JSONRPCMessage = _failed(request, _CLOSED)
        try:
            result = await on_request(call, request.method, request.params)
            answer = types.JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)
        except asyncio.CancelledError as error:
            if _is_being_ended():
                if not call.is_given_up:
                    self._outgoing.write(answer)
                raise
            answer = _failed(request, _fault(error))
        except Exception as error:  # noqa: BLE001 - one request must not end the others
            answer = _failed(request, handler_exception_to_error_data(error) or _fault(error))
        finally:
            call.end()
            self._forget(call, request)
        if not call.is_given_up:
            await self._send(answer)

    def _forget(self, call: Call, request: types.JSONRPCRequest) -> None:
        """Unless another request has come by the same id."""
        key = coerce_request_id(request.id)
        if self._served.get(key, (None, None))[0] is call:
            del self._served[key]

    async def _send(self, message: types.JSONRPCMessage) -> None:
        await self._outgoing.send(SessionMessage(message))

    async def _end(self) -> None:
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks, timeout=_CANCEL_AGAIN_S)


def _is_being_ended() -> bool:
    """Or else it is the end of something that a handler waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failed(request: types.JSONRPCRequest, error: types.ErrorData) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request.id, error=error)


def _fault(error: BaseException) -> types.ErrorData:
    """What the border of our handlers let through; its words are for the log."""
    log.error("a handler failed", exc_info=error)
    return types.ErrorData(code=types.INTERNAL_ERROR, message="Internal error")
