"""Keeps a control client attached to a tmux server for as long as the server has a session besides our hub.

The client is attached when it is first needed, and again after a loss. When sessions change or the client
closes, a review decides whether to keep it.
"""

from __future__ import annotations

import asyncio

from muxpilot.errors import ConnectionLost, NoServer, Refused
from muxpilot.timing import ConnectionTiming
from muxpilot.tmux import version
from muxpilot.tmux.connection import oneshot
from muxpilot.tmux.connection.attached_client import AttachedClient
from muxpilot.tmux.connection.control import Listener
from muxpilot.tmux.connection.heartbeat import StreamClients
from muxpilot.tmux.connection.hub_session import HubSession, RemoteHubSession, has_no_other_session
from muxpilot.tmux.connection.protocol import Notification, PaneOutput
from muxpilot.tmux.hosts.endpoint import Endpoint
from muxpilot.tmux.hosts.temporary_folder import TemporaryFolder
from muxpilot.trace import describe_error


class ClientKeeper:
    """The control client of one connection, if one is attached."""

    def __init__(self, endpoint: Endpoint, listener: Listener, *, timing: ConnectionTiming) -> None:
        """Call `listener` with every notification of tmux, and with `closed` when the connection is lost."""
        self.client: AttachedClient | None = None
        self.stream_clients = StreamClients()
        self._endpoint = endpoint
        self._trace = endpoint.trace
        self._listener = listener
        self._timing = timing
        self._temporary_folder: TemporaryFolder | None = None
        self._connect_task: asyncio.Task[AttachedClient | None] | None = None
        self._review_task: asyncio.Task[None] | None = None
        self._needs_review = False
        self._is_closed = False
        self._is_program_supported = False

    @property
    def temporary_folder(self) -> TemporaryFolder:
        if self._temporary_folder is None:
            self._temporary_folder = TemporaryFolder()
        return self._temporary_folder

    @property
    def settled_client(self) -> AttachedClient | None:
        """Return the client if it can be used at once: it is attached, and not about to end."""
        return None if self._review_task is not None or self._is_closed else self.client

    async def connect(self) -> AttachedClient | None:
        """Return the client, attaching one first if needed; None where only hubs would be left."""
        if self._review_task is not None:
            await asyncio.wait([self._review_task])
        if self._is_closed:  # perhaps meanwhile
            raise ConnectionLost("The connection to tmux was closed.", "Open another.")
        if self.client is not None:
            return self.client
        if self._connect_task is None:
            self._connect_task = asyncio.create_task(self._connect())
            self._connect_task.add_done_callback(self._on_connect_finished)
        connecting = self._connect_task
        await asyncio.wait([connecting])  # other callers wait for it too
        if connecting.cancelled():
            raise ConnectionLost("The connection to tmux was closed.")
        return connecting.result()

    async def close(self) -> None:
        """Detach for good. A call that still runs cannot attach again."""
        self._is_closed = True
        for task in (self._connect_task, self._review_task):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        if self.client is not None:
            await self._detach(self.client)
            self._trace.info("connection closed")
        if self._temporary_folder is not None:
            self._temporary_folder.close()
            self._temporary_folder = None

    async def require_supported_program(self) -> None:
        """Raise NoTmux if the program is too old: its own error messages would not say so."""
        if not self._is_program_supported:
            version.require_supported(await oneshot.read_program_version(self._endpoint))
            self._is_program_supported = True

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
        give_up = started_at + self._timing.retry_limit_s
        while True:
            try:
                async with self._endpoint.attach_lock():
                    return await self._connect_once(started_at)
            except ConnectionLost:
                if loop.time() > give_up:
                    # tmux closes each of our clients, so each request gets its own process.
                    self._trace.warning("tmux closes every connection: using one process per request")
                    return None
            self._trace.debug("connection lost while connecting: trying again")
            await asyncio.sleep(self._timing.retry_pause_s)

    async def _connect_once(self, started_at: float) -> AttachedClient | None:
        self._endpoint.find_program()  # first, because without the program "no server" would be a guess
        self._endpoint.check_socket()
        is_remote, last_hub = self._endpoint.is_remote, self.stream_clients.hub_name
        hub = RemoteHubSession(last_hub) if is_remote else HubSession(self.temporary_folder)
        try:
            client = await AttachedClient.attach(self._endpoint, hub, self._on_event, started_at)
        except (NoServer, Refused):
            await self.require_supported_program()
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
        self.client = client
        self.stream_clients.use(client.heartbeat)
        elapsed_ms = f"{(asyncio.get_running_loop().time() - started_at) * 1000:.1f}"
        self._trace.info("connected", pid=client.server_pid, version=client.version_text, ms=elapsed_ms)
        if self._needs_review:  # sessions changed since we asked for other sessions
            self._schedule_review(client)
        return client

    def _on_event(self, event: Notification | PaneOutput) -> None:
        if isinstance(event, Notification) and event.name in ("sessions-changed", "closed"):
            self._needs_review = True
            if self.client is not None:
                self._schedule_review(self.client)
            elif event.name == "closed":
                return  # the client is not in use yet, or we detached it ourselves
        self._listener(event)

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
        if self.client is client:
            self.client = None
        try:
            async with self._endpoint.attach_lock(self._timing.detach_lock_s):
                await client.detach()
        finally:  # also when this task is cancelled, because no other code knows of the client any more
            await client.close()
