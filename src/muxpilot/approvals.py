"""Approvals: put a call to a person before it is done, and remember what they allowed for a session."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from muxpilot.calls import Approval, Caller, CallRequest
from muxpilot.errors import ApprovalNeeded, Denied
from muxpilot.people.people import People
from muxpilot.people.questions import Question, Reply
from muxpilot.tmux import PaneId
from muxpilot.trace import area

ALLOW_ONCE, ALLOW_FOR_SESSION, DENY = CHOICES = ("allow once", "allow for this session", "deny")

_LONGEST_VALUE = 2000
_trace = area("people")


class Approvals:
    """Asks people whether calls may be done. A call is allowed again only if it is exactly the same."""

    def __init__(self, people: People, workspace: str, *, timeout_s: float) -> None:
        self._people = people
        self._workspace = workspace
        self._timeout_s = timeout_s
        # For each session of a client: the calls, and the person who allowed them.
        self._allowed: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()

    async def ask(
        self, needed: ApprovalNeeded, request: CallRequest, caller: Caller, raw: Mapping[str, Any]
    ) -> Approval:
        """Return what a person said. `raw` are the arguments as the client gave them."""
        exact = _describe_exactly(request, needed)
        allowed = self._allowed.get(caller.session, {}) if caller.session is not None else {}
        if exact in allowed:
            return Approval(needed.key, "", ALLOW_FOR_SESSION, by=allowed[exact])
        choices = CHOICES if caller.session is not None else (ALLOW_ONCE, DENY)
        question = Question(
            describe_call(request, raw),
            caller.client or "muxpilot",
            self._workspace,
            f"a call must be allowed ({needed.key}: {needed.why})",
            choices,
            socket=request.tmux.socket,
            pane=_find_pane(request),
            timeout_s=self._timeout_s,
        )
        reply = await self._people.ask(
            question, request.tmux, elicit=caller.ask_person, on_cancel=request.note_asked
        )
        _trace.debug("approval answered", tool=request.tool.name, how=reply.how, answer=reply.answer)
        if reply.answer not in (ALLOW_ONCE, ALLOW_FOR_SESSION):
            said = reply.answer or "no answer"
            refusal = _refusal(needed, request, reply)
            return Approval(needed.key, reply.how, said, refusal, reply.asked, reply.by)
        if reply.answer == ALLOW_FOR_SESSION and caller.session is not None:
            self._allowed.setdefault(caller.session, {})[exact] = reply.by
        return Approval(needed.key, reply.how, reply.answer, asked=reply.asked, by=reply.by)


def describe_call(request: CallRequest, raw: Mapping[str, Any]) -> str:
    """Return the call as a person reads it: the tool, and its arguments with the ids that they mean."""
    lines = [f"Allow {request.tool.name}?"]
    for argument in request.tool.arguments:
        given = raw.get(argument.wire_name, raw.get(argument.name))
        if given is None or given == argument.default:
            continue
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        found = request.arguments.get(argument.name)
        if argument.type.target is not None and isinstance(found, str) and found != text:
            text = f"{text} ({found})"
        if len(text) > _LONGEST_VALUE:
            text = f"{text[:_LONGEST_VALUE]} … and {len(text) - _LONGEST_VALUE} more characters"
        lines.append(f"{argument.wire_name}: {text}")
    return "\n".join(lines)


def _describe_exactly(request: CallRequest, needed: ApprovalNeeded) -> str:
    """Return a text that is the same only for the same call: tool, server, arguments, and the line it enters.

    Other calls may have typed that line.
    """
    return repr((request.tool.name, request.tmux.socket, sorted(request.arguments.items()), needed.texts))


def _find_pane(request: CallRequest) -> str:
    pane = request.arguments.get("pane_id")
    return pane if isinstance(pane, PaneId) else ""


def _refusal(needed: ApprovalNeeded, request: CallRequest, reply: Reply) -> Denied:
    """Return the error for a call that no person has allowed. Where no person was reached, it says how."""
    tool = request.tool.name
    if reply.answered:
        return Denied(tool, needed.key, f"a person said no ({reply.how})")
    if reply.how.partition(" ")[0].endswith(":"):  # the way that was used, and what happened
        error = Denied(tool, needed.key, f"a person must allow it ({reply.how})")
        if not reply.by:  # the time was over before a person decided
            error.hint = "Call again when a person is there to answer."
        return error
    error = Denied(tool, needed.key, "a person must allow it, and none could be asked")
    error.hint = f"Let a person attach with: {reply.how} (or start muxpilot view), and call again."
    return error
