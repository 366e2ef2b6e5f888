"""Open questions of all muxpilots of this user, listed and answered through their sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from muxpilot.people.json_lines import LONGEST_LINE, receive_message, send_message
from muxpilot.people.sockets import ASKS, find_sockets, remove_socket
from muxpilot.records import record
from muxpilot.trace import area

# A muxpilot that is stopped does not answer. Others must not wait for it.
_LIST_S = 2.0
# Entering a secret asks tmux, which may be slow.
_ANSWER_S = 30.0

_trace = area("people")


@record
class ListedQuestion:
    """An open question of any muxpilot. Its texts are those of an agent: escape them before you show them."""

    id: str
    text: str
    asker: str
    workspace: str
    reason: str
    choices: tuple[str, ...]
    is_secret: bool
    # The tmux server and the pane that it is about; empty where there is none.
    socket: str
    pane: str
    seconds_left: float
    # The tmux client that shows it in a popup, by its process id.
    popup_client: int | None
    # Where the muxpilot that asks it listens.
    process: Path


async def list_open_questions() -> list[ListedQuestion]:
    """Return the open questions of all muxpilots of this user. Costs one look into a folder if there is none.

    A muxpilot that does not answer in time is left out, with a line in the log.
    """
    found = await asyncio.gather(*(_list_of(path) for path in find_sockets(ASKS)))
    return [question for questions in found for question in questions]


@record
class Answerer:
    """The one who answers a question: the way, the person for the audit log, and the processes they use."""

    way: str
    person: str = ""
    processes: tuple[int, ...] = ()

    @property
    def fields(self) -> dict[str, Any]:
        return {"way": self.way, "by": self.person, "processes": list(self.processes)}


async def answer_question(question: ListedQuestion, answer: str, by: Answerer) -> str:
    """Answer a question. Return why the answer was not taken, or an empty text.

    A secret goes through the socket to the muxpilot that asks, which enters it into the pane.
    """
    return await _settle(question, {"do": "answer", "answer": answer, **by.fields})


async def decline_question(question: ListedQuestion, by: Answerer) -> str:
    """Say no to a question. Return why that was not taken, or an empty text."""
    return await _settle(question, {"do": "decline", **by.fields})


async def request(path: Path, message: Mapping[str, Any], timeout_s: float) -> dict[str, Any] | None:
    """Send one message to a process and return its answer; None if the process is gone or does not answer."""
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST_LINE)
            try:
                await send_message(writer, message)
                return await receive_message(reader)
            finally:
                writer.close()
    except ConnectionRefusedError:
        _trace.debug("socket of an ended process removed", path=path.name)
        remove_socket(path)
        return None
    except (OSError, ValueError, TimeoutError) as error:
        _trace.warning("a process does not answer on its question socket", path=path.name, error=error)
        return None


async def _list_of(path: Path) -> list[ListedQuestion]:
    answer = await request(path, {"do": "list"}, _LIST_S)
    rows = answer.get("questions") if answer is not None else None
    with suppress(KeyError, TypeError, ValueError):
        return [_parse(row, path) for row in rows or []]
    return []


def _parse(row: Mapping[str, Any], path: Path) -> ListedQuestion:
    pid = row["popupClient"]
    return ListedQuestion(
        id=str(row["id"]),
        text=str(row["text"]),
        asker=str(row["asker"]),
        workspace=str(row["workspace"]),
        reason=str(row["reason"]),
        choices=tuple(map(str, row["choices"])),
        is_secret=bool(row["isSecret"]),
        socket=str(row["socket"]),
        pane=str(row["pane"]),
        seconds_left=float(row["secondsLeft"]),
        popup_client=int(pid) if pid is not None else None,
        process=path,
    )


async def _settle(question: ListedQuestion, message: Mapping[str, Any]) -> str:
    answer = await request(question.process, {**message, "id": question.id}, _ANSWER_S)
    return str(answer.get("problem", "")) if answer is not None else "The question is closed."
