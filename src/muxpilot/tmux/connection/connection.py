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

from muxpilot.errors import ConnectionLost, NoServer
from muxpilot.timing import ConnectionTiming
from muxpilot.tmux import formats, version
from muxpilot.tmux.connection import oneshot
from muxpilot.tmux.connection.client_keeper import ClientKeeper
from muxpilot.tmux.connection.control import Listener
from muxpilot.tmux.connection.deadlines import Deadline
from muxpilot.tmux.connection.failures import is_server_gone, raise_on_error
from muxpilot.tmux.connection.heartbeat import StreamClients
from muxpilot.tmux.connection.protocol import CommandReply, Notification, PaneOutput
from muxpilot.tmux.connection.server_options import HARDENING, KEEP_UNATTACHED
from muxpilot.tmux.hosts.endpoint import Command, Endpoint
from muxpilot.tmux.hosts.temporary_folder import TemporaryFolder
from muxpilot.tmux.quote import escape_format

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


class Connection:
    """The connection to one tmux server. It connects on the first request, and again after a loss."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        timeout_s: float,
        row_filter: RowFilter | None = None,
        timing: ConnectionTiming | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.timeout_s = timeout_s
        self._row_filter = row_filter
        self._trace = endpoint.trace
        self._listeners: list[Listener] = []
        self._timing = timing or ConnectionTiming()
        self._keeper = ClientKeeper(endpoint, self._notify_listeners, timing=self._timing)

    @property
    def temporary_folder(self) -> TemporaryFolder:
        return self._keeper.temporary_folder

    @property
    def stream_clients(self) -> StreamClients:
        return self._keeper.stream_clients

    @property
    def server_pid(self) -> int | None:
        """Return the process id of the server. After a restart the same ids mean other panes."""
        client = self._keeper.client
        return client.server_pid if client is not None else None

    @property
    def hides_records(self) -> bool:
        """Return whether the policy hides some sessions, windows or panes from callers."""
        return self._row_filter is not None

    def is_part_of_hub(self, target: str) -> bool:
        """Return whether an id is that of our hub, its window or its pane, which no caller may use."""
        client = self._keeper.client
        return client is not None and target in client.hub_ids

    def add_listener(self, listener: Listener) -> None:
        """Call `listener` with every notification of tmux, and with `closed` when the connection is lost."""
        self._listeners.append(listener)

    def _notify_listeners(self, event: Notification | PaneOutput) -> None:
        for listener in self._listeners:
            listener(event)

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
        client = self._keeper.settled_client
        if client is None:
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
        client = self._keeper.client
        is_escaped = client is None or client.version >= version.CONTROL_CHARACTERS_ARE_ESCAPED
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
        async with (
            self.deadline(min(self.timeout_s, self._timing.buffer_lock_s)),
            self.endpoint.attach_lock(),
        ):
            yield

    @asynccontextmanager
    async def lock_for_session_change(self) -> AsyncIterator[None]:
        """Keep other muxpilots from attaching while sessions are created, killed or renamed.

        tmux notifies its clients of these changes, and 3.3a crashes if one of them is just attaching.
        """
        with suppress(NoServer):
            await self.server_version()  # connect first, because that takes the lock too
        if self._keeper.client is None:
            yield
            return
        async with self.endpoint.attach_lock(self._timing.session_lock_s, is_shared=True):
            yield

    async def server_version(self) -> version.Version:
        """Return the version of the running server, or raise NoServer."""
        async with self.deadline():
            client = await self._keeper.connect()
            if client is not None:
                return client.version
            reply = await oneshot.run(self.endpoint, (("display-message", "-p", "#{version}"),))
            return version.require_supported(reply.first_line)

    async def server_process(self) -> tuple[int, int]:
        """Return the process id of the server and the time of its start, or raise NoServer."""
        async with self.deadline():
            client = await self._keeper.connect()
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
        client = self._keeper.client
        return client.version_text if client is not None else ""

    async def close(self) -> None:
        """Close the connection for good. A call that still runs cannot open it again."""
        await self._keeper.close()

    def deadline(self, timeout_s: float | None = None) -> Deadline:
        """Return a context manager that raises NotAnswering if its block is not done in time."""
        return Deadline(self.timeout_s if timeout_s is None else timeout_s, self._trace)

    async def _send(self, commands: tuple[Command, ...]) -> CommandReply:
        client = await self._keeper.connect()
        if client is None:
            return await oneshot.run(self.endpoint, commands)
        return await client.control.request(*commands)

    async def _start_server(self, commands: tuple[Command, ...]) -> CommandReply:
        """Start a server that runs the commands. Try again where one that is just ending took them.

        Such a server ends our process with it, and has created nothing.
        """
        await self._keeper.require_supported_program()
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self._timing.retry_limit_s
        while True:
            async with self.endpoint.attach_lock():
                reply = await oneshot.run(
                    self.endpoint, (HARDENING, *commands, KEEP_UNATTACHED), may_start_server=True
                )
            if not is_server_gone(reply.error or "") or loop.time() > give_up:
                self._trace.info("tmux server started" if reply.error is None else "tmux server not started")
                return reply
            await asyncio.sleep(self._timing.retry_pause_s)
