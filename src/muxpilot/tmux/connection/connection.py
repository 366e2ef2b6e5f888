"""The connection to one tmux server: requests, reconnecting, and the fallback to one process per request.

While the server has a session besides our hub, requests go through an attached control client. Otherwise each
has a tmux process of its own.

A request that may have had an effect is never sent twice. Only a request that is marked `repeatable`, because
it reads and changes nothing, is sent again when the connection breaks before its reply.
"""

from __future__ import annotations

import asyncio
import secrets
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from muxpilot.errors import ConnectionLost, NoServer, Refused
from muxpilot.tmux import formats, version
from muxpilot.tmux.connection import oneshot
from muxpilot.tmux.connection.attached_client import AttachedClient
from muxpilot.tmux.connection.control import Listener
from muxpilot.tmux.connection.deadlines import Deadline
from muxpilot.tmux.connection.failures import is_server_gone, raise_on_error
from muxpilot.tmux.connection.heartbeat import StreamClients
from muxpilot.tmux.connection.hub_session import HubSession, RemoteHubSession, has_no_other_session
from muxpilot.tmux.connection.protocol import CommandReply, Notification, PaneOutput
from muxpilot.tmux.connection.server_options import HARDENING, KEEP_UNATTACHED
from muxpilot.tmux.hosts.endpoint import Command, Endpoint
from muxpilot.tmux.hosts.temporary_folder import TemporaryFolder
from muxpilot.tmux.quote import escape_format
from muxpilot.trace import describe_error

Result = TypeVar("Result")

# Removes from a listing the records that the policy hides from callers.
RowFilter = Callable[[list[Any]], Awaitable[list[Any]]]

# True in tasks that resolve a target. A context variable, because one connection serves many tasks at once.
_is_unfiltered: ContextVar[bool] = ContextVar("is_unfiltered", default=False)


@contextmanager
def without_policy_filter() -> Iterator[None]:
    """Let listings of this task show all records, also those that the policy hides.

    Use it to resolve a name, so that the policy can then deny the target by the rule that applies to it.
    """
    token = _is_unfiltered.set(True)
    try:
        yield
    finally:
        _is_unfiltered.reset(token)


_DETACH_LOCK_TIMEOUT_S = 1.5  # several other muxpilots may be attaching
_BUFFER_LOCK_TIMEOUT_S = 10.0
_SESSION_LOCK_TIMEOUT_S = 2.0
_RETRY_LIMIT_S = 2.0
_RETRY_PAUSE_S = 0.02


class Connection:
    """The connection to one tmux server. It connects on the first request, and again after a loss."""

    def __init__(self, endpoint: Endpoint, *, timeout_s: float, row_filter: RowFilter | None = None) -> None:
        self.endpoint = endpoint
        self.timeout_s = timeout_s
        self._row_filter = row_filter
        self._trace = endpoint.trace
        self._temporary_folder: TemporaryFolder | None = None
        self._client: AttachedClient | None = None
        self._connect_task: asyncio.Task[AttachedClient | None] | None = None
        # A review decides, after sessions changed or the client closed, whether to keep the client.
        self._review_task: asyncio.Task[None] | None = None
        self._needs_review = False
        self._is_closed = False
        self._is_program_supported = False
        self._listeners: list[Listener] = []
        self.stream_clients = StreamClients()

    @property
    def temporary_folder(self) -> TemporaryFolder:
        if self._temporary_folder is None:
            self._temporary_folder = TemporaryFolder()
        return self._temporary_folder

    @property
    def server_pid(self) -> int | None:
        """Return the process id of the server. After a restart the same ids mean other panes."""
        return self._client.server_pid if self._client is not None else None

    @property
    def hides_records(self) -> bool:
        """Return whether the policy hides some sessions, windows or panes from callers."""
        return self._row_filter is not None

    def is_part_of_hub(self, target: str) -> bool:
        """Return whether an id is that of our hub, its window or its pane, which no caller may use."""
        return self._client is not None and target in self._client.hub_ids

    def add_listener(self, listener: Listener) -> None:
        """Call `listener` with every notification of tmux, and with `closed` when the connection is lost."""
        self._listeners.append(listener)

    async def run(
        self,
        *commands: Command,
        timeout_s: float | None = None,
        repeatable: bool = False,
        record_mark: bytes = b"",
        silent_blocks: int = 0,
    ) -> CommandReply:
        """Run commands on a running server. The first that fails drops the rest, and its error is raised.

        `record_mark` and `silent_blocks` are those of `ControlClient.request`.
        """
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        client = self._client
        if client is None or self._review_task is not None or self._is_closed:
            return await self._run_after_connecting(commands, limit_s, repeatable=repeatable)
        try:
            request = client.control.request(
                *commands, timeout_s=limit_s, record_mark=record_mark, silent_blocks=silent_blocks
            )
            return raise_on_error(await request)
        except ConnectionLost:
            if not repeatable:
                raise
        self._trace.debug("request repeated on a new connection", verb=commands[0][0])
        return await self._run_after_connecting(commands, limit_s, repeatable=False)

    async def _run_after_connecting(
        self, commands: tuple[Command, ...], limit_s: float, *, repeatable: bool
    ) -> CommandReply:
        """Run commands where the connection must be opened first, or may be about to end."""
        async with self.deadline(limit_s):
            try:
                return raise_on_error(await self._send(commands))
            except ConnectionLost:
                if not repeatable:
                    raise
                self._trace.debug("request repeated on a new connection", verb=commands[0][0])
                return raise_on_error(await self._send(commands))

    async def list_records(
        self, table: formats.FieldTable, into: Callable[..., Result], *command: str
    ) -> list[Result]:
        """Run a listing command. Return its records, without those that the policy hides."""
        rows = await self.list_all_records(table, into, *command)
        return rows if self._row_filter is None or _is_unfiltered.get() else await self._row_filter(rows)

    async def list_all_records(
        self, table: formats.FieldTable, into: Callable[..., Result], *command: str
    ) -> list[Result]:
        """Run a listing command. Return all its records, whatever the policy hides."""
        is_escaped = self._client is None or self._client.version >= version.CONTROL_CHARACTERS_ARE_ESCAPED
        template = formats.template(table, counted=is_escaped)
        reply = await self.run(
            (*command, "-F", template), repeatable=True, record_mark=formats.template_mark(template)
        )
        return formats.parse(table, reply.blocks[0].lines, into)

    async def run_or_start_server(self, *commands: Command, timeout_s: float | None = None) -> CommandReply:
        """Run commands, and start a server for them if none is running."""
        async with self.deadline(timeout_s):
            try:
                return raise_on_error(await self._send(commands))
            except NoServer:
                return raise_on_error(await self._start_server(commands))

    async def run_shell_line(self, script: str, *, repeatable: bool = True) -> list[str]:
        """Run a script of sh on the server's host, and return what it prints. It must end by itself."""
        # tmux shows the output of run-shell to people, in a mode of the pane. So it comes back by an option.
        option = f"@muxpilot_{secrets.token_hex(8)}"
        tmux = shlex.quote(self.endpoint.binary)
        line = f'muxpilot=$({script}); {tmux} set-option -gq {option} "$muxpilot"; exit 0'
        reply = await self.run(
            ("run-shell", escape_format(line)),
            ("show-options", "-gqv", option),
            ("set-option", "-gqu", option),
            repeatable=repeatable,
        )
        return [line.decode("utf-8", "replace") for line in reply.blocks[1].lines]

    @asynccontextmanager
    async def lock_for_buffer_change(self) -> AsyncIterator[None]:
        """Keep other muxpilots from attaching while a paste buffer changes.

        From 3.4 on tmux notifies its clients of buffers, and 3.5a crashes if one of them is just attaching.
        """
        if await self.server_version() < version.BUFFER_CHANGES_ARE_NOTIFIED:
            yield
            return
        # Not for long: if the connection breaks meanwhile, the next one waits for this lock.
        async with self.deadline(min(self.timeout_s, _BUFFER_LOCK_TIMEOUT_S)), self.endpoint.attach_lock():
            yield

    @asynccontextmanager
    async def lock_for_session_change(self) -> AsyncIterator[None]:
        """Keep other muxpilots from attaching while sessions are created, killed or renamed.

        tmux notifies its clients of these changes, and 3.3a crashes if one of them is just attaching.
        """
        with suppress(NoServer):
            await self.server_version()  # connect first, because that takes the lock too
        if self._client is None:
            yield
            return
        async with self.endpoint.attach_lock(_SESSION_LOCK_TIMEOUT_S, is_shared=True):
            yield

    async def server_version(self) -> version.Version:
        """Return the version of the running server, or raise NoServer."""
        async with self.deadline():
            client = await self._get_client()
            if client is not None:
                return client.version
            reply = await oneshot.run(self.endpoint, (("display-message", "-p", "#{version}"),))
            return version.require_supported(reply.first_line)

    async def server_process(self) -> tuple[int, int]:
        """Return the process id of the server and the time of its start, or raise NoServer."""
        async with self.deadline():
            client = await self._get_client()
            if client is not None:
                return client.server_pid, client.server_started
            reply = raise_on_error(
                await oneshot.run(self.endpoint, (("display-message", "-p", "#{pid} #{start_time}"),))
            )
            pid, started = reply.first_line.split(" ")
            return int(pid), int(started)

    async def server_version_text(self) -> str:
        """Return the version as tmux writes it, such as `3.3a`."""
        await self.server_version()
        return self._client.version_text if self._client is not None else ""

    async def close(self) -> None:
        """Close the connection for good. A call that still runs cannot open it again."""
        self._is_closed = True
        for task in (self._connect_task, self._review_task):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        if self._client is not None:
            await self._detach(self._client)
            self._trace.info("connection closed")
        if self._temporary_folder is not None:
            self._temporary_folder.close()
            self._temporary_folder = None

    def deadline(self, timeout_s: float | None = None) -> Deadline:
        """Return a context manager that raises NotAnswering if its block is not done in time."""
        return Deadline(self.timeout_s if timeout_s is None else timeout_s, self._trace)

    async def _send(self, commands: tuple[Command, ...]) -> CommandReply:
        client = await self._get_client()
        if client is None:
            return await oneshot.run(self.endpoint, commands)
        return await client.control.request(*commands)

    async def _start_server(self, commands: tuple[Command, ...]) -> CommandReply:
        """Start a server that runs the commands. Try again where one that is just ending took them.

        Such a server ends our process with it, and has created nothing.
        """
        await self._require_supported_program()
        loop = asyncio.get_running_loop()
        give_up = loop.time() + _RETRY_LIMIT_S
        while True:
            async with self.endpoint.attach_lock():
                reply = await oneshot.run(
                    self.endpoint, (HARDENING, *commands, KEEP_UNATTACHED), may_start_server=True
                )
            if not is_server_gone(reply.error or "") or loop.time() > give_up:
                self._trace.info("tmux server started" if reply.error is None else "tmux server not started")
                return reply
            await asyncio.sleep(_RETRY_PAUSE_S)

    async def _require_supported_program(self) -> None:
        """Raise NoTmux if the program is too old: its own error messages would not say so."""
        if not self._is_program_supported:
            version.require_supported(await oneshot.read_program_version(self.endpoint))
            self._is_program_supported = True

    async def _get_client(self) -> AttachedClient | None:
        """Return the attached client, connecting first if needed; None where only hubs would be left."""
        if self._review_task is not None:
            await asyncio.wait([self._review_task])
        if self._is_closed:  # perhaps meanwhile
            raise ConnectionLost("The connection to tmux was closed.", "Open another.")
        if self._client is not None:
            return self._client
        if self._connect_task is None:
            self._connect_task = asyncio.create_task(self._connect())
            self._connect_task.add_done_callback(self._on_connect_finished)
        connecting = self._connect_task
        await asyncio.wait([connecting])  # other callers wait for it too
        if connecting.cancelled():
            raise ConnectionLost("The connection to tmux was closed.")
        return connecting.result()

    def _on_connect_finished(self, task: asyncio.Task[AttachedClient | None]) -> None:
        self._connect_task = None
        if task.cancelled():
            return
        error = task.exception()  # raised to each caller that waits; perhaps none does any more
        if error is not None:
            self._trace.debug("connect failed", error=describe_error(error))

    async def _connect(self) -> AttachedClient | None:
        """Attach a client, and try again while tmux, or our client, ends: tmux was asked nothing yet.

        This continues when the callers have given up: a second client beside one that tmux has not let in yet
        would crash tmux 3.3a as soon as it continues.
        """
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        give_up = started_at + _RETRY_LIMIT_S
        while True:
            try:
                async with self.endpoint.attach_lock():
                    return await self._connect_once(started_at)
            except ConnectionLost:
                if loop.time() > give_up:
                    # tmux closes each of our clients, so each request gets its own process.
                    self._trace.warning("tmux closes every connection: using one process per request")
                    return None
            self._trace.debug("connection lost while connecting: trying again")
            await asyncio.sleep(_RETRY_PAUSE_S)

    async def _connect_once(self, started_at: float) -> AttachedClient | None:
        self.endpoint.find_program()  # first, because without the program "no server" would be a guess
        self.endpoint.check_socket()
        is_remote, last_hub = self.endpoint.is_remote, self.stream_clients.hub_name
        hub = RemoteHubSession(last_hub) if is_remote else HubSession(self.temporary_folder)
        try:
            client = await AttachedClient.attach(self.endpoint, hub, self._on_event, started_at)
        except (NoServer, Refused):
            await self._require_supported_program()
            raise
        try:
            self._needs_review = False
            if await has_no_other_session(client.control):
                await client.detach()
                self._trace.debug("no session besides ours: using one process per request")
                return None
        except BaseException:
            await client.detach()
            raise
        self._client = client
        self.stream_clients.use(client.heartbeat)
        elapsed_ms = f"{(asyncio.get_running_loop().time() - started_at) * 1000:.1f}"
        self._trace.info("connected", pid=client.server_pid, version=client.version_text, ms=elapsed_ms)
        if self._needs_review:  # sessions changed since we asked for other sessions
            self._schedule_review(client)
        return client

    def _on_event(self, event: Notification | PaneOutput) -> None:
        if isinstance(event, Notification) and event.name in ("sessions-changed", "closed"):
            self._needs_review = True
            if self._client is not None:
                self._schedule_review(self._client)
            elif event.name == "closed":
                return  # the client is not in use yet, or we detached it ourselves
        for listener in self._listeners:
            listener(event)

    def _schedule_review(self, client: AttachedClient) -> None:
        if self._review_task is None:
            self._review_task = asyncio.create_task(self._review(client))

    async def _review(self, client: AttachedClient) -> None:
        """Detach the client if it has closed or only hubs are left. Otherwise restore the default session."""
        try:
            while self._needs_review:
                self._needs_review = False
                if await has_no_other_session(client.control):
                    is_lost = client.control.closed.is_set()
                    self._trace.info("connection lost" if is_lost else "last session ended: disconnecting")
                    await self._detach(client)
                    return
                await client.restore_default_session()
        except ConnectionLost:
            self._trace.info("connection lost")
            await self._detach(client)
        finally:
            self._review_task = None

    async def _detach(self, client: AttachedClient) -> None:
        if self._client is client:
            self._client = None
        try:
            async with self.endpoint.attach_lock(_DETACH_LOCK_TIMEOUT_S):
                await client.detach()
        finally:  # also when this task is cancelled, because no other code knows of the client any more
            await client.close()
