"""Windows: find them, make them, and move them about without moving anybody's focus."""

from __future__ import annotations

from collections.abc import Sequence

from muxpilot.errors import BadInput, NotFound
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.models import WINDOW, Window
from muxpilot.tmux.objects import layouts, validate
from muxpilot.tmux.objects.spawn import SHELL, CreatedPane, Program, Spawner
from muxpilot.tmux.quote import literal

_LARGEST_INDEX = 2**31 - 1


class Windows:
    def __init__(self, connection: Connection, births: Spawner) -> None:
        self._connection = connection
        self._births = births

    async def list(self, session: SessionId | None = None) -> Sequence[Window]:
        scope = ("-t", session) if session is not None else ("-a",)
        rows = await self._connection.records(WINDOW, Window, "list-windows", *scope)
        return [row for row in rows if not row.is_hub]

    async def get(self, window: WindowId) -> Window:
        active = ("list-panes", "-t", window, "-f", "#{pane_active}")
        rows = await self._connection.records(WINDOW, Window, *active)
        # Of the sessions that show it tmux names one, which may be one that is not to be seen.
        rows = rows or [row for row in await self.list() if row.id == window]
        if not rows:
            raise NotFound("window", window)
        return rows[0]

    async def create(
        self, session: SessionId, *, name: str | None = None, program: Program = SHELL
    ) -> CreatedPane:
        """Open a window in the background."""
        naming = ("-n", literal(validate.name("name", name))) if name is not None else ()
        return await self._births.create_pane(
            "new-window", "-d", "-t", f"{session}:", *naming, program=program, name_window=name is None
        )

    async def split(
        self,
        pane: PaneId,
        *,
        side_by_side: bool = False,
        percent: int | None = None,
        cells: int | None = None,
        program: Program = SHELL,
    ) -> CreatedPane:
        """Divide a pane; the new one is to its right or below it, with `percent` of the room, or `cells`."""
        if percent is not None and not 1 <= percent <= 99:
            raise BadInput(f"The size {percent} is not a percentage.", "Use 1 to 99.")
        size = ("-l", f"{percent}%") if percent is not None else ()
        size = ("-l", str(validate.size("size", cells))) if cells is not None else size
        way = "-h" if side_by_side else "-v"
        zoom = ("-Z",) if await self._is_zoomed(pane) else ()
        return await self._births.create_pane(
            "split-window", "-d", way, *zoom, "-t", pane, *size, program=program
        )

    async def respawn(self, pane: PaneId, *, command: str | None = None, kill: bool = False) -> None:
        """Run a command, or the shell, in a pane whose program has ended; `kill` ends it first."""
        await self._births.rebear(pane, command=command, kill=kill)

    async def rename(self, window: WindowId, name: str) -> str:
        """Answers the name that tmux keeps, which may differ: it doubles a backslash."""
        await self._connection.run(
            ("rename-window", "-t", window, "--", literal(validate.name("name", name)))
        )
        return (await self.get(window)).name

    async def select(self, window: WindowId) -> None:
        await self._connection.run(("select-window", "-t", window))

    async def move(self, window: WindowId, session: SessionId, *, index: int | None = None) -> int:
        """Move a window to another session, in the background; answers the index that it has there."""
        if index is not None and not 0 <= index <= _LARGEST_INDEX:
            raise BadInput(f"The index {index} is out of range.", "Use 0 or more.")
        target = f"{session}:{'' if index is None else index}"
        await self._connection.run(("move-window", "-d", "-s", window, "-t", target))
        return next(row.index for row in await self.list(session) if row.id == window)

    async def set_layout(self, window: WindowId, layout: str) -> str:
        layouts.check(layout, await self._connection.server_version())
        layouts.check_room(layout, await self.get(window))
        await self._connection.run(("select-layout", "-t", window, "--", layout))
        return (await self.get(window)).layout

    async def set_synchronized(self, window: WindowId, *, enabled: bool) -> None:
        value = "on" if enabled else "off"
        await self._connection.run(("set-option", "-w", "-t", window, "synchronize-panes", value))

    async def kill(self, window: WindowId) -> None:
        async with self._connection.changing_sessions():  # the last one ends its session
            await self._connection.run(("kill-window", "-t", window))

    async def _is_zoomed(self, pane: PaneId) -> bool:
        """A pane that fills its window goes on filling it: a split would uncover the others."""
        ask = ("display-message", "-p", "-t", pane, "#{window_zoomed_flag}")
        return (await self._connection.run(ask, repeatable=True)).first_line == "1"
