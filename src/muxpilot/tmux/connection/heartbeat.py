"""The heartbeat of a connection into a container: tmux there lets our clients go when it no longer comes.

The end of a connection is seen by the end of its pipe. A container engine may keep that open when its
program is killed (podman 4.3.1), or tmux may keep a client whose last output was not read (3.3a): our
clients and the hub would stay for ever. So each heartbeat leaves a timer in tmux, which ends them if no other
heartbeat has followed. A muxpilot that was stopped for longer connects again, as after any other loss.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable

from muxpilot.errors import ConnectionLost
from muxpilot.timing import HeartbeatTiming
from muxpilot.tmux.connection.control import ControlClient
from muxpilot.tmux.connection.protocol import CommandReply
from muxpilot.tmux.hosts.far_script import end_without_heartbeat
from muxpilot.tmux.quote import escape_format

# A variable of the hub session: an option would redraw the terminals of all people who are attached.
_VARIABLE = "MUXPILOT_HEARTBEAT"
_CLIENT_NAME = re.compile(r"client-(\d+)", re.ASCII)


class Heartbeat:
    """The heartbeat of one control client and its hub, and of the clients that follow sessions beside it."""

    def __init__(self, control: ControlClient, hub_name: str, timing: HeartbeatTiming) -> None:
        self.hub_name = hub_name
        self._control = control
        self._timing = timing
        self._clients: set[int] = set()
        self._number = 0
        self._answer: asyncio.Future[CommandReply] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self, clients: Iterable[str], lost_hub: str | None) -> None:
        """Send heartbeats from now on. A hub that was lost before must not end the clients."""
        if lost_hub is not None:
            self._send(
                ("set-environment", "-t", f"={lost_hub}", _VARIABLE, "lost"),
                ("detach-client", "-s", f"={lost_hub}"),
            )
        self._clients.update(pid for name in clients if (pid := _pid_of(name)) is not None)
        self._beat()

    def add_client(self, name: str) -> None:
        """Let a client end with the hub."""
        pid = _pid_of(name)
        if pid is not None:
            self._clients.add(pid)
            self._beat()

    def end_client(self, name: str) -> None:
        """Let tmux end a client that we have left: its pipe may not tell tmux."""
        pid = _pid_of(name)
        if pid in self._clients:
            self._clients.remove(pid)
            self._send(("detach-client", "-t", name))

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _beat(self) -> None:
        self._number += 1
        target = f"={self.hub_name}"
        line = end_without_heartbeat(self.hub_name, self._number, sorted(self._clients))
        self._send(
            ("set-environment", "-t", target, _VARIABLE, str(self._number)),
            ("run-shell", "-b", "-d", f"{self._timing.limit_s:g}", "-t", f"{target}:", escape_format(line)),
        )
        self._schedule()

    def _beat_if_answered(self) -> None:
        """Send a heartbeat, unless tmux has not answered the last one: in a container that hangs."""
        if self._answer is None or self._answer.done():
            self._beat()
        else:
            self._schedule()

    def _schedule(self) -> None:
        self.stop()
        if not self._control.closed.is_set():
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._timing.interval_s, self._beat_if_answered)

    def _send(self, *commands: tuple[str, ...]) -> None:
        try:
            self._answer = self._control.request(*commands)
        except ConnectionLost:
            return
        self._answer.add_done_callback(_drop_answer)


class StreamClients:
    """Our clients that follow sessions of one server, and the heartbeat that they end with, if any."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._heartbeat: Heartbeat | None = None

    @property
    def hub_name(self) -> str | None:
        """Return the name of the newest hub that has a heartbeat."""
        return self._heartbeat.hub_name if self._heartbeat is not None else None

    def use(self, heartbeat: Heartbeat | None) -> None:
        """Start the heartbeat of a new connection, which takes over the clients."""
        lost_hub, self._heartbeat = self.hub_name, heartbeat
        if heartbeat is not None:
            heartbeat.start(self._names, lost_hub)

    def add(self, name: str) -> None:
        self._names.add(name)
        if self._heartbeat is not None:
            self._heartbeat.add_client(name)

    def end(self, name: str) -> None:
        """Let tmux end a client that was closed here."""
        self._names.discard(name)
        if self._heartbeat is not None:
            self._heartbeat.end_client(name)


def _pid_of(name: str) -> int | None:
    """Return the process id there of a control client, which tmux names by it."""
    found = _CLIENT_NAME.fullmatch(name)
    return int(found[1]) if found is not None else None


def _drop_answer(answer: asyncio.Future[CommandReply]) -> None:
    """Take the error of a connection that was lost, which its owner is told of."""
    if not answer.cancelled():
        answer.exception()
