"""Answer the first requests of a stdio client, before asyncio and the engine are loaded.

A client begins with the handshake and the list of tools. Both are known from the manifest of an earlier
start. Meanwhile another thread loads the rest. The first message that needs it ends this phase: that message
and all that came after it are handed over, together with the phase of the connection.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from types import FrameType
from typing import NamedTuple

from muxpilot.protocol.messages import (
    MalformedMessage,
    RpcNotification,
    RpcRequest,
    encode_error,
    encode_result,
    parse_message,
)
from muxpilot.protocol.phases import ConnectionState
from muxpilot.protocol.results import ResultFinisher
from muxpilot.protocol.rpc_errors import ProtocolError
from muxpilot.server.introduction import METHODS, SERVER_INFO, Introduction
from muxpilot.trace import area

# So many answers fit into a pipe that the client does not read.
_MOST_ANSWERS = 4
_MOST_ANSWER_BYTES = 1 << 16
_READ = 1 << 16

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_trace = area("server").child(transport="stdio")


class Handover(NamedTuple):
    """Where the first answers ended: the phase of the connection, and what was read and not handled."""

    state: ConnectionState
    unread: bytes


class _Ended(BaseException):
    """The client has left, or a signal has arrived. No handler of exceptions may catch it on the way."""


def answer_first(introduction: Introduction, load_rest: Callable[[], None]) -> Handover | None:
    """Answer what the introduction can, while `load_rest` runs. Return None if the client has left."""
    loading = Thread(target=load_rest)
    try:
        with _signals_end_it():
            found = _FirstAnswers(introduction, loading.start).run()
            _finish(loading)
            return found
    except _Ended:
        return None  # Python waits for the thread before it ends


def _finish(loading: Thread) -> None:
    if loading.ident is None:
        loading.start()
    loading.join()


class _FirstAnswers:
    def __init__(self, introduction: Introduction, on_first_answer: Callable[[], None]) -> None:
        self._introduction = introduction
        self._on_first_answer = on_first_answer
        self._results = ResultFinisher(SERVER_INFO)
        self._state = ConnectionState()
        self._sent_bytes = 0
        self._answers = 0

    def run(self) -> Handover:
        """Answer line after line, until one needs the rest of muxpilot."""
        unread = b""
        while True:
            line, feed, rest = unread.partition(b"\n")
            if not feed and len(unread) < _READ and self._has_room():
                unread += self._read()
            elif feed and self._has_room() and self._handle(line):
                unread = rest
            else:
                _trace.debug("first answers end", answers=self._answers, unread=len(unread))
                return Handover(self._state, unread)

    def _has_room(self) -> bool:
        return self._answers < _MOST_ANSWERS and self._sent_bytes < _MOST_ANSWER_BYTES

    def _read(self) -> bytes:
        data = os.read(0, _READ)
        if not data:
            raise _Ended
        return data

    def _handle(self, line: bytes) -> bool:
        """Handle a message, and return whether that is possible here."""
        try:
            message = parse_message(line)
        except MalformedMessage:
            return False
        if isinstance(message, RpcRequest) and message.method in METHODS:
            self._send(self._answer(message))
            return True
        return isinstance(message, RpcNotification) and message.method == "notifications/initialized"

    def _answer(self, request: RpcRequest) -> bytes:
        try:
            facts = self._state.open_request(request)
        except ProtocolError as error:
            return encode_error(request.id, error)
        result = self._introduction.answer(request.method, facts.revision)
        return encode_result(request.id, self._results.finish(request.method, result, facts.revision))

    def _send(self, message: bytes) -> None:
        data = message + b"\n"
        self._sent_bytes += len(data)
        self._answers += 1
        try:
            while data:
                data = data[os.write(1, data) :]
        except BrokenPipeError:
            raise _Ended from None
        if self._answers == 1:
            self._on_first_answer()


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """Let signals end this phase as they end the server: with exit code 0."""

    def end(number: int, frame: FrameType | None) -> None:
        raise _Ended

    before = [(number, signal.signal(number, end)) for number in _SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
