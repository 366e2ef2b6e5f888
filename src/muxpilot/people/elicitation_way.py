"""The client's way: it shows a form, or for a secret it asks the person to open the view page.

A secret is never asked for in a form, because the client would see it. The address of the view page holds no
right to answer: the person enters a code there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import blake2b
from typing import Any

from muxpilot.errors import MuxpilotError, Unavailable
from muxpilot.people.asked_people import describe_mcp_client
from muxpilot.people.open_question import OpenQuestion
from muxpilot.people.pages import find_page
from muxpilot.people.questions import Question, QuestionEvent
from muxpilot.people.shown_text import show_line, show_lines
from muxpilot.protocol.elicitation import Elicitation, PersonAnswer
from muxpilot.trace import area

WAY = "elicitation"
_FIELD = "answer"
_LONGEST_CHOICE = 4000

_trace = area("people")

# Puts a question to the person who uses the client. Raises Unavailable if the client cannot ask, and
# InputRequired where the client shall repeat its call with the answer.
Elicit = Callable[[Elicitation], Awaitable[PersonAnswer]]


async def ask_through_client(opened: OpenQuestion, elicit: Elicit, *, shortest_s: float) -> None:
    """Let the client ask, and settle the question with the answer. Return if the client cannot ask.

    A client that declines within less than `shortest_s`, or accepts a form without an answer, has shown
    nothing to a person.
    """
    question = opened.question
    page = await find_page(question.socket) if question.is_secret else None
    if question.is_secret and page is None:
        _trace.debug("client is not asked: a secret needs a view page", question=question.id)
        return
    person = describe_mcp_client(question.asker)
    opened.change_phase(QuestionEvent.SHOW, way=WAY)
    opened.note_asked(person)
    try:
        given = await elicit(make_elicitation(question, page))
    except MuxpilotError as error:
        _note_not_asked(opened, person)
        if isinstance(error, Unavailable):
            _trace.debug("client cannot ask", question=question.id)
            return
        raise
    answer = _find_answer(question, given)
    is_quick = given.action != "accept" and given.seconds is not None and given.seconds < shortest_s
    if is_quick or (given.action == "accept" and answer is None):
        _trace.debug("client answered by itself", question=question.id, seconds=given.seconds)
        _note_not_asked(opened, person)
    elif answer is None:
        opened.decline(WAY, by=person)
    elif question.is_secret:
        await opened.wait()  # the person has agreed to open the page, and answers there
    elif await opened.take_answer(answer, WAY, by=person) and not opened.is_settled:
        # The client did not check its own form.
        opened.decline(WAY, by=person, why="the answer is not one of the choices")


def _note_not_asked(opened: OpenQuestion, person: str) -> None:
    """Note that the client has shown nothing to its person."""
    opened.forget_asked(person)
    opened.change_phase(QuestionEvent.HIDE, way=WAY)


def make_elicitation(question: Question, page: str | None) -> Elicitation:
    """Return the question for the client. Its key is the same when the client repeats its call."""
    parts = (question.text, *question.choices, question.pane, question.reason, str(question.is_secret))
    digest = blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()
    key = f"ask-{digest}"
    message = describe_in_text(question)
    return Elicitation(key, message, None if page else _form(question), page)


def describe_in_text(question: Question) -> str:
    """Return the question with who asks and why, without control characters."""
    about = f", about pane {question.pane}" if question.pane else ""
    asker, workspace = show_line(question.asker, 60), show_line(question.workspace, 60)
    head = f"{asker} (workspace {workspace}) asks{about}: {show_line(question.reason, 400)}"
    return "\n".join((head, "", *show_lines(question.text)))


def _form(question: Question) -> dict[str, Any]:
    field: dict[str, Any] = {"type": "string", "title": "Answer"}
    if question.choices:
        field["enum"] = _show_choices(question)
    return {"type": "object", "properties": {_FIELD: field}, "required": [_FIELD]}


def _show_choices(question: Question) -> list[str]:
    """Return the choices as the client shows them: a client may print them to a terminal."""
    return [show_line(choice, _LONGEST_CHOICE) for choice in question.choices]


def _find_answer(question: Question, given: PersonAnswer) -> str | None:
    """Return what the person entered, an empty text for a secret, or None if there is no answer."""
    if given.action != "accept":
        return None
    if question.is_secret:
        return ""
    value = given.content.get(_FIELD)
    if not isinstance(value, str | int | float):
        return None
    answer, shown = str(value), _show_choices(question)
    return question.choices[shown.index(answer)] if answer in shown else answer
