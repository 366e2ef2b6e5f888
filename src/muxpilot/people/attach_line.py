"""The line with which a person attaches to the tmux session of a question."""

from __future__ import annotations

import shlex

from muxpilot.errors import MuxpilotError
from muxpilot.people.questions import Question
from muxpilot.tmux import PaneId, Tmux
from muxpilot.trace import area

_trace = area("people")


async def find_attach_line(question: Question, tmux: Tmux) -> str:
    """Return the line for a shell of the person.

    It names the session of the question's pane, else the workspace, else the session that was used last. If
    there is no session, it creates the workspace's.
    """
    try:
        name = await _find_session_name(question, tmux)
    except MuxpilotError as error:
        _trace.debug("session to attach to not found", error=error)
        name = None
    argv = tmux.connection.endpoint.argv_for_person
    if name is None:
        return shlex.join(argv("new-session", "-A", "-s", question.workspace))
    return shlex.join(argv("attach-session", "-t", f"={name}"))


async def _find_session_name(question: Question, tmux: Tmux) -> str | None:
    sessions = await tmux.sessions.list()
    if PaneId.matches(question.pane):
        session = (await tmux.panes.get(PaneId(question.pane))).session_id
        return next((row.name for row in sessions if row.id == session), None)
    named = [row.name for row in sessions if row.name == question.workspace]
    last = max(sessions, key=lambda row: row.activity, default=None)
    return named[0] if named else last.name if last is not None else None
