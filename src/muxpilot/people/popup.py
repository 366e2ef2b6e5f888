"""The popup way: `display-popup` on the terminal of a person who is attached to tmux.

The popup runs `popup_program.py`, which gets the question through our socket. So neither the
question nor the answer is ever part of a tmux command, an argument or the environment of a process.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from muxpilot.errors import MuxpilotError, NoServer
from muxpilot.people.answering_process import list_ancestors, runs_in_agent_pane
from muxpilot.people.asked_people import describe_terminal
from muxpilot.people.open_question import OpenQuestion
from muxpilot.people.popup_code import CodeCheck, WrongCodes, make_code, needs_code
from muxpilot.people.popup_session import WAY, PopupSession, describe_for_popup
from muxpilot.people.questions import Question, QuestionEvent
from muxpilot.tasks import TaskSet, cancel_and_wait
from muxpilot.terminal.width import cell_width
from muxpilot.timing import PeopleTiming
from muxpilot.tmux import Client, PaneId, Tmux
from muxpilot.tmux.hosts.child_process import kill_group
from muxpilot.trace import area

# The folder that holds this package, and the program that runs in the popup.
_SOURCES = str(Path(__file__).parents[2])
_START_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from muxpilot.people.popup_program import run_popup; run_popup(*sys.argv[2:])"
)
_WIDEST, _HIGHEST = 90, 24
_NARROWEST, _LOWEST = 24, 8
# An empty row, the help, a message and the line to type into; some of them take two rows.
_SPARE_ROWS = 6

_trace = area("people")


class PopupWay:
    """Shows questions in popups, one after the other."""

    def __init__(self, timing: PeopleTiming) -> None:
        self.sessions: dict[str, PopupSession] = {}
        self._timing = timing
        self._turn = asyncio.Lock()
        self._wrong_codes = WrongCodes(timing)
        self._closing = TaskSet(_trace)

    async def close(self) -> None:
        """End the processes of popups that tmux is about to close."""
        await self._closing.close()

    async def show(self, opened: OpenQuestion, socket: Path) -> None:
        """Show the question to one person after the other. Return when no popup can be shown any more.

        A terminal that shows another popup is tried again later, one that has gone or failed is not.
        """
        failed: set[str] = set()
        try:
            async with self._turn:
                # A terminal whose popup is about to close counts as busy: another person would be asked.
                await self._closing.wait(self._timing.popup_close_s)
                await self._wrong_codes.wait()
                while people := await find_people(opened, failed):
                    failed |= await self._try_people(opened, people, socket)
        except NoServer:
            pass
        except MuxpilotError as error:
            _trace.warning("no popup can be shown", error=error)
        _trace.debug("no terminal for a popup is left", question=opened.question.id, failed=len(failed))

    async def _try_people(self, opened: OpenQuestion, people: Sequence[Client], socket: Path) -> set[str]:
        """Show the question on the first terminal that is free. Return the name of one that is of no use."""
        for client in people:
            await self._wait_for_pause(opened.tmux, client)
            if await self._show_on(opened, client, socket):
                return {client.name}
        await asyncio.sleep(self._timing.busy_client_check_s)
        return set()

    async def _wait_for_pause(self, tmux: Tmux, client: Client) -> None:
        """Wait until the person has not pressed a key for a moment, at most for a bounded time."""
        timing = self._timing
        give_up = time.monotonic() + timing.longest_pause_wait_s
        activity = client.activity
        while time.time() - activity < timing.typing_pause_s and time.monotonic() < give_up:
            await asyncio.sleep(timing.pause_check_s)
            rows = [row for row in await list_people(tmux) if row.name == client.name]
            activity = rows[0].activity if rows else 0

    async def _show_on(self, opened: OpenQuestion, client: Client, socket: Path) -> bool:
        """Show the popup on one terminal until it goes. Return False if another popup is in its place."""
        check = CodeCheck(await make_code(opened.tmux))
        key, session = secrets.token_hex(16), PopupSession(opened, describe_terminal(client), check)
        self.sessions[key] = session
        opened.popup_client = client.pid
        try:
            return await self._run_popup(session, client, popup_command(client, opened.question, socket, key))
        finally:
            self._wrong_codes.note(check)
            opened.popup_client = None
            del self.sessions[key]
            opened.change_phase(QuestionEvent.HIDE, way=WAY)

    async def _run_popup(self, session: PopupSession, client: Client, command: tuple[str, ...]) -> bool:
        """Run tmux until the popup is closed. Return False if another popup is open: tmux ends at once."""
        endpoint = session.opened.tmux.connection.endpoint
        process = await endpoint.start_process("-N", commands=[command], stdin=DEVNULL, stdout=PIPE)
        watching = (
            asyncio.create_task(process.communicate()),
            asyncio.create_task(session.is_gone.wait()),
        )
        shown = asyncio.create_task(session.is_shown.wait())
        try:
            await asyncio.wait(
                [*watching, shown], timeout=self._timing.popup_start_s, return_when=asyncio.FIRST_COMPLETED
            )
            if session.is_shown.is_set():
                session.opened.change_phase(QuestionEvent.SHOW, way=WAY)
                await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
            elif process.returncode is None:
                _trace.debug("popup did not start", client=client.name)
                return True
            _trace.debug("popup ended", client=client.name, status=process.returncode)
            return session.is_shown.is_set() or bool(process.returncode)
        finally:
            session.end()
            # In a task of its own: the answer does not wait for it, and a question that ends cannot stop it.
            self._closing.start(self._close_popup(process, (*watching, shown)))

    async def _close_popup(
        self, process: asyncio.subprocess.Process, watching: Sequence[asyncio.Task[Any]]
    ) -> None:
        """Wait until tmux has closed a popup, which ends the process, and end what is left of it."""
        try:
            await asyncio.wait(watching[:1], timeout=self._timing.popup_close_s)
        finally:
            await kill_group(process)
            await cancel_and_wait(watching)


def popup_command(client: Client, question: Question, socket: Path, key: str) -> tuple[str, ...]:
    """Return the command of tmux. `-E` closes the popup when the program ends."""
    width = min(_WIDEST, client.width)
    height = min(_HIGHEST, client.height, count_rows(question, width - 2) + 2)
    place = ("-c", client.name, "-t", f"{client.session_id}:", "-d", "/")
    size = ("-w", str(width), "-h", str(height))
    return ("display-popup", "-E", *place, *size, "--", *popup_program(socket, key))


def popup_program(socket: Path, key: str) -> tuple[str, ...]:
    """Return the program of the popup with its arguments."""
    # -I and -S: nothing of the person's own Python is loaded.
    return (sys.executable, "-I", "-S", "-c", _START_PROGRAM, _SOURCES, str(socket), key)


def count_rows(question: Question, columns: int) -> int:
    """Return how many rows the program needs, and a few to spare for its messages."""
    shown = describe_for_popup(question)
    texts = [shown["title"], shown["reason"], *shown["lines"], *shown["choices"]]
    wide = (sum(map(cell_width, text)) + 4 for text in texts)
    return sum(1 + cells // columns for cells in wide) + _SPARE_ROWS


async def list_people(tmux: Tmux) -> Sequence[Client]:
    """Return the terminals of people who can answer in a popup: not read-only, and large enough."""
    return [
        row
        for row in await tmux.clients.list()
        if not row.is_readonly and row.tty and row.width >= _NARROWEST and row.height >= _LOWEST
    ]


async def find_sessions(tmux: Tmux, pane: str) -> frozenset[str]:
    """Return the sessions that show a pane; none where the question is about no pane."""
    if not PaneId.matches(pane):
        return frozenset()
    ask = ("list-panes", "-a", "-f", f"#{{==:#{{pane_id}},{pane}}}", "-F", "#{session_id}")
    lines = (await tmux.connection.run(ask, repeatable=True)).blocks[0].lines
    return frozenset(line.decode("ascii", "replace") for line in lines)


async def find_people(opened: OpenQuestion, failed: set[str]) -> list[Client]:
    """Return the people to ask: those attached to the pane's session first, then who used tmux last.

    An agent can attach a terminal of its own, in a pane that it uses. It is asked last. Where a popup has a
    code it is never asked: the agent could read the code there.
    """
    tmux, people = opened.tmux, dict[Client, bool]()
    has_codes = await needs_code(tmux)
    for row in await list_people(tmux):
        is_agents = await _is_terminal_of_agent(tmux, row)
        if row.name not in failed and not (is_agents and has_codes):
            people[row] = is_agents
    sessions = await find_sessions(tmux, opened.question.pane)
    order = {row: (not people[row], row.session_id in sessions, row.activity) for row in people}
    return sorted(people, key=order.__getitem__, reverse=True)


async def _is_terminal_of_agent(tmux: Tmux, client: Client) -> bool:
    """Return whether a tmux client runs in a pane that an agent uses. False if this host does not know it."""
    return bool(list_ancestors(client.pid)) and await runs_in_agent_pane(tmux, client.pid)
