"""Ask people: try the ways in their order, and settle each question once.

The ways are the client's own form, a popup in tmux, and the view page. The view page lists a question as long
as it is open, so a person can answer there whichever way is tried. Where no way is left, the reply says how
to attach to tmux.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from muxpilot.errors import MuxpilotError
from muxpilot.people.open_question import EnterSecret, OpenQuestion
from muxpilot.people.questions import Question, QuestionEvent, Reply
from muxpilot.tasks import TaskSet
from muxpilot.timing import PeopleTiming
from muxpilot.tmux import Tmux
from muxpilot.trace import area

if TYPE_CHECKING:
    from muxpilot.people.elicitation_way import Elicit
    from muxpilot.people.popup import PopupWay
    from muxpilot.people.question_socket import QuestionSocket

VIEW = "view"

_trace = area("people")

Way = Callable[[], Coroutine[Any, Any, None]]


class People:
    """The open questions of this muxpilot. Its socket exists while one is open."""

    def __init__(self, timing: PeopleTiming | None = None) -> None:
        self.timing = timing or PeopleTiming()
        self._open: dict[str, OpenQuestion] = {}
        self._popups: PopupWay | None = None
        self._socket: QuestionSocket | None = None
        self._starting = asyncio.Lock()
        self._tasks = TaskSet(_trace)

    async def ask(
        self,
        question: Question,
        tmux: Tmux,
        *,
        elicit: Elicit | None = None,
        enter_secret: EnterSecret | None = None,
        on_cancel: Callable[[tuple[str, ...]], None] | None = None,
    ) -> Reply:
        """Put a question to a person and return the reply, at the latest when its time is over.

        `tmux` is the server of the question's pane, `elicit` the client's way, and `enter_secret` gets a
        secret. InputRequired passes through: the client repeats its call. A caller that is cancelled
        withdraws the question, and its popup is closed; `on_cancel` gets the people who were shown it.
        """
        opened = OpenQuestion(question, tmux, enter_secret)
        self._open[question.id] = opened
        tried: list[str] = []
        try:
            async with asyncio.timeout(question.timeout_s):
                await self._open_socket()
                return await self._try_ways(opened, self._list_ways(opened, elicit), tried)
        except TimeoutError:
            return await opened.expire(tried[-1] if tried else "no way")
        except asyncio.CancelledError:
            if on_cancel is not None:
                on_cancel(opened.people_asked)
            raise
        finally:
            opened.withdraw()
            del self._open[question.id]
            if not self._open:
                await self._close_socket()

    async def close(self) -> None:
        """Withdraw all questions."""
        for opened in list(self._open.values()):
            opened.withdraw()
        await self._close_socket()
        if self._popups is not None:
            await self._popups.close()
        await self._tasks.close()

    def _list_ways(self, opened: OpenQuestion, elicit: Elicit | None) -> list[tuple[str, Way]]:
        """Return the ways to a person, the first to try first."""
        ways: list[tuple[str, Way]] = []
        if elicit is not None:
            ways.append(("elicitation", lambda: self._ask_client(opened, elicit)))
        if not opened.tmux.is_remote:
            ways.append(("popup", lambda: self._show_popup(opened)))
        return [*ways, (VIEW, lambda: self._wait_for_page(opened))]

    async def _try_ways(self, opened: OpenQuestion, ways: list[tuple[str, Way]], tried: list[str]) -> Reply:
        """Try one way after the other. A way that ends without a reply could not be used."""
        settled = self._tasks.start(opened.wait(), is_awaited=True)
        try:
            for name, way in ways:
                tried.append(name)
                _trace.debug("way tried", question=opened.question.id, way=name)
                trying = self._tasks.start(way(), is_awaited=True)
                try:
                    await asyncio.wait([settled, trying], return_when=asyncio.FIRST_COMPLETED)
                    if settled.done() or opened.is_settled:
                        return await settled
                    trying.result()
                finally:
                    trying.cancel()
                    await asyncio.wait([trying])
        finally:
            settled.cancel()
        from muxpilot.people.attach_line import find_attach_line

        return opened.give_up(await find_attach_line(opened.question, opened.tmux))

    async def _ask_client(self, opened: OpenQuestion, elicit: Elicit) -> None:
        from muxpilot.people.elicitation_way import ask_through_client

        await ask_through_client(opened, elicit, shortest_s=self.timing.shortest_answer_s)

    async def _show_popup(self, opened: OpenQuestion) -> None:
        if self._popups is not None and self._socket is not None and self._socket.path is not None:
            await self._popups.show(opened, self._socket.path)

    async def _wait_for_page(self, opened: OpenQuestion) -> None:
        """Wait until the question is answered on a view page, while there is one."""
        from muxpilot.people.pages import find_page

        while (page := await find_page(opened.question.socket)) is not None:
            opened.note_asked(f"view page at {page}")
            opened.change_phase(QuestionEvent.SHOW, way=VIEW)
            await asyncio.sleep(self.timing.page_check_s)
        opened.change_phase(QuestionEvent.HIDE, way=VIEW)

    async def _open_socket(self) -> None:
        """Listen for answers. Without a private folder, only the client's way is left."""
        async with self._starting:
            if self._socket is not None:
                return
            from muxpilot.people.answering_process import is_tmux_job, runs_in_agent_pane, runs_in_popup
            from muxpilot.people.popup import PopupWay
            from muxpilot.people.question_socket import QuestionSocket

            self._popups = self._popups or PopupWay(self.timing)
            made = QuestionSocket(
                self._open, self._popups.sessions, runs_in_agent_pane, is_tmux_job, runs_in_popup
            )
            try:
                await made.start()
            except (OSError, MuxpilotError) as error:
                _trace.warning("no private socket for questions: only the client can ask", error=error)
                return
            self._socket = made

    async def _close_socket(self) -> None:
        if self._socket is not None:
            closing, self._socket = self._socket, None
            await closing.close()
