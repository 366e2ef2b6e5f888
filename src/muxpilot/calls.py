"""The types of a call: its request, its caller, its record, and the interfaces of policy and audit.

Dispatch, policy and audit share these types, so that none of them imports another.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import field
from typing import Any, Protocol

from muxpilot.errors import ApprovalNeeded, Denied
from muxpilot.protocol.elicitation import Elicitation, PersonAnswer
from muxpilot.records import mutable_record, record
from muxpilot.tmux import Tmux
from muxpilot.toolkit.answers import Answer
from muxpilot.toolkit.spec import Tool
from muxpilot.trace import area
from muxpilot.workspace import OpenedPane

Progress = Callable[[float, float | None, str], Coroutine[Any, Any, None]]

# Gets the result of a watch (`watch.result.WatchResult`) and the exit code of a program that has ended.
OnWatchEnd = Callable[[Any, int | None], Awaitable[None]]

# Puts a question to the person who uses the client. Raises Unavailable if the client cannot ask, and
# InputRequired where the client shall repeat its call with the answer.
AskPerson = Callable[[Elicitation], Awaitable[PersonAnswer]]

# For a tool that acts on servers or panes which its arguments do not name as targets: raises Denied for one.
CheckPart = Callable[[Tmux, Mapping[str, Any]], Coroutine[Any, Any, None]]


_trace = area("calls")


class UnknownTool(Exception):
    """Raised with a name that no offered tool has, and what to do. It is an error of the protocol."""


def advise_unknown(name: str, tools: Mapping[str, Tool], offered: Iterable[str]) -> str:
    """Return a name that is not offered, with what to do: another scope, a near name, or the list."""
    if name in tools and tools[name].scopes:
        return f"{name}. Start muxpilot with --scope all to have it."
    import difflib  # most clients call what there is

    near = difflib.get_close_matches(name, offered, 1)
    return f"{name}. " + (
        f"Did you mean {near[0]}?" if near else "Use tools/list to see the tools there are."
    )


def report_incident(where: str) -> str:
    """Log the exception that is being handled, which is a bug in muxpilot. Return the text for the client."""
    number = secrets.token_hex(4)
    _trace.error("incident", incident=number, where=where, error=sys.exception())
    return f"{where} failed because of a bug in muxpilot (incident {number}); see its log on stderr."


async def no_progress(progress: float, total: float | None, message: str) -> None:
    """Ignore progress: the caller did not ask for it."""


def watch_not_owned(watch: str) -> None:
    """Let a watch run until its timeout: we cannot tell when this caller disconnects."""


@record
class Caller:
    """The client that makes a call."""

    progress: Progress = no_progress
    on_watch_end: OnWatchEnd | None = None
    # Gets the id of each watch that ends with the client's connection.
    own_watch: Callable[[str], None] = watch_not_owned
    # None where there is no client that could ask: on the command line.
    ask_person: AskPerson | None = None
    # The client's own name for itself. It is shown to people, and not to be trusted.
    client: str = ""
    # Stands for the client's session: the same object in all its calls. None where each call stands alone.
    session: object | None = None


@record
class Approval:
    """A person's answer about a call that they must allow: by which key they were asked, and how.

    `how` is empty where they had allowed the same call before. `refusal` is set if they did not allow it.
    `asked` are the people who were shown the question, and `by` is the one who answered.
    """

    key: str
    how: str
    said: str
    refusal: Denied | None = None
    asked: tuple[str, ...] = ()
    by: str = ""


class AskForApproval(Protocol):
    """Puts a call to a person, and returns what they said."""

    async def __call__(
        self, needed: ApprovalNeeded, request: CallRequest, caller: Caller, raw: Mapping[str, Any]
    ) -> Approval: ...


@mutable_record
class CallRequest:
    """A call whose tool is known, whose arguments are parsed and whose targets are ids."""

    tool: Tool
    tmux: Tmux
    arguments: dict[str, Any]
    # Whether the call itself says which server it means.
    names_server: bool = False
    # Names the call in the log.
    number: int = 0
    # The texts that would reach shells by a call that a person has allowed; None if no person has.
    approved: tuple[str, ...] | None = None
    # The named pane that was opened for the call, or found by its name meanwhile.
    opened: OpenedPane | None = None
    # The people who were shown the question of a call that asks one, the person who settled it, and by which
    # way, or why there is no answer.
    asked: tuple[str, ...] = ()
    settled_by: str = ""
    settled_how: str = ""

    def note_asked(self, people: tuple[str, ...]) -> None:
        """Remember who was shown the question."""
        self.asked = people


@mutable_record
class CallRecord:
    """The outcome of a call, as the audit log keeps it."""

    name: str
    raw: Mapping[str, Any] = field(default_factory=dict)
    uri: str | None = None
    request: CallRequest | None = None
    outcome: str = "ok"
    # The name of the argument that is invalid, if the call was refused for one.
    bad_argument: str | None = None
    answer: Answer | None = None
    # What a person said, if they were asked to allow the call.
    approval: Approval | None = None
    is_secret: bool = False
    made_by: str | None = None
    seconds: float = 0.0
    started_at: float = field(default_factory=time.monotonic)
    number: int = 0


# Builds what a tool gets as its first argument.
ContextFactory = Callable[[CallRequest, Caller, CheckPart], Any]


class CallPolicy(Protocol):
    """Interface of the policy. Every check raises Denied to refuse."""

    @property
    def restricts_targets(self) -> bool:
        """Say whether some servers, sessions or panes may not be reached."""

    def is_tool_closed(self, name: str) -> bool:
        """Return whether no call of the tool is allowed, so that it is not listed."""

    def check_tool_open(self, tool: Tool) -> None:
        """Check the tool alone, before its arguments are parsed."""

    def check_server(self, tool: Tool, tmux: Tmux) -> None:
        """Check the server, before muxpilot sends it a request."""

    async def check_call(
        self, tool: Tool, tmux: Tmux, arguments: Mapping[str, Any], *, approved: tuple[str, ...] | None = None
    ) -> None:
        """Check the whole call, before it does something. Targets are ids.

        Raise ApprovalNeeded for a call that a person must allow first, and has not (`approved`).
        """


class CallAudit(Protocol):
    """Interface of the audit log."""

    async def inspect_before_call(self, record: CallRecord) -> None:
        """Note what can be seen only before the call runs."""

    def write(self, record: CallRecord) -> None:
        """Write the record of a call that has ended, whatever its outcome."""


class NoPolicy:
    """A policy that allows every call."""

    restricts_targets = False

    def is_tool_closed(self, name: str) -> bool:
        return False

    def check_tool_open(self, tool: Tool) -> None:
        pass

    def check_server(self, tool: Tool, tmux: Tmux) -> None:
        pass

    async def check_call(
        self, tool: Tool, tmux: Tmux, arguments: Mapping[str, Any], *, approved: tuple[str, ...] | None = None
    ) -> None:
        pass


class NoAudit:
    """An audit log that keeps nothing."""

    async def inspect_before_call(self, record: CallRecord) -> None:
        pass

    def write(self, record: CallRecord) -> None:
        pass
