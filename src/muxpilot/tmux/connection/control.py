"""One `tmux -C` process on one socketpair: requests go out in order, replies come back in order.

tmux's client hands its end of the pair to the server, which then reads and writes it directly. A reply
belongs to the oldest request that has none yet; a caller that stops waiting leaves its place in the
queue behind, so that nobody ever gets another's answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections import deque
from collections.abc import Callable, Sequence

from muxpilot.errors import ConnectionLost
from muxpilot.tmux import quote
from muxpilot.tmux.connection import reply_safety
from muxpilot.tmux.connection.deadlines import Deadlines
from muxpilot.tmux.connection.protocol import Foreign, Notice, Output, Parser, Reply
from muxpilot.tmux.hosts.child_process import end, leash
from muxpilot.tmux.hosts.endpoint import Command, Endpoint

_SOCKET_BUFFER = 1 << 20
_READ = 1 << 18
_GOODBYE_S = 0.5
_LAST_WORDS_S = 2.0
_LONGEST_BANNER = 1 << 20

Listener = Callable[[Notice | Output], None]


def control_line(commands: Sequence[Command]) -> bytes:
    return b" ; ".join(b" ".join(_word(word) for word in command) for command in commands)


class Braces(bytes):
    """Commands in braces, an argument of if-shell: already a piece of a control line."""

    __slots__ = ()

    @classmethod
    def around(cls, *commands: Command) -> Braces:
        return cls(b"{ " + control_line(commands) + b" }")


def _word(word: quote.Text) -> bytes:
    return word if isinstance(word, Braces) else quote.control(word)


class ControlClient:
    """Use `start`; `closed` is set once tmux or its client has gone."""

    def __init__(
        self,
        near: socket.socket,
        process: asyncio.subprocess.Process,
        listener: Listener,
        greeting: bytes = b"",
    ) -> None:
        self._socket = near
        self._process = process
        self._listener = listener
        self._parser = Parser()
        self._greeting = greeting
        self._banner = bytearray()
        self._waiting: deque[asyncio.Future[Reply]] = deque()
        self._deadlines = Deadlines()
        self.is_trusting = False
        self._unsent = bytearray()
        self._is_flush_due = False
        self._is_blocked = False
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(near, self._readable)
        self._begun = asyncio.Event()
        self.closed = asyncio.Event()
        self.refusal: str | None = None
        self._goodbye_until: float | None = None

    @classmethod
    async def start(
        cls,
        endpoint: Endpoint,
        commands: Sequence[Command],
        listener: Listener,
        begun: float | None = None,
    ) -> ControlClient:
        """Run commands that attach to a session of a server that is there, and wait for the first.

        The endpoint's patience is counted from `begun`: who had to wait for a turn has less left.
        A line that is sent before may overtake them, and be run while the client has no session yet.
        """
        near, far = socket.socketpair()
        with far:
            near.setblocking(False)  # noqa: FBT003
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                near.setsockopt(socket.SOL_SOCKET, option, _SOCKET_BUFFER)
            try:
                near.sendall(endpoint.preamble("-N", "-C", commands=commands))
                process = await endpoint.start(
                    "-N", "-C", commands=commands, stdin=far.fileno(), stdout=far.fileno(), leash=leash()
                )
            except BaseException:
                near.close()
                raise
        client = cls(near, process, listener, endpoint.greeting)
        try:
            async with asyncio.timeout_at(_end_of(endpoint.patience_s, begun)):
                await client._begun.wait()
        except TimeoutError:
            await client.close()
            raise endpoint.late(await client.last_words()) from None
        except BaseException:
            await client.close()
            raise
        return client

    def request(
        self, *commands: Command, timeout_s: float | None = None, mark: bytes = b""
    ) -> asyncio.Future[Reply]:
        """Send it and answer with its reply to come; one whose records have a `mark` needs no guard."""
        if self.closed.is_set():
            raise ConnectionLost("The connection to tmux is closed.")
        line = control_line(commands)  # before anything is expected: it may be refused
        if self.is_trusting and (mark or reply_safety.prints_only_ours(commands)):
            self._parser.expect_trusted(len(commands), mark=mark)
            line += b"\n"
        else:
            guard = secrets.token_hex(8).encode()
            self._parser.expect(guard)
            line += b"\ndisplay-message -p " + guard + b"\n"
        future: asyncio.Future[Reply] = self._loop.create_future()
        is_first = not self._waiting
        self._waiting.append(future)
        if timeout_s is not None:
            self._deadlines.add(future, timeout_s)
        self._write(line, at_once=is_first)
        return future

    async def last_words(self) -> str:
        """Why tmux would not let us in: what it answered, or what its client said on the way out."""
        if self.refusal is not None:
            return self.refusal
        stderr = self._process.stderr
        said = b""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                while stderr is not None and (more := await stderr.read(_READ)):
                    said += more
        return said.decode("utf-8", "replace").strip()

    def hang_up(self) -> None:
        """Say that nothing more will be asked; tmux lets us go, and `closed` tells."""
        self._bid_goodbye()
        if not self.closed.is_set():
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)

    async def close(self) -> None:
        """Leave, and see the client process off, even if tmux does not answer any more."""
        self._shut("The connection to tmux was closed.")
        try:
            async with asyncio.timeout_at(self._bid_goodbye()):
                await self._process.wait()
        except TimeoutError:
            pass
        finally:
            await end(self._process)

    def _bid_goodbye(self) -> float:
        """Until when it is waited for; who has hung up before has waited already."""
        if self._goodbye_until is None:
            self._goodbye_until = self._loop.time() + _GOODBYE_S
        return self._goodbye_until

    def _write(self, data: bytes, *, at_once: bool) -> None:
        """While others wait for tmux anyway, what they all ask in this turn of the loop goes out as one."""
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
            self._shut("tmux has ended the connection.")
            return len(data)

    def _readable(self) -> None:
        try:
            data = self._socket.recv(_READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._shut("tmux has ended the connection.")
            return
        for event in self._parser.feed(self._without_banner(data) if self._greeting else data):
            self._handle(event)

    def _without_banner(self, data: bytes) -> bytes:
        """What somebody says before the greeting is not tmux's, even if it looks like it."""
        self._banner += data
        _, found, rest = self._banner.partition(self._greeting)
        if found:
            self._greeting = b""
            self._banner.clear()
            return bytes(rest)
        if len(self._banner) > _LONGEST_BANNER:
            self.refusal = "its login shell printed more than 1 MiB, and did not come to run tmux"
            self._shut("Nobody greeted us.")
        return b""

    def _handle(self, event: Reply | Foreign | Notice | Output) -> None:
        match event:
            case Reply():
                future = self._waiting.popleft()
                if not future.done():
                    future.set_result(event)
                if not self._waiting:
                    self._deadlines.clear()
            case Foreign(block=block):
                self._begun.set()
                if not block.ok:
                    self.refusal = b" ".join(block.lines).decode("utf-8", "replace")
            case Notice() | Output():
                self._listener(event)

    def _shut(self, why: str) -> None:
        if self.closed.is_set():
            return
        self.closed.set()
        self._begun.set()
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        for future in self._waiting:
            if not future.done():
                future.set_exception(ConnectionLost(why))
        self._waiting.clear()
        self._deadlines.close()
        self._listener(Notice("closed", why))


def _end_of(patience_s: float | None, begun: float | None) -> float | None:
    if patience_s is None:
        return None
    return patience_s + (asyncio.get_running_loop().time() if begun is None else begun)
