"""Tools that put questions to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from muxpilot.errors import BadInput
from muxpilot.people.questions import Question
from muxpilot.people.shown_text import show_line
from muxpilot.records import record
from muxpilot.tmux import PaneId
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.spec import DEADLINE_S, STARRED, Effect, tool
from muxpilot.tools.context import Context

_LONGEST_S = 24 * 3600
_LONGEST_QUESTION, _MOST_CHOICES = 4000, 20


@record
class PersonReply:
    answered: bool
    how: str
    answer: str | None


def _deadline(arguments: Mapping[str, Any]) -> float:
    return DEADLINE_S + float(arguments["timeout_seconds"])


@tool(Effect.CHANGE, STARRED, "display", types_if="secret", is_shown_beside_pane=True, deadline_s=_deadline)
async def ask_person(
    ctx: Context,
    question: Annotated[str, "The text as the person reads it", ArgumentFlag.EVIDENT],
    pane_id: Annotated[PaneId | None, "What it is about", ArgumentFlag.EVIDENT] = None,
    secret: Annotated[bool, "Type the answer into the pane"] = False,
    choices: Annotated[list[str] | None, "The possible answers", ArgumentFlag.EVIDENT] = None,
    timeout_seconds: Annotated[float, "How long to wait", Between(0, _LONGEST_S), ArgumentFlag.EVIDENT] = 300,
) -> PersonReply:
    """Ask a person, also for a password that a pane waits for (secret), which you never see."""
    _check(question, choices, pane_id, is_secret=secret)
    if pane_id is not None:
        await ctx.tmux.panes.get(pane_id)  # raises NotFound
    people, enter_secret = ctx.services.people, None
    if secret:
        assert pane_id is not None
        from muxpilot.people.secret_entry import prepare_entry  # few calls need it

        enter_secret = await prepare_entry(ctx.tmux, pane_id, ctx.services.locks, people.timing)
    asked = Question(
        question,
        ctx.caller.client or "muxpilot",
        ctx.services.workspaces.name,
        "it needs a secret for the pane" if secret else "an agent wants to know",
        tuple(choices or ()),
        is_secret=secret,
        socket=ctx.tmux.socket,
        pane=pane_id or "",
        timeout_s=timeout_seconds,
    )
    request = ctx.request
    reply = await people.ask(
        asked,
        ctx.tmux,
        elicit=ctx.caller.ask_person,
        enter_secret=enter_secret,
        on_cancel=request.note_asked if request is not None else None,
    )
    if request is not None:
        request.note_asked(reply.asked)
        request.settled_by, request.settled_how = reply.by, reply.how
    return PersonReply(reply.answered, reply.how, reply.answer)


def _check(question: str, choices: list[str] | None, pane: PaneId | None, *, is_secret: bool) -> None:
    """Raise BadInput for a question that cannot be asked."""
    if not question.strip() or len(question) > _LONGEST_QUESTION:
        raise BadInput(
            f"The argument 'question' must have 1 to {_LONGEST_QUESTION} characters.", argument="question"
        )
    given = choices or []
    is_good = len(given) <= _MOST_CHOICES and all(choice.strip() for choice in given)
    shown = {show_line(choice.strip().casefold(), _LONGEST_QUESTION) for choice in given}
    if not is_good or len(shown) < len(given):
        raise BadInput(
            f"The argument 'choices' must hold up to {_MOST_CHOICES} different texts.", argument="choices"
        )
    if is_secret and pane is None:
        raise BadInput("A secret needs the argument 'paneId'.", "Say which pane waits for it.")
    if is_secret and given:
        raise BadInput("A secret cannot have choices.", "Leave out 'choices'.", argument="choices")


TOOLS = (ask_person,)
