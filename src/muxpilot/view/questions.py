"""Open questions on the page: list them, and pass on what a person answers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from muxpilot.people.other_processes import (
    Answerer,
    ListedQuestion,
    answer_question,
    decline_question,
    list_open_questions,
)
from muxpilot.people.shown_text import show_line, show_lines
from muxpilot.view.model import ViewModel

WAY = "view"
CLOSED = "The question is closed."
_LONGEST_NAME, _LONGEST_CHOICE = 60, 200


async def list_questions(model: ViewModel) -> list[ListedQuestion]:
    """Return the open questions about the servers that the page may show, those that end first at the top."""
    shown = model.list_sockets()
    found = [row for row in await list_open_questions() if _real_path(row) in shown]
    return sorted(found, key=lambda row: row.seconds_left)


def _real_path(question: ListedQuestion) -> str:
    return os.path.realpath(question.socket)


def question_to_json(question: ListedQuestion) -> dict[str, Any]:
    """Return a question for the page. Its texts are an agent's: what cannot be seen is spelled out."""
    return {
        "id": question.id,
        "asker": show_line(question.asker, _LONGEST_NAME),
        "workspace": show_line(question.workspace, _LONGEST_NAME),
        "reason": show_line(question.reason, _LONGEST_CHOICE),
        "text": "\n".join(show_lines(question.text)),
        "choices": [show_line(choice, _LONGEST_CHOICE) for choice in question.choices],
        "isSecret": question.is_secret,
        "pane": question.pane,
    }


async def settle_question(model: ViewModel, given: Mapping[str, Any], by: Answerer) -> str:
    """Answer or decline a question for a person. Return why that was not taken, or an empty text."""
    questions = {row.id: row for row in await list_questions(model)}
    question = questions.get(str(given.get("id")))
    if question is None:
        return CLOSED
    if given.get("decline") is True:
        return await decline_question(question, by)
    choice, answer = given.get("choice"), given.get("answer")
    if isinstance(choice, int) and 0 <= choice < len(question.choices):
        return await answer_question(question, question.choices[choice], by)
    if isinstance(answer, str) and not question.choices:
        return await answer_question(question, answer, by)
    return "This is not an answer to the question."
