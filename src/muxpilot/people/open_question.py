"""A question while it is open: its phase, the way that shows it, and the answer that settles it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from muxpilot.people.questions import TRANSITIONS, Question, QuestionEvent, QuestionPhase, Reply
from muxpilot.tmux import Tmux
from muxpilot.trace import area

_trace = area("people")

# Enters a secret into the pane. Returns why that was not possible, or an empty text.
EnterSecret = Callable[[str], Awaitable[str]]

CLOSED = "The question is closed."


class OpenQuestion:
    """One question until it is settled. `enter_secret` gets the answer of a question that asks for one."""

    def __init__(self, question: Question, tmux: Tmux, enter_secret: EnterSecret | None = None) -> None:
        self.question = question
        self.tmux = tmux
        self.phase = QuestionPhase.OPEN
        # The tmux client whose terminal shows the popup, while there is one.
        self.popup_client: int | None = None
        # The people who were shown it, and the one who settled it.
        self._asked: list[str] = []
        self._settled_by = ""
        self._enter_secret = enter_secret
        loop = asyncio.get_running_loop()
        self._deadline = loop.time() + question.timeout_s
        self._reply: asyncio.Future[Reply] = loop.create_future()
        self._trace = _trace.child(question=question.id)
        self._trace.debug(
            "question opened",
            is_secret=question.is_secret,
            choices=len(question.choices),
            pane=question.pane,
            length=len(question.text),
            timeout_s=question.timeout_s,
        )

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._deadline - asyncio.get_running_loop().time())

    @property
    def people_asked(self) -> tuple[str, ...]:
        return tuple(self._asked)

    @property
    def is_settled(self) -> bool:
        return self._reply.done()

    async def wait(self) -> Reply:
        """Wait until the question is settled, in whichever way."""
        return await asyncio.shield(self._reply)

    def change_phase(self, event: QuestionEvent, *, way: str = "") -> bool:
        """Apply an event. Return False if it means nothing in this phase."""
        after = TRANSITIONS.get((self.phase, event))
        if after is None:
            self._trace.debug("question event dropped", phase=self.phase.name, by=event.name, way=way)
            return False
        self._trace.debug(
            "question phase changed", before=self.phase.name, after=after.name, by=event.name, way=way
        )
        self.phase = after
        return True

    def note_asked(self, who: str) -> None:
        """Remember a person who is shown the question."""
        if who not in self._asked:
            self._asked.append(who)

    def forget_asked(self, who: str) -> None:
        """Forget a person who was not shown the question after all."""
        self._asked = [each for each in self._asked if each != who]

    async def take_answer(self, text: str, way: str, *, by: str) -> str:
        """Settle the question with what a person (`by`) has entered. Return why it was not taken, or ""."""
        question = self.question
        if problem := self.find_problem(text):
            return problem
        answer = find_choice(question.choices, text) if question.choices else text
        assert answer is not None
        if not self.change_phase(QuestionEvent.TAKE, way=way):
            return CLOSED
        self._settled_by = by
        if not question.is_secret:
            self._settle(QuestionEvent.ENTER, Reply(answered=True, how=way, answer=answer))
            return ""
        problem = await self._enter(answer)
        if problem:
            self._settle(QuestionEvent.FAIL, Reply(answered=False, how=f"{way}: {problem}", answer=None))
        else:
            self._settle(QuestionEvent.ENTER, Reply(answered=True, how=way, answer=None))
        return problem

    def find_problem(self, text: str) -> str:
        """Return why a text cannot be the answer, or an empty text."""
        if self.question.choices and find_choice(self.question.choices, text) is None:
            return "This is not one of the choices."
        return "Nothing was entered." if self.question.is_secret and not text else ""

    async def _enter(self, secret: str) -> str:
        if self._enter_secret is None:
            return "There is no pane to enter it into."
        try:
            return await self._enter_secret(secret)
        except Exception as error:  # noqa: BLE001 - the person is told
            # Not its text, which may quote the secret.
            self._trace.warning("secret could not be entered", kind=type(error).__name__)
            return "It could not be entered into the pane."

    def decline(self, way: str, *, by: str, why: str = "declined") -> None:
        """Settle the question because the person (`by`) says no, or gives no answer that counts."""
        if self.change_phase(QuestionEvent.DECLINE, way=way):
            self._settled_by = by
            self._resolve(Reply(answered=False, how=f"{way}: {why}", answer=None))

    async def expire(self, way: str) -> Reply:
        """Settle the question because its time is over, and return the reply.

        An answer that is being entered at this moment still counts.
        """
        if self.change_phase(QuestionEvent.EXPIRE, way=way):
            seconds = self.question.timeout_s
            self._resolve(Reply(answered=False, how=f"{way}: no answer within {seconds:g} s", answer=None))
        return await self.wait()

    def give_up(self, how: str) -> Reply:
        """Settle the question because no person can be reached, and return the reply."""
        reply = Reply(answered=False, how=how, answer=None)
        self._settle(QuestionEvent.GIVE_UP, reply)
        return self._reply.result() if self._reply.done() else reply

    def withdraw(self) -> None:
        """End the question without a reply: its caller has gone."""
        self.change_phase(QuestionEvent.WITHDRAW)
        if not self._reply.done():
            self._reply.cancel()

    def _settle(self, event: QuestionEvent, reply: Reply) -> None:
        if self.change_phase(event):
            self._resolve(reply)

    def _resolve(self, reply: Reply) -> None:
        if not self._reply.done():
            self._reply.set_result(replace(reply, asked=self.people_asked, by=self._settled_by))


def find_choice(choices: tuple[str, ...], text: str) -> str | None:
    """Return the choice that a person means: by its text, or by its number from 1 on."""
    wanted = text.strip()
    for choice in choices:
        if wanted.casefold() == choice.strip().casefold():
            return choice
    is_number = wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(choices)
    return choices[int(wanted) - 1] if is_number else None
