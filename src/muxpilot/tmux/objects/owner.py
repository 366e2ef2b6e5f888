"""Whose a session, window or pane is: a mark on it, a tmux option, names the muxpilot that made it.

tmux hands options down: a pane that a person split off in a window of ours would show the window's. So each
mark begins with the id of what it stands on, and counts for nothing else.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING

from muxpilot.processes.identity import Process, namespace, ourselves
from muxpilot.records import record
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.quote import literal

if TYPE_CHECKING:
    from muxpilot.tmux.connection.connection import Connection

OPTION = "@muxpilot_owner"

_MARK = re.compile(r"([$@%][0-9]+) ([0-9]{1,10}) ([0-9]{1,20}) (\S{1,80}) ([0-9a-f]{32})")

Marked = SessionId | WindowId | PaneId
_LEVELS = ((SessionId, ()), (WindowId, ("-w",)), (PaneId, ("-p",)))


@record
class Owner:
    """A process in its namespace; `token` tells it from every other that ever was."""

    process: Process = field(default_factory=ourselves)
    space: str = field(default_factory=namespace)
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    def mark(self, target: Marked) -> Command:
        """The command that marks something that was just made as ours."""
        level = next(flags for kind, flags in _LEVELS if isinstance(target, kind))
        return "set-option", *level, "-t", target, OPTION, f"{target} {self._words}"

    def mark_window_of(self, pane: PaneId) -> Command:
        """The same for a window whose id is not known yet: tmux fills it in."""
        return "set-option", "-w", "-F", "-t", pane, OPTION, f"#{{window_id}} {literal(self._words)}"

    @property
    def _words(self) -> str:
        return f"{self.process.pid} {self.process.start} {self.space} {self.token}"

    @property
    def is_gone(self) -> bool:
        """Only said of a process that we could see."""
        return self.space == namespace() and not self.process.is_there


def read(target: str, mark: str) -> Owner | None:
    """Who made this, if a muxpilot did."""
    found = _MARK.fullmatch(mark)
    if found is None or found[1] != target:
        return None
    return Owner(Process(int(found[2]), int(found[3])), found[4], found[5])


async def made_by_others(connection: Connection, target: Marked) -> list[PaneId]:
    """Of the panes that a target means, those that no muxpilot made."""
    scope = ("-s",) if isinstance(target, SessionId) else ()
    ask = ("list-panes", *scope, "-t", target, "-F", f"#{{pane_id}} #{{{OPTION}}}")
    lines = (await connection.run(ask, repeatable=True)).blocks[0].lines
    rows = (line.decode("utf-8", "replace").partition(" ") for line in lines)
    found = [PaneId(pane) for pane, _, mark in rows if read(pane, mark) is None]
    return [pane for pane in found if pane == target] if isinstance(target, PaneId) else found


@cache
def ours() -> Owner:
    return Owner()
