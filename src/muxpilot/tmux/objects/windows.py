"""Windows: list, create, split, move, rename and kill them, without a change of a person's focus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muxpilot.errors import BadInput, NotFound
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.models import WINDOW, Window
from muxpilot.tmux.objects import layouts
from muxpilot.tmux.objects.spawn import SHELL, ClaimPane, CreatedPane, PaneProgram, Spawner
from muxpilot.tmux.objects.validate import validate_name, validate_size
from muxpilot.tmux.quote import escape_format

_LARGEST_INDEX = 2**31 - 1


class Windows:
    """The windows of one server."""

    def __init__(self, connection: Connection, spawner: Spawner) -> None:
        self._connection = connection
        self._spawner = spawner
        self._trace = connection.endpoint.trace

    async def list(self, session: SessionId | None = None) -> Sequence[Window]:
        scope = ("-t", session) if session is not None else ("-a",)
        rows = await self._connection.list_records(WINDOW, Window, "list-windows", *scope)
        return [row for row in rows if not row.is_hub]

    async def get(self, window: WindowId) -> Window:
        """Return a window, or raise NotFound."""
        active = ("list-panes", "-t", window, "-f", "#{pane_active}")
        rows = await self._connection.list_records(WINDOW, Window, *active)
        # If several sessions show the window, tmux reports one of them. The policy may hide that one.
        rows = rows or [row for row in await self.list() if row.id == window]
        if not rows:
            raise NotFound("window", window)
        return rows[0]

    async def create(
        self,
        session: SessionId,
        *,
        name: str | None = None,
        program: PaneProgram = SHELL,
        claim: ClaimPane | None = None,
    ) -> CreatedPane:
        """Open a window in the background. `claim` gets its pane before the program starts."""
        naming = ("-n", escape_format(validate_name("name", name))) if name is not None else ()
        command = ("new-window", "-d", "-t", f"{session}:", *naming)
        return await self._spawner.create_pane(
            *command, program=program, name_window=name is None, claim=claim
        )

    async def split(
        self,
        pane: PaneId,
        *,
        side_by_side: bool = False,
        percent: int | None = None,
        cells: int | None = None,
        program: PaneProgram = SHELL,
    ) -> CreatedPane:
        """Split a pane. The new one is below it or to its right, with `percent` of its size or `cells`."""
        if percent is not None and not 1 <= percent <= 99:
            raise BadInput(f"The size {percent} is not a percentage.", "Use 1 to 99.")
        size = ("-l", f"{percent}%") if percent is not None else ()
        size = ("-l", str(validate_size("size", cells))) if cells is not None else size
        direction = "-h" if side_by_side else "-v"
        zoom = ("-Z",) if await self._is_zoomed(pane) else ()
        return await self._spawner.create_pane(
            "split-window", "-d", direction, *zoom, "-t", pane, *size, program=program
        )

    async def respawn(
        self,
        pane: PaneId,
        *,
        command: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        kill: bool = False,
    ) -> None:
        """Run a command, or the shell, in a pane whose program has ended; `kill` ends a running one first."""
        await self._spawner.respawn(pane, PaneProgram(command, cwd, env), kill=kill)

    async def rename(self, window: WindowId, name: str) -> str:
        """Rename a window. Return the name that tmux stores, which may differ: it doubles a backslash."""
        await self._connection.run(
            ("rename-window", "-t", window, "--", escape_format(validate_name("name", name)))
        )
        return (await self.get(window)).name

    async def select(self, window: WindowId) -> None:
        await self._connection.run(("select-window", "-t", window))

    async def move(self, window: WindowId, session: SessionId, *, index: int | None = None) -> int:
        """Move a window to another session, in the background. Return its index there."""
        if index is not None and not 0 <= index <= _LARGEST_INDEX:
            raise BadInput(f"The index {index} is out of range.", "Use 0 or more.")
        if index is not None and (window, index) in [(row.id, row.index) for row in await self.list(session)]:
            return index  # tmux refuses to move a window to its own place
        target = f"{session}:{'' if index is None else index}"
        await self._connection.run(("move-window", "-d", "-s", window, "-t", target))
        return next(row.index for row in await self.list(session) if row.id == window)

    async def set_layout(self, window: WindowId, layout: str) -> str:
        """Set the layout of a window, by a name or a layout text. Return the new layout text."""
        layouts.check_layout(layout, await self._connection.server_version())
        layouts.check_window_fits(layout, await self.get(window))
        await self._connection.run(("select-layout", "-t", window, "--", layout))
        return (await self.get(window)).layout

    async def set_synchronized(self, window: WindowId, *, enabled: bool) -> None:
        value = "on" if enabled else "off"
        await self._connection.run(("set-option", "-w", "-t", window, "synchronize-panes", value))

    async def kill(self, window: WindowId) -> None:
        async with self._connection.lock_for_session_change():  # the last window ends its session
            await self._connection.run(("kill-window", "-t", window))
        self._trace.debug("window killed", window=window)

    async def _is_zoomed(self, pane: PaneId) -> bool:
        """Return whether the pane's window is zoomed. A split would end the zoom unless it gets -Z."""
        ask = ("display-message", "-p", "-t", pane, "#{window_zoomed_flag}")
        return (await self._connection.run(ask, repeatable=True)).first_line == "1"
