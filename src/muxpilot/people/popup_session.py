"""The conversation with the program in a popup: it shows one question, and sends what the person enters."""

from __future__ import annotations

import asyncio
from typing import Any

from muxpilot.people.json_lines import receive_message, send_message
from muxpilot.people.open_question import OpenQuestion, find_choice
from muxpilot.people.popup_code import WRONG_CODE, CodeCheck
from muxpilot.people.questions import Question
from muxpilot.people.shown_text import show_line, show_lines
from muxpilot.trace import area

WAY = "popup"
_WRONG_CODE = "This is not the code, so your answer is no."

_trace = area("people")


class PopupSession:
    """One popup on the terminal of `person`, whose answer counts when its code was typed.

    `is_shown` is set when its program has connected, `is_gone` when that connection ended.
    """

    def __init__(self, opened: OpenQuestion, person: str, check: CodeCheck | None = None) -> None:
        self.opened = opened
        self.check = check or CodeCheck()
        self._held: str | None = None
        self._person = person
        self.is_shown = asyncio.Event()
        self.is_gone = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pid: int) -> None:
        """Send the question, and take answers until the question is settled or the popup goes."""
        if self.is_shown.is_set():
            return  # a second program with the same key
        self._writer = writer
        self.is_shown.set()
        self.opened.note_asked(self._person)
        _trace.debug("popup is shown", question=self.opened.question.id, pid=pid)
        try:
            await send_message(writer, describe_for_popup(self.opened.question, self.check.code))
            while not self.opened.is_settled and (message := await receive_message(reader)) is not None:
                if (answer := await self.take(message)) is not None:
                    await send_message(writer, answer)
        finally:
            self.is_gone.set()
            _trace.debug("popup has gone", question=self.opened.question.id, pid=pid)

    async def take(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Take a message of the program. Return what to tell it, or None."""
        problem = ""
        if message.get("decline"):
            self.opened.decline(WAY, by=self._person)
        elif isinstance(message.get("answer"), str):
            problem = self.opened.find_problem(message["answer"])
            if not problem and not self.check.is_passed:
                return self._hold(message["answer"])
            problem = problem or await self.opened.take_answer(message["answer"], WAY, by=self._person)
        elif isinstance(message.get("code"), str) and self._held is not None:
            self.check.take(message["code"])
            if self.check.is_failed:
                self.opened.decline(WAY, by=self._person, why=WRONG_CODE)
                problem = _WRONG_CODE
            else:
                problem = await self.opened.take_answer(self._held, WAY, by=self._person)
        return {"problem": show_line(problem), "ends": self.opened.is_settled} if problem else None

    def _hold(self, answer: str) -> dict[str, Any]:
        """Keep the first answer until its code comes. Return what the person confirms with the code."""
        if self._held is None:
            self._held = answer
        question = self.opened.question
        shown = (find_choice(question.choices, self._held) or "") if question.choices else self._held
        return {"confirm": "" if question.is_secret else show_line(shown)}

    def end(self) -> None:
        """Close the connection. The program ends then, and with it the popup."""
        if self._writer is not None:
            self._writer.close()


def describe_for_popup(question: Question, code: str = "") -> dict[str, Any]:
    """Return what the program shows. Every text is safe to print."""
    about = f" about pane {question.pane}" if question.pane else ""
    asker, workspace = show_line(question.asker, 60), show_line(question.workspace, 60)
    return {
        "title": f"{asker} (workspace {workspace}) asks{about}",
        "reason": f"Why: {show_line(question.reason, 400)}",
        "lines": show_lines(question.text),
        "choices": [show_line(choice, 100) for choice in question.choices],
        "secret": question.is_secret,
        "code": code,
    }
