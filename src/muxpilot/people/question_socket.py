"""The socket of a muxpilot that asks: other processes list its open questions there, and answer them.

There is one socket for each muxpilot, in a folder that only this user can enter, and only while a question is
open. Nothing else is written to disk: no question, and no answer. Each message is one line of JSON:

    {"do": "list"}                                                  -> {"questions": [...]}
    {"do": "answer", "id": ID, "answer": TEXT, "way": W, "by": WHO} -> {"problem": ""}
    {"do": "decline", "id": ID, "way": W, "by": WHO}                -> {"problem": ""}
      both with "processes": [PID, ...]: those that gave the answer to the sender, such as a browser
    {"do": "show", "key": KEY}                                      -> the question, for a popup's program

The connection of a popup stays open. It ends when the question is settled, or when the popup goes.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from muxpilot.people.asked_people import describe_process
from muxpilot.people.json_lines import LONGEST_LINE, receive_message, send_message
from muxpilot.people.open_question import CLOSED, OpenQuestion
from muxpilot.people.popup_session import PopupSession
from muxpilot.people.shown_text import show_line
from muxpilot.people.sockets import ASKS, open_private_socket, remove_socket
from muxpilot.tasks import TaskSet
from muxpilot.tmux import Tmux
from muxpilot.trace import area

_LONGEST_WAY = 40
_PEER_CREDENTIALS = struct.Struct("3i")
_UNKNOWN_PEER = -1
_REFUSED = "A program in an agent's pane cannot answer."
_REFUSED_JOB = "A program that tmux started outside of a pane cannot answer."

_trace = area("people")

# Tells whether a process runs in a pane that an agent controls.
RunsInAgentPane = Callable[[Tmux, int], Awaitable[bool]]
# Tells whether tmux started a process outside of its panes.
IsTmuxJob = Callable[[int], Awaitable[bool]]
# Tells whether a process is the program of the popup with a key.
RunsInPopup = Callable[[Tmux, str, int], Awaitable[bool]]


class QuestionSocket:
    """Serves the open questions of this process."""

    def __init__(
        self,
        questions: Mapping[str, OpenQuestion],
        popups: Mapping[str, PopupSession],
        runs_in_agent_pane: RunsInAgentPane,
        is_tmux_job: IsTmuxJob,
        runs_in_popup: RunsInPopup,
    ) -> None:
        self._questions = questions
        self._popups = popups
        self._runs_in_agent_pane = runs_in_agent_pane
        self._is_tmux_job = is_tmux_job
        self._runs_in_popup = runs_in_popup
        self._tasks = TaskSet(_trace)
        self._server: asyncio.Server | None = None
        self.path: Path | None = None

    async def start(self) -> None:
        """Listen. Raise OSError or UnsafeSocket if no private socket can be made."""
        self.path, listener = open_private_socket(f"{ASKS}{os.getpid()}-{secrets.token_hex(4)}")
        self._server = await asyncio.start_unix_server(
            self._serve, sock=listener, limit=LONGEST_LINE, start_serving=False
        )
        try:
            await self._server.start_serving()
        except asyncio.CancelledError:  # the time of the question is over, or its caller has gone
            await self.close()
            raise
        _trace.debug("question socket opened", path=self.path.name)

    async def close(self) -> None:
        """Stop listening, remove the socket and end the connections."""
        if self._server is not None:
            self._server.close()
        if self.path is not None:
            remove_socket(self.path)
        await self._tasks.close()
        _trace.debug("question socket closed")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection: one request, or the whole conversation of a popup."""
        try:
            with self._tasks.include_current(), suppress(OSError, ValueError):
                message = await receive_message(reader)
                if message is None:
                    return
                if message.get("do") == "show":
                    await self._serve_popup(str(message.get("key")), reader, writer)
                else:
                    await send_message(writer, await self._answer(message, find_peer(writer)))
        except asyncio.CancelledError:  # asyncio of Python 3.11 would log it as an error
            _trace.debug("connection to the question socket ended")
        finally:
            writer.close()

    async def _answer(self, message: Mapping[str, Any], peer: int | None) -> dict[str, Any]:
        if message.get("do") == "list":
            return {"questions": [describe_question(opened) for opened in self._questions.values()]}
        opened = self._questions.get(str(message.get("id")))
        if opened is None or opened.is_settled:
            return {"problem": CLOSED}
        if peer is None or await self._is_from_agent(opened.tmux, [peer, *_find_processes(message)]):
            _trace.warning("answer refused: it came from an agent's pane", pid=peer)
            return {"problem": _REFUSED}
        # The sender itself only: a person may have let tmux start their browser.
        if peer != _UNKNOWN_PEER and await self._is_tmux_job(peer):
            _trace.warning("answer refused: tmux started its program outside of a pane", pid=peer)
            return {"problem": _REFUSED_JOB}
        way = show_line(str(message.get("way") or "other"), _LONGEST_WAY)
        person = describe_process(peer, str(message.get("by") or ""))
        if message.get("do") == "decline":
            opened.decline(way, by=person)
            return {"problem": ""}
        if message.get("do") == "answer" and isinstance(message.get("answer"), str):
            return {"problem": await opened.take_answer(message["answer"], way, by=person)}
        return {"problem": "The message is not understood."}

    async def _is_from_agent(self, tmux: Tmux, processes: list[int]) -> bool:
        """Return whether one of these processes, all of which have a part in an answer, is an agent's."""
        for pid in processes:
            if pid != _UNKNOWN_PEER and await self._runs_in_agent_pane(tmux, pid):
                return True
        return False

    async def _serve_popup(
        self, key: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        session, peer = self._popups.get(key), find_peer(writer)
        if session is None or peer is None or not await self._is_popup(session.opened.tmux, key, peer):
            _trace.warning("popup refused", pid=peer, is_known=session is not None)
            return
        await session.serve(reader, writer, peer)

    async def _is_popup(self, tmux: Tmux, key: str, pid: int) -> bool:
        return pid == _UNKNOWN_PEER or await self._runs_in_popup(tmux, key, pid)


def describe_question(opened: OpenQuestion) -> dict[str, Any]:
    """Return an open question as other processes get it."""
    question = opened.question
    return {
        "id": question.id,
        "text": question.text,
        "asker": question.asker,
        "workspace": question.workspace,
        "reason": question.reason,
        "choices": list(question.choices),
        "isSecret": question.is_secret,
        "socket": question.socket,
        "pane": question.pane,
        "secondsLeft": round(opened.seconds_left, 1),
        "popupClient": opened.popup_client,
    }


def _find_processes(message: Mapping[str, Any]) -> list[int]:
    given = message.get("processes")
    return [pid for pid in given if isinstance(pid, int)] if isinstance(given, list) else []


def find_peer(writer: asyncio.StreamWriter) -> int | None:
    """Return the id of the process at the other end, as the kernel knows it.

    None if it is another user's, or in another pid namespace. Only Linux tells the id.
    """
    connection = writer.get_extra_info("socket")
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:  # the folder alone keeps others out
        return _UNKNOWN_PEER
    data = connection.getsockopt(socket.SOL_SOCKET, option, _PEER_CREDENTIALS.size)
    pid, uid, _ = _PEER_CREDENTIALS.unpack(data)
    return pid if pid and uid in (0, os.geteuid()) else None
