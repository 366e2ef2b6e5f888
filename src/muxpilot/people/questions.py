"""A question to a person, the reply, and the phases of a question as one table.

A question is open until it is settled. It can be answered in several ways at the same time: in the popup that
shows it, and on the view page, which lists all open questions. The first answer counts. While a secret is
being entered into its pane, no other answer is taken.
"""

from __future__ import annotations

import secrets
from dataclasses import field
from enum import Enum

from muxpilot.records import record


def make_question_id() -> str:
    """Return a new id. It names the question between processes."""
    return f"ask-{secrets.token_hex(8)}"


@record
class Question:
    """One question to a person. `reason` says why it is asked, for its header.

    With `choices` the answer is one of them; otherwise it is any line. `pane` is the pane that the question
    is about, or an empty text, and `socket` its tmux server. What answers a question with `is_secret` is
    entered into that pane, and is not part of the reply.
    """

    text: str
    # The name of the client whose agent asks, and the name of the agent's workspace.
    asker: str
    workspace: str
    reason: str
    choices: tuple[str, ...] = ()
    is_secret: bool = False
    socket: str = ""
    pane: str = ""
    timeout_s: float = 300.0
    id: str = field(default_factory=make_question_id)


@record
class Reply:
    """How a question ended. `how` names the way and, without an answer, what happened.

    Where no person can be reached, `how` is the line that attaches to tmux. `answer` is None for a secret.
    `asked` are the people who were shown the question, and `by` is the one who settled it, for the audit log.
    """

    answered: bool
    how: str
    answer: str | None
    asked: tuple[str, ...] = ()
    by: str = ""


class QuestionPhase(Enum):
    """How far a question is."""

    OPEN = "no person has seen it yet"
    SHOWN = "one way shows it to a person"
    TAKEN = "an answer has come, and is being entered"
    ANSWERED = "it has an answer"
    DECLINED = "a person has said no"
    NOT_ENTERED = "the secret could not be entered"
    EXPIRED = "no answer came in time"
    UNREACHED = "there is no way to a person"
    WITHDRAWN = "the call that asks was cancelled"


class QuestionEvent(Enum):
    """An event in the life of a question."""

    SHOW = "a way shows it"
    HIDE = "the way that showed it has gone"
    TAKE = "a person has answered"
    ENTER = "the answer is used"
    FAIL = "the answer cannot be used"
    DECLINE = "a person says no"
    EXPIRE = "its time is over"
    GIVE_UP = "no way is left"
    WITHDRAW = "the call is cancelled"


_Phase, _Event = QuestionPhase, QuestionEvent

# An event without a row changes nothing: the question is settled, or its answer is being entered.
TRANSITIONS: dict[tuple[QuestionPhase, QuestionEvent], QuestionPhase] = {
    (_Phase.OPEN, _Event.SHOW): _Phase.SHOWN,
    (_Phase.SHOWN, _Event.HIDE): _Phase.OPEN,
    (_Phase.OPEN, _Event.TAKE): _Phase.TAKEN,
    (_Phase.SHOWN, _Event.TAKE): _Phase.TAKEN,
    (_Phase.TAKEN, _Event.ENTER): _Phase.ANSWERED,
    (_Phase.TAKEN, _Event.FAIL): _Phase.NOT_ENTERED,
    (_Phase.OPEN, _Event.DECLINE): _Phase.DECLINED,
    (_Phase.SHOWN, _Event.DECLINE): _Phase.DECLINED,
    (_Phase.OPEN, _Event.EXPIRE): _Phase.EXPIRED,
    (_Phase.SHOWN, _Event.EXPIRE): _Phase.EXPIRED,
    (_Phase.OPEN, _Event.GIVE_UP): _Phase.UNREACHED,
    (_Phase.OPEN, _Event.WITHDRAW): _Phase.WITHDRAWN,
    (_Phase.SHOWN, _Event.WITHDRAW): _Phase.WITHDRAWN,
    (_Phase.TAKEN, _Event.WITHDRAW): _Phase.WITHDRAWN,
}
