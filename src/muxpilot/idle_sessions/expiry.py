"""End sessions that have been unused for longer than their limit, on all servers that this muxpilot uses.

One task for each server. It asks tmux once for the limits, and then sleeps until the first of them can have
passed. Without a limit it sleeps until sessions change, so nothing is asked while nothing can expire.

Several muxpilots do this side by side. tmux decides: the command that kills a session does nothing if the
session was used meanwhile, and fails if another muxpilot has killed it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from muxpilot.errors import MuxpilotError, NoServer, NotFound
from muxpilot.idle_sessions.announcements import announce_limit, watch_announcements
from muxpilot.tasks import ChangeSignal, TaskSet
from muxpilot.timing import IdleTiming
from muxpilot.tmux import SessionId, Tmux
from muxpilot.tmux.connection.protocol import Notification, PaneOutput
from muxpilot.trace import area

if TYPE_CHECKING:
    from muxpilot.tmux.objects.idle_limit import LimitedSession

_trace = area("workspace")

MayEnd = Callable[[Tmux, SessionId], Awaitable[bool]]
# Gets a session that was ended, its name and why.
OnEnd = Callable[[Tmux, SessionId, str, str], None]


async def _may_end_none(tmux: Tmux, session: SessionId) -> bool:
    return False


class IdleSessions:
    """Ends idle sessions once it is started. `before_first_look` is called for each server."""

    def __init__(self, timing: IdleTiming | None = None) -> None:
        self.may_end: MayEnd = _may_end_none
        self.on_end: OnEnd = lambda tmux, session, name, reason: None
        self.before_first_look: Callable[[Tmux], Awaitable[None]] | None = None
        self._timing = timing or IdleTiming()
        self._is_started = False
        self._changes: dict[str, ChangeSignal] = {}  # by socket
        self._pids: dict[str, int | None] = {}
        self._stop_watching: Callable[[], None] = lambda: None
        self._known: set[tuple[str, SessionId]] = set()  # sessions with a limit, by socket
        self._tasks = TaskSet(_trace)

    def start(self, tmux: Tmux) -> None:
        """Begin, with a look at the default server: sessions may have expired while no muxpilot ran."""
        self._is_started = True
        if not tmux.is_remote:
            self._tasks.start(self._look_unless_connected(tmux), name="look for idle sessions")

    def note_use(self, tmux: Tmux) -> None:
        """Follow a server that a call uses. A process that was not started as a server follows none."""
        if not self._is_started:
            return
        if tmux.socket not in self._changes:
            self._changes[tmux.socket] = ChangeSignal()
            tmux.connection.add_listener(lambda event: self._on_event(tmux, event))
        self._note_server(tmux)

    def note_limit(self, tmux: Tmux) -> None:
        """Look at the sessions of a server now, and let other muxpilots look too: a limit was set."""
        announce_limit()
        self.note_use(tmux)
        if tmux.socket in self._changes:
            self._changes[tmux.socket].notify()

    def _note_server(self, tmux: Tmux) -> None:
        """Begin to follow the server that answers now, unless that is done already."""
        pid = tmux.connection.server_pid
        if pid is None or self._pids.get(tmux.socket) == pid:
            return
        is_first = tmux.socket not in self._pids
        self._pids[tmux.socket] = pid
        self._changes[tmux.socket].notify()
        if is_first:
            self._tasks.start(self._follow(tmux, self._changes[tmux.socket]), name="end idle sessions")

    async def close(self) -> None:
        self._stop_watching()
        await self._tasks.close()

    def _on_event(self, tmux: Tmux, event: Notification | PaneOutput) -> None:
        self._note_server(tmux)
        if isinstance(event, Notification) and event.name == "sessions-changed":
            self._changes[tmux.socket].notify()

    async def _look_unless_connected(self, tmux: Tmux) -> None:
        """Look once, and again when another muxpilot says that a session has got a limit."""
        await asyncio.sleep(self._timing.first_look_s)  # the first calls of a client come before
        announced = ChangeSignal()
        self._stop_watching = watch_announcements(announced.notify)
        while self._pids.get(tmux.socket) is None:
            since = announced.count
            with suppress(MuxpilotError):
                await self._look_once(tmux)
            await announced.wait(since=since)
            await asyncio.sleep(self._timing.settle_s)
        self._stop_watching()

    async def _look_once(self, tmux: Tmux) -> None:
        """Connect to the server only if it has a session with a limit. One process of tmux tells that."""
        from muxpilot.tmux.connection import oneshot
        from muxpilot.tmux.objects.idle_limit import IDLE_LIMIT_OPTION

        ask = ("list-sessions", "-F", f"#{{{IDLE_LIMIT_OPTION}}}")
        tmux.connection.endpoint.check_socket()
        lines = (await oneshot.run(tmux.connection.endpoint, (ask,))).blocks[0].lines
        if any(line.strip() for line in lines):
            await tmux.version()
            self.note_use(tmux)

    async def _follow(self, tmux: Tmux, change: ChangeSignal) -> None:
        if self.before_first_look is not None:
            with suppress(MuxpilotError):
                await self.before_first_look(tmux)
        while True:
            since = change.count
            pause_s: float | None = None
            try:
                pause_s = await self.end_idle(tmux)
            except MuxpilotError as error:
                # No server runs, or it does not answer. The next call that reaches one wakes us.
                self._pids[tmux.socket] = None
                _trace.debug("idle sessions not checked", server=tmux.socket, error=error.code)
            if await change.wait(pause_s, since=since):
                await asyncio.sleep(self._timing.settle_s)  # a new session gets its limit a moment later

    async def end_idle(self, tmux: Tmux) -> float | None:
        """End what has expired. Return when to look again, or None if nothing can expire."""
        from muxpilot.tmux.objects.idle_limit import list_limited_sessions, read_clock

        rows = await list_limited_sessions(tmux.connection)
        if not rows:
            return None
        self._announce_new(tmux, {row.id for row in rows})
        now = await read_clock(tmux.connection)
        pauses = []
        for row in rows:
            limit_s = row.limit_s or 0.0
            # Both times are whole seconds, so a use may have been up to a second later than it looks.
            left_s = row.last_use + limit_s + 1 - now
            if left_s <= 0:
                left_s = await self._end(tmux, row, limit_s)
            pauses.append(max(left_s, self._timing.shortest_pause_s))
        return min(pauses)

    def _announce_new(self, tmux: Tmux, sessions: set[SessionId]) -> None:
        """Tell others of limits that were not there before: a workspace gets its own when it is created."""
        found = {(tmux.socket, session) for session in sessions}
        if found - self._known:
            announce_limit()
        self._known |= found

    async def _end(self, tmux: Tmux, row: LimitedSession, limit_s: float) -> float:
        """End a session unless it is still in use. Return when to look at it again."""
        reason = await self.find_use(tmux, row)
        trace = _trace.child(server=tmux.socket, session=row.id)
        if reason is None:
            with suppress(NotFound):  # another muxpilot was first
                await tmux.endings.kill_session(row.id, row.kill_command())
                await self._report(tmux, row, limit_s)
            return self._timing.shortest_pause_s
        trace.debug("idle session kept", reason=reason)
        # When a program ends, its shell prints a prompt, and the time counts from there.
        return min(max(limit_s, self._timing.shortest_pause_s), self._timing.longest_pause_s)

    async def _report(self, tmux: Tmux, row: LimitedSession, limit_s: float) -> None:
        """Report a session that is gone. It is still there if it was used in the last moment."""
        from muxpilot.tmux.objects.idle_limit import list_limited_sessions

        try:
            rows = await list_limited_sessions(tmux.connection)
        except NoServer:
            rows = []  # it was the last session
        if row.id not in [each.id for each in rows]:
            _trace.info("idle session ended", server=tmux.socket, session=row.id, limit_s=limit_s)
            self.on_end(tmux, row.id, row.name, f"unused for {limit_s:g} s")

    async def find_use(self, tmux: Tmux, row: LimitedSession) -> str | None:
        """Return why a session is kept, or None if nothing uses it."""
        from muxpilot.idle_sessions.running_programs import find_running_program
        from muxpilot.tmux.objects.idle_limit import list_attached_people
        from muxpilot.tmux.objects.owner_marks import list_panes_with_owners

        people = [each for each in await list_attached_people(tmux.connection) if each.session_id == row.id]
        if people:
            return "a person is attached"
        panes = [pane for pane in await list_panes_with_owners(tmux.connection) if pane.session_id == row.id]
        if any(pane.owner is None for pane in panes):
            return "it has panes that no muxpilot created"
        program = await find_running_program(tmux, [pane.id for pane in panes])
        if program is not None:
            return f"{program} runs in it"
        return None if await self.may_end(tmux, row.id) else "the policy does not allow to end it"
