"""`muxpilot ps`: list workspaces, panes and the commands that run in them, with what each waits for."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from muxpilot.app import App
from muxpilot.cli.application import call_for_data, run_with_app
from muxpilot.cli.stderr_notes import print_note
from muxpilot.config.model import Settings
from muxpilot.errors import Refused
from muxpilot.terminal.escapes import CSI
from muxpilot.terminal.sanitize import sanitize_text
from muxpilot.toolkit.answers import compact_json
from muxpilot.tools.commands import list_commands
from muxpilot.tools.panes import list_panes
from muxpilot.tools.sessions import list_sessions
from muxpilot.tools.state import pane_state
from muxpilot.workspace.names import session_name_for

_UNFINISHED = ("queued", "running")
_HEAD = ("SESSION", "PANE", "NAME", "PROGRAM", "WAITS FOR", "COMMAND ID", "COMMAND")
_WIDEST = 40
_BOLD, _NORMAL = f"{CSI}1m", f"{CSI}0m"

Row = dict[str, Any]


def run(settings: Settings, arguments: Namespace) -> int:
    """Print one row for each pane, or everything as JSON."""
    return run_with_app(settings, lambda app: _run(app, as_json=arguments.json))


async def _run(app: App, *, as_json: bool) -> int:
    sessions = await _gather(app)
    if as_json:
        print(compact_json({"sessions": sessions}))
    elif not sessions:
        print_note("There are no panes.")
    else:
        _print_table([_HEAD, *(cells for session in sessions for cells in _table_rows(session))])
    return 0


async def _gather(app: App) -> list[Row]:
    """Return the sessions, each with its panes, each with its state and its unfinished commands.

    Workspaces come first. They and their panes have names, also those of other agents.
    """
    sessions = (await call_for_data(app, list_sessions))["sessions"]
    if not sessions:
        return []
    panes = (await call_for_data(app, list_panes))["panes"]
    commands = (await call_for_data(app, list_commands))["commands"]
    workspaces, names = await app.services.workspaces.list_all(app.servers.default)
    states = await asyncio.gather(*(_read_state(app, row["id"]) for row in panes))
    for row, state in zip(panes, states, strict=True):
        row["state"] = state
        row["pane"] = names.get(row["id"])
        row["commands"] = [
            each for each in commands if each["paneId"] == row["id"] and each["status"] in _UNFINISHED
        ]
    for row in sessions:
        row["workspace"] = workspaces.get(row["id"])
        row["panes"] = [pane for pane in panes if pane["sessionId"] == row["id"]]
    return sorted(sessions, key=lambda row: row["workspace"] is None)


async def _read_state(app: App, pane: str) -> Row | None:
    """Return the state of a pane; None if it has closed since it was listed, or must not be seen."""
    try:
        state: Row = await call_for_data(app, pane_state, paneId=pane)
    except Refused:
        return None
    return state


def _table_rows(session: Row) -> list[Sequence[str]]:
    return [
        (
            *(_describe_session(session), pane["id"], pane["pane"] or ""),
            *(*_describe_state(pane), each["commandId"], each["command"]),
        )
        for pane in session["panes"]
        for each in pane["commands"] or [{"commandId": "", "command": ""}]
    ]


def _describe_session(session: Row) -> str:
    """Return the name of a session. A person may have renamed that of a workspace."""
    name, workspace = session["name"], session["workspace"]
    if workspace is None:
        return str(name)
    return f"{name} (workspace{'' if session_name_for(workspace) == name else f' {workspace}'})"


def _describe_state(pane: Row) -> tuple[str, str]:
    """Return the program in front, and what it waits for."""
    if pane["dead"]:
        code = pane["exitCode"]
        return pane["currentCommand"], "ended" if code is None else f"ended with {code}"
    state = pane["state"]
    if state is None:
        return pane["currentCommand"], "?"
    return state["foregroundCmd"], state["waitingFor"] or "-"


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    shown = [[_one_cell(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in shown) for at in range(len(_HEAD))]
    for number, row in enumerate(shown):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        print(f"{_BOLD}{line}{_NORMAL}" if number == 0 and sys.stdout.isatty() else line)


def _one_cell(text: str) -> str:
    line = " ".join(sanitize_text(text).split())
    return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"
