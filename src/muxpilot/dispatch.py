"""One call, from its name to its answer. Every tool call and every read of a resource goes this way.

name -> open? -> arguments -> server -> targets to ids -> verdict -> run under a deadline -> answer -> record
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from muxpilot.call_log import call_trace, log_end, log_targets, names_given
from muxpilot.call_progress import report_while_running
from muxpilot.calls import (
    AskForApproval,
    CallAudit,
    Caller,
    CallPolicy,
    CallRecord,
    CallRequest,
    ContextFactory,
    NoAudit,
    NoPolicy,
    UnknownTool,
    advise_unknown,
    report_incident,
)
from muxpilot.config.scope import Scope
from muxpilot.errors import ApprovalNeeded, BadInput, Denied, MuxpilotError, NotAnswering, NotFound
from muxpilot.people.typing_check import check_typing
from muxpilot.protocol.elicitation import InputRequired
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.connection.connection import without_policy_filter
from muxpilot.tmux.pane_locks import PaneLocks, PaneUse
from muxpilot.tmux.servers import TmuxServers
from muxpilot.toolkit.answers import Answer, to_answer
from muxpilot.toolkit.arguments import parse_arguments
from muxpilot.toolkit.listing import list_briefly
from muxpilot.toolkit.sanitize import sanitize_answer
from muxpilot.toolkit.spec import DEADLINE_S, Effect, Tool
from muxpilot.trace import Trace, area
from muxpilot.workspace import UnopenedPane, Workspaces

if TYPE_CHECKING:
    from muxpilot.toolkit.redact import ValueRedactor

_trace = area("calls")
_NOTHING = nullcontext()

# Characters of an answer that are searched for secrets on the event loop: a few milliseconds.
_REDACTED_AT_ONCE = 1 << 16

PauseDeadline = Callable[[], AbstractContextManager[None]]


class Dispatch:
    """Runs calls of tools and reads of resources."""

    def __init__(
        self,
        tools: Sequence[Tool],
        scope: Scope,
        servers: TmuxServers,
        make_context: ContextFactory,
        *,
        locks: PaneLocks,
        workspaces: Workspaces,
        has_channel: bool = False,
        policy: CallPolicy | None = None,
        audit: CallAudit | None = None,
        redactor: ValueRedactor | None = None,
        ask_for_approval: AskForApproval | None = None,
    ) -> None:
        self._ask_for_approval = ask_for_approval
        self._tools = {tool.exposed_name: tool for tool in tools}
        self._scope = scope
        self._policy = policy or NoPolicy()
        self._audit = audit or NoAudit()
        self._redactor = redactor
        self._in_scope = {
            tool.exposed_name: tool
            for tool in tools
            if scope in tool.scopes or (has_channel and tool.with_channel)
        }
        is_closed = self._policy.is_tool_closed
        self.offered = {name: tool for name, tool in self._in_scope.items() if tool.is_open(is_closed)}
        self._servers = servers
        self._make_context = make_context
        self._locks = locks
        self._workspaces = workspaces
        self._order = asyncio.Lock()
        self._numbers = itertools.count(1)

    def list_tools(self) -> list[dict[str, Any]]:
        """Return the tools as tools/list shows them; the scope for agents is listed briefly."""
        if self._scope is not Scope.AGENTIC:
            return [tool.listing for tool in self.offered.values()]
        return list_briefly(tuple(self.offered.values()))

    async def call(self, name: str, raw: Mapping[str, Any], caller: Caller | None = None) -> Answer:
        """Run a tool. Return an answer for each failure that a caller can correct.

        Raise UnknownTool for a name that is not offered, InputRequired for a question that the client must
        answer first, and nothing else.
        """
        found = self._in_scope.get(name)
        tool = found.select_variant(raw) if found is not None else None
        record = CallRecord(tool.logged_name if tool is not None else name, raw)
        return await self._answer_and_record(record, tool, caller or Caller())

    async def read(
        self, name: str, raw: Mapping[str, Any], uri: str | None = None, caller: Caller | None = None
    ) -> Answer:
        """Run the tool that reads a resource. It need not be offered as a tool."""
        record = CallRecord(name, raw, uri)
        return await self._answer_and_record(record, self._tools[name], caller or Caller())

    async def check_read(self, name: str, raw: Mapping[str, Any]) -> None:
        """Raise the error that would refuse a read. Read nothing."""
        tool = self._tools[name].select_variant(raw)
        await self._resolve_and_check(tool, self._parse(tool, raw))

    async def dry_run(self, name: str, raw: Mapping[str, Any]) -> tuple[CallRequest, Sequence[MuxpilotError]]:
        """Resolve and check a call without running it. Return the errors that its tool would raise.

        Raise Denied if the policy refuses the call.
        """
        tool = self._tools[name].select_variant(raw)
        request = await self._resolve_and_check(tool, self._parse(tool, raw))
        if tool.dry_run is None:
            return request, ()
        return request, await tool.dry_run(self._context(request, Caller()), **request.arguments)

    async def resolve_pane(self, tmux: Tmux, target: str) -> PaneId:
        """Return the pane that an id, a name or a target means. It is not opened."""
        found = await self._workspaces.resolve_pane(tmux, target)
        assert isinstance(found, PaneId)
        return found

    def native_name(self, name: str, raw: Mapping[str, Any]) -> str:
        """Return the name by which the policy knows the tool of a call."""
        tool = self._in_scope.get(name)
        return tool.select_variant(raw).name if tool is not None else name

    def record_unknown_resource(self, uri: str) -> None:
        """Record a read of an address that no resource has."""
        self._audit.write(CallRecord("resource", uri=uri, outcome="unknown"))

    def record_own_act(self, name: str, raw: Mapping[str, Any], reason: str) -> None:
        """Record what muxpilot did by itself, as the call that would have done it."""
        answer = Answer(reason, audit_fields={"cause": reason})
        self._audit.write(CallRecord(name, raw, answer=answer))

    def is_tool_open(self, name: str) -> bool:
        return not self._policy.is_tool_closed(name)

    async def may_read(self, name: str, **raw: Any) -> bool:
        """Return whether the policy allows a read. Costs nothing where no rule restricts targets."""
        if not self._policy.restricts_targets:
            return True
        try:
            await self.check_read(name, raw)
        except (Denied, NotFound):
            return False
        return True

    async def may_reach(self, name: str, tmux: Tmux, pane: PaneId) -> bool:
        """Return whether the policy lets a tool reach a pane of a server."""
        if not self._policy.restricts_targets:
            return True
        tool = self._tools[name]
        try:
            self._policy.check_server(tool, tmux)
            await self._policy.check_call(tool, tmux, {"pane_id": pane})
        except (Denied, NotFound):
            return False
        return True

    async def may_call(self, name: str, *, may_ask: bool = False, **raw: Any) -> bool:
        """Return whether the policy allows a call, with what it types.

        With `may_ask`, also a call that a person would have to allow first.
        """
        try:
            await self.check_read(name, raw)
        except ApprovalNeeded:
            return may_ask
        except (Denied, NotFound):
            return False
        return True

    async def _answer_and_record(self, record: CallRecord, tool: Tool | None, caller: Caller) -> Answer:
        record.number = next(self._numbers)
        trace = call_trace(record)
        if trace.is_debug:
            trace.debug("call begins", arguments=names_given(tool, record.raw))
        try:
            record.answer = await self._redact(await self._answer(record, tool, caller, trace), tool)
            return record.answer
        finally:
            record.seconds = time.monotonic() - record.started_at
            if trace.is_debug:
                log_end(trace, record)
            self._audit.write(record)

    async def _redact(self, answer: Answer, tool: Tool | None) -> Answer:
        """Take secrets out of an answer, where the configuration says so; in a thread if it is long."""
        if self._redactor is None:
            return answer
        from muxpilot.toolkit.redact import redact_answer  # most configurations do without

        is_screen = tool is not None and tool.group == "capture"
        work = functools.partial(redact_answer, answer, self._redactor, is_screen=is_screen)
        return work() if len(answer.text) < _REDACTED_AT_ONCE else await asyncio.to_thread(work)

    async def _answer(self, record: CallRecord, tool: Tool | None, caller: Caller, trace: Trace) -> Answer:
        if tool is None:
            record.outcome = "unknown"
            raise UnknownTool(advise_unknown(record.name[:100], self._tools, self.offered))
        deadline_s = DEADLINE_S
        try:
            arguments = self._parse(tool, record.raw)
            deadline_s = tool.deadline(arguments)
            reports_itself = tool.reports_progress
            with _NOTHING if reports_itself else report_while_running(tool.exposed_name, caller, deadline_s):
                async with (
                    asyncio.timeout(deadline_s) as deadline,
                    self._order if tool.in_order else _NOTHING,
                ):
                    pause = functools.partial(_pause_deadline, deadline, deadline_s)
                    return await self._run(record, tool, arguments, caller, trace, pause)
        except asyncio.CancelledError:
            record.outcome = "cancelled"
            raise
        except InputRequired:
            record.outcome = "input-required"
            raise
        except TimeoutError:
            trace.debug("deadline passed", deadline_s=deadline_s)
            error = NotAnswering(f"{tool.exposed_name} did not finish within {deadline_s:g} s.")
            return _fail(record, tool, error)
        except MuxpilotError as error:
            return _fail(record, tool, error)
        except Exception:  # noqa: BLE001 - a bug in muxpilot must not end the server
            record.outcome = "incident"
            return Answer(report_incident(record.name), error=record.outcome)

    async def _run(
        self,
        record: CallRecord,
        tool: Tool,
        arguments: dict[str, Any],
        caller: Caller,
        trace: Trace,
        pause_deadline: PauseDeadline,
    ) -> Answer:
        request = await self._resolve(tool, arguments)
        request.number = record.number
        if trace.is_debug:
            log_targets(trace, request)
        try:
            await self._judge(record, request, trace)
        except ApprovalNeeded as needed:
            with pause_deadline():  # a person takes longer than a call may
                await self._approve(needed, record, request, caller)
            await self._judge(record, request, trace)  # again: much may have changed meanwhile
        if await self._open_pane(request):
            await self._judge(record, request, trace)  # again, now that the pane has an id
        # No await between the end of the lock and the tool: the call keeps its place in the pane's queue.
        answer = to_answer(await tool.run(self._context(request, caller), **request.arguments))
        if not tool.shows_pane_text:
            return answer
        return sanitize_answer(answer, colors=bool(request.arguments.get("colors")))

    async def _approve(
        self, needed: ApprovalNeeded, record: CallRecord, request: CallRequest, caller: Caller
    ) -> None:
        """Let a person decide about the call. Raise Denied if they do not allow it."""
        if self._ask_for_approval is None:
            raise needed
        record.approval = await self._ask_for_approval(needed, request, caller, record.raw)
        if record.approval.refusal is not None:
            raise record.approval.refusal
        request.approved = needed.texts

    async def _judge(self, record: CallRecord, request: CallRequest, trace: Trace) -> None:
        """Let the policy check the call, and the audit note what can be seen only before it."""
        async with self._judge_in_order(request):
            record.request = request
            await self._check(record, request, trace)
            await _refuse_while_person_answers(request.tool, request.tmux, request.arguments)
            await self._audit.inspect_before_call(record)

    async def _open_pane(self, request: CallRequest) -> bool:
        """Open the named pane of a call that is allowed. Return False if there is none to open."""
        planned = request.arguments.get("pane_id")
        if not isinstance(planned, UnopenedPane):
            return False
        await self._refuse_bad_call(request)
        given = {name: request.arguments.get(name) for name in ("cwd", "env")}
        request.opened = await self._workspaces.open(request.tmux, planned.name, **given)
        request.arguments["pane_id"] = request.opened.id
        return True

    async def _refuse_bad_call(self, request: CallRequest) -> None:
        """Raise the error that the tool would raise, so that a call that cannot work opens no pane."""
        if request.tool.dry_run is not None:
            for error in await request.tool.dry_run(self._context(request, Caller()), **request.arguments):
                raise error

    async def _check(self, record: CallRecord, request: CallRequest, trace: Trace) -> None:
        try:
            await self._policy.check_call(
                request.tool, request.tmux, request.arguments, approved=request.approved
            )
        except MuxpilotError:
            await self._audit.inspect_before_call(record)  # a refused text may be a secret too
            raise
        trace.debug("call allowed")

    def _context(self, request: CallRequest, caller: Caller) -> Any:
        return self._make_context(request, caller, functools.partial(self._check_part, request))

    def _parse(self, tool: Tool, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments by their Python names. A closed tool is refused first."""
        self._policy.check_tool_open(tool)
        return parse_arguments(tool.arguments, raw, tool.spellings)

    async def _resolve_and_check(self, tool: Tool, arguments: dict[str, Any]) -> CallRequest:
        request = await self._resolve(tool, arguments)
        await self._policy.check_call(tool, request.tmux, request.arguments)
        return request

    async def _resolve(self, tool: Tool, arguments: dict[str, Any]) -> CallRequest:
        """Find the server and the ids of all targets."""
        socket = arguments.pop("socket", None)
        tmux = self._servers.get(socket)
        self._policy.check_server(tool, tmux)
        with without_policy_filter() if tmux.connection.hides_records else _NOTHING:
            resolved = await tool.resolve_targets(tmux, arguments, self._workspaces)
        return CallRequest(tool, tmux, resolved, names_server=socket is not None)

    async def _check_part(self, request: CallRequest, tmux: Tmux, arguments: Mapping[str, Any]) -> None:
        """Check a part of a call. A part that is denied gets a record of its own."""
        tool = request.tool
        try:
            self._policy.check_server(tool, tmux)
            await self._policy.check_call(tool, tmux, arguments, approved=request.approved)
            await _refuse_while_person_answers(tool, tmux, arguments)
        except Denied as error:
            given = {row.wire_name: arguments[row.name] for row in tool.arguments if row.name in arguments}
            pane = {"paneId": arguments["pane_id"]} if "pane_id" in arguments else {}
            record = CallRecord(tool.logged_name, {"socket": tmux.socket, **pane, **given})
            record.answer = _fail(record, tool, error)
            self._audit.write(record)
            raise

    def _judge_in_order(self, request: CallRequest) -> AbstractAsyncContextManager[None]:
        """Hold a pane while policy judges what is typed there: a short text must not overtake a long one."""
        pane = request.arguments.get("pane_id")
        if request.tool.effect is not Effect.TYPE or not isinstance(pane, PaneId):
            return _NOTHING
        return self._locks.hold(request.tmux, pane, PaneUse.JUDGE, holder=f"call-{request.number}")


async def _refuse_while_person_answers(tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> None:
    """Raise Refused if the call would type where a person answers a question."""
    pane = arguments.get("pane_id")
    if tool.effect is Effect.TYPE and isinstance(pane, PaneId):
        await check_typing(tmux, pane)


@contextmanager
def _pause_deadline(deadline: asyncio.Timeout, seconds: float) -> Iterator[None]:
    """Let the deadline of a call not count while a person is asked, and begin again after that."""
    deadline.reschedule(None)
    yield
    deadline.reschedule(asyncio.get_running_loop().time() + seconds)


def _fail(record: CallRecord, tool: Tool, error: MuxpilotError) -> Answer:
    record.outcome = error.code
    if isinstance(error, BadInput):
        record.bad_argument = error.argument
    if _trace.is_debug and isinstance(error, Denied):
        call_trace(record).debug("call denied", rule=error.key)
    return Answer(tool.error_text(error), error=error.code)
