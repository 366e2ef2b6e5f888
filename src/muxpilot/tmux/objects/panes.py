"""Panes: list, rename, select, zoom, resize, join, swap, break out and kill them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from muxpilot.errors import BadInput, NotFound
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.formats import FieldTable, fields
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.models import LISTED_PANE, NOT_HUB_FILTER, PANE, ListedPane, Pane
from muxpilot.tmux.objects.exit_status import with_exit_status
from muxpilot.tmux.objects.owner import this_owner
from muxpilot.tmux.objects.validate import validate_name, validate_size, validate_title
from muxpilot.tmux.quote import escape_format

PaneRow = TypeVar("PaneRow", bound=ListedPane)

DIRECTIONS = {"up": "-U", "down": "-D", "left": "-L", "right": "-R"}


class _WindowOfPane(NamedTuple):
    """The window of a pane."""

    window_id: WindowId
    window_name: str


_WINDOW_OF_PANE = fields(window_id=("window_id", WindowId), window_name=("window_name", str))


class Panes:
    """The panes of one server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._trace = connection.endpoint.trace

    async def list(self, where: SessionId | WindowId | None = None) -> Sequence[ListedPane]:
        """List all panes of a session, of a window, or of the server. A linked pane is listed once."""
        if where is None:
            scope: tuple[str, ...] = ("-a",)
        else:
            scope = ("-s", "-t", where) if isinstance(where, SessionId) else ("-t", where)
        return await with_exit_status(lambda: self._rows(LISTED_PANE, ListedPane, *scope), self._server_pid)

    async def get(self, pane: PaneId) -> Pane:
        """Return a pane, or raise NotFound."""
        for row in await with_exit_status(lambda: self._rows(PANE, Pane, "-t", pane), self._server_pid):
            if row.id == pane:
                return row
        raise NotFound("pane", pane)

    async def list_synchronized(self, pane: PaneId) -> Sequence[PaneId]:
        """Return the pane and those that get the same keys by `synchronize-panes`."""
        ask = ("list-panes", "-t", pane, "-F", "#{pane_id} #{pane_synchronized}")
        lines = (await self._connection.run(ask, repeatable=True)).blocks[0].lines
        rows = dict(line.decode("ascii", "replace").split(" ", 1) for line in lines)
        if rows.get(pane) != "1":
            return [pane]
        return [PaneId(name) for name, is_on in rows.items() if is_on == "1"]

    async def rename(self, pane: PaneId, title: str) -> str:
        """Set the title. Return the stored title: tmux ignores a title with a character that it refuses."""
        await self._connection.run(
            ("select-pane", "-t", pane, "-T", escape_format(validate_title("title", title)))
        )
        return (await self.get(pane)).title

    async def select(self, pane: PaneId) -> None:
        """Make a pane the active one of its window. Which window a person sees does not change."""
        await self._connection.run(("select-pane", "-t", pane))

    async def toggle_zoom(self, pane: PaneId) -> bool:
        """Fill the window with the pane, or show the others again. Return whether it is zoomed now."""
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
        """Set a size, or move a border by some cells. tmux applies what the window allows."""
        change: list[str] = []
        if width is not None:
            change += ["-x", str(validate_size("width", width))]
        if height is not None:
            change += ["-y", str(validate_size("height", height))]
        if direction is not None:
            if direction not in DIRECTIONS:
                raise BadInput(f"{direction!r} is not a direction.", f"Use one of {', '.join(DIRECTIONS)}.")
            change += [DIRECTIONS[direction], "--", str(validate_size("amount", amount))]
        if not change:
            raise BadInput("Nothing to resize to.", "Give width, height or direction.")
        await self._connection.run(("resize-pane", "-t", pane, *change))
        return await self.get(pane)

    async def join(self, source: PaneId, target: PaneId) -> WindowId:
        """Move a pane into the target's window, below the target. The focus does not move."""
        if source == target:
            raise BadInput("A pane cannot be joined to itself.", "Give two panes.")
        await self._connection.run(("join-pane", "-d", "-s", source, "-t", target))
        return (await self.get(source)).window_id

    async def swap(self, source: PaneId, target: PaneId) -> None:
        await self._connection.run(("swap-pane", "-d", "-s", source, "-t", target))

    async def break_out(self, pane: PaneId, *, name: str | None = None) -> tuple[WindowId, str]:
        """Move a pane to a new window of its session; a pane that is alone in its window stays there."""
        if len(await self._panes_in_window_of(pane)) == 1:
            return await self._name_own_window(pane, name)
        # break-pane is the only command whose -n does not expand formats.
        naming = ("-n", validate_name("name", name)) if name is not None else ()
        # Without a target tmux would use the session of our own client, the hub.
        places = ("-s", pane, "-t", f"{(await self.get(pane)).session_id}:")
        await self._connection.run(
            ("break-pane", "-d", *places, *naming), this_owner().mark_window_command(pane)
        )
        return await self._name_own_window(pane, None)

    async def _name_own_window(self, pane: PaneId, name: str | None) -> tuple[WindowId, str]:
        if name is not None:
            await self._connection.run(
                ("rename-window", "-t", pane, "--", escape_format(validate_name("name", name)))
            )
        [row] = await self._panes_in_window_of(pane)
        return row.window_id, row.window_name

    async def _panes_in_window_of(self, pane: PaneId) -> Sequence[_WindowOfPane]:
        """List all panes of the pane's window, also those that the policy hides."""
        return await self._connection.list_all_records(
            _WINDOW_OF_PANE, _WindowOfPane, "list-panes", "-t", pane
        )

    async def kill(self, pane: PaneId) -> None:
        """Kill a pane and the program in it."""
        async with self._connection.lock_for_session_change():  # the last pane ends its session
            await self._connection.run(("kill-pane", "-t", pane))
        self._trace.debug("pane killed", pane=pane)

    async def _rows(self, table: FieldTable, into: Callable[..., PaneRow], *scope: str) -> Sequence[PaneRow]:
        rows = await self._connection.list_records(table, into, "list-panes", "-f", NOT_HUB_FILTER, *scope)
        if self._connection.endpoint.is_remote:
            rows = [replace(row, remote_shell=self._connection.run_shell_line) for row in rows]
        return list({row.id: row for row in reversed(rows)}.values())[::-1]

    async def _server_pid(self) -> int:
        known = self._connection.server_pid
        if known is None:
            known = int((await self._connection.run(("display-message", "-p", "#{pid}"))).first_line)
        return known
