"""Keep an agent's keys away from a person who answers, and from the popup that asks.

A popup is no pane, so tools cannot type into it. But the person's tmux client may itself run in a pane of a
server that the agent can type into: keys sent to that pane reach the popup.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from muxpilot.errors import Refused
from muxpilot.people.answering_process import list_ancestors
from muxpilot.people.other_processes import ListedQuestion, list_open_questions
from muxpilot.processes.proc import PROC
from muxpilot.tmux import PaneId, Tmux

# The name that tmux gives to the process of an attached client on Linux.
_CLIENT_NAME = "tmux: client"
_MOST_PROCESSES = 4096
# A client that is still there after this time is attached.
_ATTACHED_S = 0.5


async def refuse_while_person_answers(tmux: Tmux, pane: PaneId, *, typed: str) -> None:
    """Raise Refused if typing into a pane would disturb a person who answers, or answer in their place.

    The error tells what was `typed`.
    """
    questions = await list_open_questions()
    for each in await tmux.panes.list_synchronized(pane) if questions else ():
        if problem := await _find_problem(tmux, each, questions):
            raise Refused(f"{problem[0]} {typed}", problem[1])


async def _find_problem(tmux: Tmux, pane: PaneId, questions: list[ListedQuestion]) -> tuple[str, str] | None:
    """Return why nothing may be typed into a pane, and what to do; None if typing disturbs no person."""
    if any(_is_secret_of(question, tmux, pane) for question in questions):
        return f"A person is asked for a secret for pane {pane!r}.", "Wait for the answer to ask-person."
    if not tmux.is_remote and any(question.popup_client is not None for question in questions):
        pid = (await tmux.panes.get(pane)).pid
        if await _leads_to_popup(pid, questions):
            return (
                f"Pane {pane!r} shows a tmux client where a person is asked a question.",
                "Wait for the person's answer. An agent cannot answer its own question.",
            )
    return None


def _is_secret_of(question: ListedQuestion, tmux: Tmux, pane: PaneId) -> bool:
    is_same = question.socket == tmux.socket
    if not is_same and not tmux.is_remote:
        is_same = os.path.realpath(question.socket) == os.path.realpath(tmux.socket)
    return question.is_secret and question.pane == pane and is_same


async def _leads_to_popup(pane_pid: int, questions: list[ListedQuestion]) -> bool:
    """Return whether a pane shows the client of a popup, or any tmux client, which may show it in turn."""
    popups = [question.popup_client for question in questions if question.popup_client is not None]
    if any(pane_pid in list_ancestors(client) for client in popups):
        return True
    clients = _find_clients(pane_pid)
    if not clients:
        return False
    # A client that only asks its server something, as the start of a pane does, is gone in a moment.
    await asyncio.sleep(_ATTACHED_S)
    return bool(clients & _find_clients(pane_pid))


def _find_clients(pane_pid: int) -> set[int]:
    """Return the tmux clients among the descendants of a pane's process."""
    found, queue, clients = {pane_pid}, [pane_pid], set[int]()
    while queue and len(found) < _MOST_PROCESSES:
        pid = queue.pop()
        with suppress(OSError, ValueError, IndexError):
            if PROC.stat(pid).name == _CLIENT_NAME:
                clients.add(pid)
            children = [child for child in PROC.children(pid) if child not in found]
            found.update(children)
            queue += children
    return clients
