"""One `tmux -C` process on one socketpair: requests go out in order, and replies come back in order.

tmux's client passes its end of the pair to the server, which then reads and writes it directly. A reply
belongs to the oldest request that has none yet. A caller that stops waiting leaves its place in the queue,
so that no other caller gets its reply.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections import deque
from collections.abc import Callable, Sequence

from muxpilot.errors import ConnectionLost
from muxpilot.tmux.connection import reply_safety
from muxpilot.tmux.connection.control_line import format_control_line
from muxpilot.tmux.connection.deadlines import ReplyDeadlines
from muxpilot.tmux.connection.protocol import (
    CommandReply,
    ControlEvent,
    ControlParser,
    Notification,
    PaneOutput,
    UnsolicitedBlock,
)
from muxpilot.tmux.connection.request_log import log_when_answered
from muxpilot.tmux.connection.unfinished_attach import UnfinishedAttach
from muxpilot.tmux.hosts.child_process import die_with_parent, kill_group
from muxpilot.tmux.hosts.endpoint import Command, Endpoint
from muxpilot.trace import Trace

_SOCKET_BUFFER = 1 << 20
_READ_SIZE = 1 << 17
_EXIT_TIMEOUT_S = 0.5
_STDERR_TIMEOUT_S = 2.0
_LONGEST_BANNER = 1 << 20

Listener = Callable[[Notification | PaneOutput], None]


class ControlClient:
    """A control client that is attached to a session. Create it with `start`.

    `closed` is set once tmux or the client process has ended.
    """

    def __init__(
        self,
        our_end: socket.socket,
        process: asyncio.subprocess.Process,
        listener: Listener,
        *,
        trace: Trace,
        banner_end: bytes = b"",
    ) -> None:
        self._socket = our_end
        self._process = process
        self._listener = listener
        self._trace = trace
        self._parser = ControlParser()
        self._banner_end = banner_end
        self._banner = bytearray()
        self._pending: deque[asyncio.Future[CommandReply]] = deque()
        self._deadlines = ReplyDeadlines(trace)
        # Set by the owner once it knows that no alias of the person replaces a command of reply_safety.py.
        self.may_skip_guard = False
        # Set by the owner once it has seen that tmux answers each command inside of a condition.
        self.counts_conditions = False
        self._unsent = bytearray()
        self._is_flush_due = False
        self._is_blocked = False
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(our_end, self._on_readable)
        self._attached = asyncio.Event()
        self.closed = asyncio.Event()
        self.attach_error: str | None = None
        self._exit_by: float | None = None

    @classmethod
    async def start(
        cls,
        endpoint: Endpoint,
        commands: Sequence[Command],
        listener: Listener,
        started_at: float | None = None,
    ) -> ControlClient:
        """Run commands that attach to a session of a running server, and wait until the first is answered.

        The endpoint's connect timeout counts from `started_at`, so that waiting for the attach lock counts.
        A request that is sent before the first answer may overtake the commands, and be run while the client
        has no session yet.
        """
        unfinished = UnfinishedAttach(endpoint)
        await unfinished.wait_until_tmux_answers()
        unfinished.begin()
        our_end, client_end = socket.socketpair()
        with client_end:
            our_end.setblocking(False)  # noqa: FBT003 - it has no name
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                our_end.setsockopt(socket.SOL_SOCKET, option, _SOCKET_BUFFER)
            try:
                our_end.sendall(endpoint.stdin_preamble("-N", "-C", commands=commands))
                process = await endpoint.start_process(
                    "-N",
                    "-C",
                    commands=commands,
                    stdin=client_end.fileno(),
                    stdout=client_end.fileno(),
                    death_signal=die_with_parent(),
                )
            except BaseException:
                our_end.close()
                raise
        trace = endpoint.trace.child(client=process.pid)
        client = cls(our_end, process, listener, trace=trace, banner_end=endpoint.banner_end)
        await client._wait_until_attached(endpoint, started_at)
        unfinished.end()  # not if we are cancelled, or killed: then tmux has not let the client in yet
        return client

    async def _wait_until_attached(self, endpoint: Endpoint, started_at: float | None) -> None:
        try:
            async with asyncio.timeout_at(_deadline_after(endpoint.connect_timeout_s, started_at)):
                await self._attached.wait()
        except TimeoutError:
            await self.close()
            raise endpoint.timeout_error(await self.read_error_text()) from None
        except BaseException:
            await self.close()
            raise
        is_attached = self.attach_error is None and not self.closed.is_set()
        self._trace.debug("control client attached" if is_attached else "control client not attached")

    def request(
        self,
        *commands: Command,
        timeout_s: float | None = None,
        record_mark: bytes = b"",
        silent_blocks: int = 0,
    ) -> asyncio.Future[CommandReply]:
        """Send commands as one request. Return the future of its reply.

        With `record_mark`, the first command prints records that begin and end with this secret, so that
        the reply needs no guard. Nor does a condition that prints nothing if it holds, and fails otherwise:
        `silent_blocks` is the number of commands that it runs, itself included.
        """
        if self.closed.is_set():
            raise ConnectionLost("The connection to tmux is closed.")
        line = format_control_line(commands)  # first, because it may raise before a reply is expected
        if self.may_skip_guard and silent_blocks and self.counts_conditions:
            self._parser.expect_trusted(silent_blocks)
            line += b"\n"
        elif self.may_skip_guard and (record_mark or reply_safety.prints_no_foreign_text(commands)):
            self._parser.expect_trusted(len(commands), mark=record_mark)
            line += b"\n"
        else:
            guard = secrets.token_hex(8).encode()
            self._parser.expect_guarded(guard)
            line += b"\ndisplay-message -p " + guard + b"\n"
        future: asyncio.Future[CommandReply] = self._loop.create_future()
        if self._trace.is_debug:
            future.add_done_callback(log_when_answered(self._trace, commands))
        is_first = not self._pending
        self._pending.append(future)
        if timeout_s is not None:
            self._deadlines.add(future, timeout_s)
        self._write(line, at_once=is_first)
        return future

    async def read_error_text(self) -> str:
        """Return why tmux did not let us attach: its answer, or what its client printed to stderr."""
        if self.attach_error is not None:
            return self.attach_error
        stderr = self._process.stderr
        text = b""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STDERR_TIMEOUT_S):
                while stderr is not None and (more := await stderr.read(_READ_SIZE)):
                    text += more
        return text.decode("utf-8", "replace").strip()

    def close_writing(self) -> None:
        """End our requests. tmux then lets the client go, and `closed` is set."""
        self._exit_deadline()
        if not self.closed.is_set():
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)

    async def close(self) -> None:
        """Close the connection. Wait for the client process, and kill it if it does not end in time."""
        self._disconnect("The connection to tmux was closed.")
        try:
            async with asyncio.timeout_at(self._exit_deadline()):
                await self._process.wait()
        except TimeoutError:
            pass
        finally:
            await kill_group(self._process)

    def _exit_deadline(self) -> float:
        """Return until when to wait for the client process. The time counts from the first call."""
        if self._exit_by is None:
            self._exit_by = self._loop.time() + _EXIT_TIMEOUT_S
        return self._exit_by

    def _write(self, data: bytes, *, at_once: bool) -> None:
        """Send data now, or together with all other requests of this iteration of the event loop.

        While earlier requests wait for tmux anyway, one write for several of them is faster.
        """
        self._unsent += data
        if at_once:
            self._flush()
        elif not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flush_due = False
        if self.closed.is_set():
            return
        sent = self._send(bytes(self._unsent[:_SOCKET_BUFFER]))
        del self._unsent[:sent]
        if self.closed.is_set():
            return
        if self._unsent and not self._is_blocked:
            self._loop.add_writer(self._socket, self._flush)
        elif self._is_blocked and not self._unsent:
            self._loop.remove_writer(self._socket)
        self._is_blocked = bool(self._unsent)

    def _send(self, data: bytes) -> int:
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            self._disconnect("tmux has ended the connection.")
            return len(data)

    def _on_readable(self) -> None:
        try:
            data = self._socket.recv(_READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._disconnect("tmux has ended the connection.")
            return
        for event in self._parser.feed(self._strip_banner(data) if self._banner_end else data):
            self._handle(event)

    def _strip_banner(self, data: bytes) -> bytes:
        """Drop what a login shell prints before the banner end: it may look like tmux's protocol."""
        self._banner += data
        _, found, rest = self._banner.partition(self._banner_end)
        if found:
            self._banner_end = b""
            self._banner.clear()
            return bytes(rest)
        if len(self._banner) > _LONGEST_BANNER:
            self.attach_error = "its login shell printed more than 1 MiB before it ran tmux"
            self._disconnect("The login shell did not run tmux.")
        return b""

    def _handle(self, event: ControlEvent) -> None:
        match event:
            case CommandReply():
                future = self._pending.popleft()
                if not future.done():
                    future.set_result(event)
                if not self._pending:
                    self._deadlines.clear()
            case UnsolicitedBlock(block=block):
                self._attached.set()
                if not block.ok:
                    self.attach_error = b" ".join(block.lines).decode("utf-8", "replace")
            case Notification() | PaneOutput():
                self._listener(event)

    def _disconnect(self, why: str) -> None:
        if self.closed.is_set():
            return
        self._trace.debug("control client closed", reason=why, unanswered=len(self._pending))
        self.closed.set()
        self._attached.set()
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        for future in self._pending:
            if not future.done():
                future.set_exception(ConnectionLost(why))
        self._pending.clear()
        self._deadlines.close()
        self._listener(Notification("closed", why))


def _deadline_after(timeout_s: float | None, started_at: float | None) -> float | None:
    if timeout_s is None:
        return None
    return timeout_s + (asyncio.get_running_loop().time() if started_at is None else started_at)
