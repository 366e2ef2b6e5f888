"""Panes: find them, and change them where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from muxpilot.errors import BadInput, NotFound
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.formats import Fields, fields
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.models import IS_NO_HUB, LISTED_PANE, PANE, ListedPane, Pane
from muxpilot.tmux.objects import validate
from muxpilot.tmux.objects.exit_status import explained
from muxpilot.tmux.objects.owner import ours
from muxpilot.tmux.quote import literal

Row = TypeVar("Row", bound=ListedPane)

DIRECTIONS = {"up": "-U", "down": "-D", "left": "-L", "right": "-R"}


class _Broken(NamedTuple):
    window_id: WindowId
    window_name: str


_BROKEN = fields(window_id=("window_id", WindowId), window_name=("window_name", str))


class Panes:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, where: SessionId | WindowId | None = None) -> Sequence[ListedPane]:
        """All panes of a session, of a window, or of the server; each once, wherever it is linked."""
        if where is None:
            scope: tuple[str, ...] = ("-a",)
        else:
            scope = ("-s", "-t", where) if isinstance(where, SessionId) else ("-t", where)
        return await explained(lambda: self._rows(LISTED_PANE, ListedPane, *scope), self._server_pid)

    async def get(self, pane: PaneId) -> Pane:
        for row in await explained(lambda: self._rows(PANE, Pane, "-t", pane), self._server_pid):
            if row.id == pane:
                return row
        raise NotFound("pane", pane)

    async def rename(self, pane: PaneId, title: str) -> str:
        """Answers the title that tmux keeps: one with a character that it does not know changes nothing."""
        await self._connection.run(("select-pane", "-t", pane, "-T", literal(validate.title("title", title))))
        return (await self.get(pane)).title

    async def select(self, pane: PaneId) -> None:
        """Make it the active pane of its window; which window a person looks at does not change."""
        await self._connection.run(("select-pane", "-t", pane))

    async def zoom(self, pane: PaneId) -> bool:
        """Fill the window with the pane, or give the others back their place; says which it is now."""
        await self._connection.run(("resize-pane", "-Z", "-t", pane))
        answer = await self._connection.run(
            ("display-message", "-p", "-t", pane, "#{window_zoomed_flag}"), repeatable=True
        )
        return answer.first_line == "1"

    async def resize(
        self,
        pane: PaneId,
        *,
        width: int | None = None,
        height: int | None = None,
        direction: str | None = None,
        amount: int = 5,
    ) -> Pane:
        """Set a size, or move a border by some cells; tmux gives what the window allows."""
        change: list[str] = []
        if width is not None:
            change += ["-x", str(validate.size("width", width))]
        if height is not None:
            change += ["-y", str(validate.size("height", height))]
        if direction is not None:
            if direction not in DIRECTIONS:
                raise BadInput(f"{direction!r} is not a direction.", f"Use one of {', '.join(DIRECTIONS)}.")
            change += [DIRECTIONS[direction], "--", str(validate.size("amount", amount))]
        if not change:
            raise BadInput("Nothing to resize to.", "Give width, height or direction.")
        await self._connection.run(("resize-pane", "-t", pane, *change))
        return await self.get(pane)

    async def join(self, source: PaneId, target: PaneId) -> WindowId:
        """Move a pane into the target's window, below it; focus stays where it was."""
        if source == target:
            raise BadInput("A pane cannot be joined to itself.", "Give two panes.")
        await self._connection.run(("join-pane", "-d", "-s", source, "-t", target))
        return (await self.get(source)).window_id

    async def swap(self, source: PaneId, target: PaneId) -> None:
        await self._connection.run(("swap-pane", "-d", "-s", source, "-t", target))

    async def break_out(self, pane: PaneId, *, name: str | None = None) -> tuple[WindowId, str]:
        """Give a pane a window of its own, in the session that it is in; one that is alone has it already."""
        if len(await self._beside(pane)) == 1:
            return await self._keep_window(pane, name)
        naming = ("-n", validate.name("name", name)) if name is not None else ()  # no format, here alone
        # Without a target tmux takes our own session, the hub.
        places = ("-s", pane, "-t", f"{(await self.get(pane)).session_id}:")
        await self._connection.run(("break-pane", "-d", *places, *naming), ours().mark_window_of(pane))
        return await self._keep_window(pane, None)

    async def _keep_window(self, pane: PaneId, name: str | None) -> tuple[WindowId, str]:
        if name is not None:
            await self._connection.run(
                ("rename-window", "-t", pane, "--", literal(validate.name("name", name)))
            )
        [row] = await self._beside(pane)
        return row.window_id, row.window_name

    async def _beside(self, pane: PaneId) -> Sequence[_Broken]:
        """A row for each pane of its window, those too that may not be seen: they stay behind."""
        return await self._connection.every_record(_BROKEN, _Broken, "list-panes", "-t", pane)

    async def kill(self, pane: PaneId) -> None:
        async with self._connection.changing_sessions():  # the last one ends its session
            await self._connection.run(("kill-pane", "-t", pane))

    async def _rows(self, table: Fields, into: Callable[..., Row], *scope: str) -> Sequence[Row]:
        rows = await self._connection.records(table, into, "list-panes", "-f", IS_NO_HUB, *scope)
        if self._connection.endpoint.is_far:
            rows = [replace(row, far=self._connection.shell) for row in rows]
        return list({row.id: row for row in reversed(rows)}.values())[::-1]

    async def _server_pid(self) -> int:
        known = self._connection.server_pid
        if known is None:
            known = int((await self._connection.run(("display-message", "-p", "#{pid}"))).first_line)
        return known
