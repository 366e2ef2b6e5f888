"""Answers that several tools give: rows for sessions, windows and panes, and short confirmations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muxpilot.records import record
from muxpilot.terminal.sanitize import sanitize_text
from muxpilot.tmux import ListedPane, PaneId, Session, SessionId, Window, WindowId

if TYPE_CHECKING:
    from muxpilot.tmux.objects.endings import EndedProcess

_LONGEST_TITLE = 256  # any program in the pane can set it


@record
class SessionRow:
    id: SessionId
    name: str
    windows: int
    attached: int
    created: int

    @classmethod
    def from_tmux(cls, row: Session) -> SessionRow:
        return cls(row.id, row.name, row.windows, row.attached, row.created)


@record
class WindowRow:
    id: WindowId
    index: int
    name: str
    active: bool
    panes: int
    session_id: SessionId
    session_name: str
    layout: str
    zoomed: bool
    active_pane_id: str

    @classmethod
    def from_tmux(cls, row: Window) -> WindowRow:
        """Make the row of a window."""
        return cls(
            *(row.id, row.index, row.name, row.is_active, row.panes, row.session_id, row.session_name),
            *(row.layout, row.is_zoomed, row.active_pane_id),
        )


@record
class PaneRow:
    id: PaneId
    index: int
    title: str
    active: bool
    width: int
    height: int
    current_command: str
    current_path: str
    pid: int
    dead: bool
    exit_code: int | None
    in_mode: bool
    window_id: WindowId
    session_id: SessionId
    # The name of the pane in the workspace.
    pane: str | None = None

    @classmethod
    def from_tmux(cls, row: ListedPane, name: str | None = None) -> PaneRow:
        """Make the row of a pane, with a title of bounded length."""
        title = sanitize_text(row.title)[:_LONGEST_TITLE]
        return cls(
            *(row.id, row.index, title, row.is_active, row.width, row.height, row.current_command),
            *(row.current_path, row.pid, row.is_dead, row.exit_code if row.is_dead else None, row.in_mode),
            *(row.window_id, row.session_id, name),
        )


@record
class PaneDone:
    pane_id: str


@record
class ProcessRow:
    pid: int
    command: str
    signal: str | None

    @classmethod
    def from_ended(cls, row: EndedProcess) -> ProcessRow:
        return cls(row.pid, sanitize_text(row.command), row.signal)


@record
class Killed:
    killed: str
    processes: list[ProcessRow]

    @classmethod
    def of(cls, target: str, ended: Sequence[EndedProcess]) -> Killed:
        return cls(target, [ProcessRow.from_ended(row) for row in ended])
