"""Questions to the person who uses the client: a form that the client shows, or a page that it opens.

Until 2025-11-25 a question is a request to the client, which answers it. Since 2026-07-28 the server sends no
requests: a question is a result with `input_required`, and the client repeats its own request together with
the answers. `Elicitation` is the same for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from muxpilot.protocol.messages import Params
from muxpilot.protocol.phases import RequestFacts
from muxpilot.protocol.rpc_errors import INVALID_PARAMS, ProtocolError

METHOD = "elicitation/create"

ACTIONS = ("accept", "decline", "cancel")


class Elicitation(NamedTuple):
    """One question. It has either the fields of a form, as a flat JSON schema, or the address of a page."""

    # Names the answer when the client repeats its request.
    key: str
    message: str
    schema: Mapping[str, Any] | None = None
    url: str | None = None

    @property
    def mode(self) -> str:
        return "form" if self.url is None else "url"


class PersonAnswer(NamedTuple):
    """The act of the person, and the values of the form if they accepted it.

    `seconds` is how long the client took; None if it is not known, because the client repeated its request.
    """

    action: str
    content: Mapping[str, Any]
    seconds: float | None = None


class InputRequired(Exception):
    """Raised to ask the client for answers: its request gets a result that holds the questions."""

    def __init__(self, questions: tuple[Elicitation, ...]) -> None:
        super().__init__("the client is asked for input")
        self.questions = questions

    def to_result(self) -> dict[str, Any]:
        """Return the result that asks for the answers."""
        requests = {
            question.key: {"method": METHOD, "params": to_params(question, has_id=False)}
            for question in self.questions
        }
        return {"resultType": "input_required", "inputRequests": requests}


def can_ask(facts: RequestFacts, mode: str) -> bool:
    """Return whether the client can put a question of this mode to its person.

    Clients of 2025-06-18, and those that declare no mode, can show forms.
    """
    declared = facts.capabilities.get("elicitation")
    if not isinstance(declared, dict) or mode not in facts.revision.elicitation_modes:
        return False
    return mode in declared or (mode == "form" and not declared.keys() & {"form", "url"})


def to_params(question: Elicitation, *, has_id: bool) -> Params:
    """Return the parameters of `elicitation/create`. `has_id`: a page gets an id, until 2025-11-25."""
    if question.url is None:
        return {"mode": "form", "message": question.message, "requestedSchema": dict(question.schema or {})}
    identity = {"elicitationId": question.key} if has_id else {}
    return {"mode": "url", "message": question.message, "url": question.url, **identity}


def find_answer(params: Params, key: str) -> PersonAnswer | None:
    """Return the answer that a repeated request holds for a question, or None for a first request."""
    answers = params.get("inputResponses")
    given = answers.get(key) if isinstance(answers, dict) else None
    return parse_answer(given) if given is not None else None


def parse_answer(result: Any) -> PersonAnswer:
    """Return a client's answer to a question. Raise ProtocolError for one of the wrong shape."""
    action = result.get("action") if isinstance(result, dict) else None
    content = result.get("content") or {} if isinstance(result, dict) else None
    if action not in ACTIONS or not isinstance(content, dict):
        raise ProtocolError(INVALID_PARAMS, "The client's answer to elicitation/create is malformed")
    return PersonAnswer(action, content)
