"""Which muxpilot created a session, window or pane: a tmux option on it, the owner mark, names the process.

tmux options are inherited: a pane that a person splits off in our window shows the window's option. So
each mark begins with the id of the object that it is set on, and is ignored on any other.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING

from muxpilot.processes.identity import ProcessIdentity, pid_namespace, this_process
from muxpilot.records import record
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.quote import escape_format

if TYPE_CHECKING:
    from muxpilot.tmux.connection.connection import Connection

OWNER_OPTION = "@muxpilot_owner"

_MARK = re.compile(r"([$@%][0-9]+) ([0-9]{1,10}) ([0-9]{1,20}) (\S{1,80}) ([0-9a-f]{32})")

MarkableId = SessionId | WindowId | PaneId
_LEVELS = ((SessionId, ()), (WindowId, ("-w",)), (PaneId, ("-p",)))


@record
class Owner:
    """A muxpilot process, with its pid namespace. `token` is unique among all processes, past ones too."""

    process: ProcessIdentity = field(default_factory=this_process)
    pid_namespace: str = field(default_factory=pid_namespace)
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    def mark_command(self, target: MarkableId) -> Command:
        """Return the command that marks a session, window or pane as created by this owner."""
        level = next(flags for kind, flags in _LEVELS if isinstance(target, kind))
        return "set-option", *level, "-t", target, OWNER_OPTION, f"{target} {self._mark_text}"

    def mark_window_command(self, pane: PaneId) -> Command:
        """Return the command that marks the window of a pane; tmux fills in the window's id."""
        mark = f"#{{window_id}} {escape_format(self._mark_text)}"
        return "set-option", "-w", "-F", "-t", pane, OWNER_OPTION, mark

    @property
    def _mark_text(self) -> str:
        return f"{self.process.pid} {self.process.start_time} {self.pid_namespace} {self.token}"

    @property
    def is_visible(self) -> bool:
        """Return whether we could see the process: it was started on this machine, in our pid namespace."""
        return self.pid_namespace == pid_namespace()

    @property
    def is_gone(self) -> bool:
        """Return whether the process has ended. A process in another pid namespace is never reported gone."""
        return self.is_visible and not self.process.is_running


def parse_owner(target: str, mark: str) -> Owner | None:
    """Return the owner that a mark names, or None if it does not belong to this target."""
    found = _MARK.fullmatch(mark)
    if found is None or found[1] != target:
        return None
    return Owner(ProcessIdentity(int(found[2]), int(found[3])), found[4], found[5])


async def list_foreign_panes(
    connection: Connection, target: MarkableId, *, whole_window: bool = False
) -> list[PaneId]:
    """List the panes of a target that no muxpilot created.

    `whole_window`: for a pane, all panes of its window.
    """
    scope = ("-s",) if isinstance(target, SessionId) else ()
    ask = ("list-panes", *scope, "-t", target, "-F", f"#{{pane_id}} #{{{OWNER_OPTION}}}")
    lines = (await connection.run(ask, repeatable=True)).blocks[0].lines
    rows = (line.decode("utf-8", "replace").partition(" ") for line in lines)
    found = [PaneId(pane) for pane, _, mark in rows if parse_owner(pane, mark) is None]
    is_one = isinstance(target, PaneId) and not whole_window
    return [pane for pane in found if pane == target] if is_one else found


@cache
def this_owner() -> Owner:
    """Return this process as an owner. It has the same token for its whole life."""
    return Owner()
