"""The composition root: build an application from settings, for whichever server or command uses it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muxpilot.calls import Approval, AskForApproval, Caller, CallRequest, CheckPart, ContextFactory
from muxpilot.config.environment import variables
from muxpilot.config.model import Settings
from muxpilot.config.pass_environment import PASSED
from muxpilot.config.scope import Scope
from muxpilot.dispatch import Dispatch
from muxpilot.errors import ApprovalNeeded
from muxpilot.idle_sessions import IdleSessions
from muxpilot.jobs.job_registry import JobRegistry
from muxpilot.journal.journals import JournalLimits, Journals
from muxpilot.people.people import People
from muxpilot.policy.judge import PolicyJudge
from muxpilot.policy.model import load_policy
from muxpilot.record.recordings import Recordings
from muxpilot.records import record
from muxpilot.resources import LiveSource, Resources
from muxpilot.shell_table.startup import ShellStart
from muxpilot.shells.command_registry import CommandRegistry
from muxpilot.shells.pane_log import RecordLimits
from muxpilot.timing import Timing
from muxpilot.tmux import PaneId, SessionId, Tmux
from muxpilot.tmux.own_panes import OwnPanes
from muxpilot.tmux.pane_locks import PaneLocks
from muxpilot.tmux.servers import ServerAddress, TmuxServers
from muxpilot.tmux.tmux import make_journals
from muxpilot.tools import COMPLETIONS, RESOURCES, TOOLS
from muxpilot.tools.commands import execute_command, list_commands
from muxpilot.tools.context import Context, Services
from muxpilot.tools.pane_text import capture_pane
from muxpilot.tools.panes import list_panes
from muxpilot.tools.pictures import may_write_recording, record_pane
from muxpilot.tools.resource_readers import CommandSource, WatchSource
from muxpilot.tools.sessions import kill_session
from muxpilot.tools.watches import notify_when, plan_watches_of_others, watch_pane
from muxpilot.watch.limits import WatchLimits
from muxpilot.watch.registry import WatchRegistry
from muxpilot.workspace import WorkspaceIdentity, Workspaces

if TYPE_CHECKING:
    from muxpilot.audit import AuditLog
    from muxpilot.dialects import Dialect
    from muxpilot.redaction.redactor import Redactor

# A server ends within two seconds after its client has left or a signal has come, also while tmux hangs.
_CLOSE_S = 1.8


@record
class App:
    """One muxpilot with all its parts. `close` it in the end."""

    settings: Settings
    servers: TmuxServers
    services: Services
    dispatch: Dispatch
    resources: Resources
    judge: PolicyJudge
    audit: AuditLog | None = None
    dialect: Dialect | None = None
    redactor: Redactor | None = None

    async def start(self) -> None:
        """Prepare for calls. A server does this once, before its first call."""
        if self.dialect is not None:
            await self.dialect.start()
        self.services.idle_sessions.start(self.servers.default)

    async def close_in_time(self) -> None:
        """Close, and leave behind what has not ended after a bounded time."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.close(), _CLOSE_S)

    async def close(self) -> None:
        """Close all parts at the same time: each may have to wait for a tmux that does not answer."""
        if self.dialect is not None:
            await self.dialect.close()
        await self.services.shells.prepare_end()
        await asyncio.gather(self.resources.close(), self.services.close(), self.servers.close())
        if self.servers.journals is not None:
            self.servers.journals.release_owned()
        if self.audit is not None:
            self.audit.close()

    @property
    def listing_closed_by(self) -> str | None:
        """Return the configuration key that forbids listing panes, or None."""
        return self.judge.policy.closing_key(list_panes.name)

    @property
    def text_closed_by(self) -> str | None:
        """Return the configuration key that forbids showing the text of panes, or None."""
        return self.judge.policy.closing_key(capture_pane.name)


def build(settings: Settings, timing: Timing | None = None, *, may_start_journals: bool = True) -> App:
    """Build an application. It connects to a tmux server when a call first needs it.

    Without `may_start_journals` it only looks: it leaves no pipe in the pane of a person.
    """
    own_panes = OwnPanes(variables())
    judge = PolicyJudge(load_policy(settings, TOOLS), own_panes)
    audit = _build_audit(settings)
    redactor = build_redactor(settings)
    servers = _build_servers(settings, judge, may_start_journals=may_start_journals)
    dialect = _build_dialect(settings, servers)
    services = replace(_build_services(settings, servers, own_panes, timing or Timing()), redactor=redactor)
    if redactor is not None:
        services.watches.find_continued = redactor.find_continued
    dispatch = Dispatch(
        (*TOOLS, *(dialect.tools if dialect is not None else ())),
        settings.scope,
        servers,
        _context_factory(services),
        locks=services.locks,
        workspaces=services.workspaces,
        has_channel=settings.channel and dialect is None,
        policy=judge,
        audit=audit,
        redactor=redactor,
        ask_for_approval=_approver(services, settings),
    )
    live: dict[str, LiveSource] = {
        "watchId": WatchSource(services.watches, servers),
        "commandId": CommandSource(services.shells, servers),
    }
    if may_start_journals:
        _allow_taking_over(services, dispatch)
        _allow_ending_idle_sessions(services, dispatch)
    services.shells.policy.may_show = partial(dispatch.may_reach, list_commands.name)
    services.shells.policy.text_closed_by = judge.policy.closing_key(capture_pane.name)
    resources = Resources(dispatch, servers, RESOURCES, live, COMPLETIONS)
    return App(settings, servers, services, dispatch, resources, judge, audit, dialect, redactor)


def _build_services(
    settings: Settings, servers: TmuxServers, own_panes: OwnPanes, timing: Timing
) -> Services:
    locks = PaneLocks()
    is_secured = settings.security.enabled
    # The end of a watch is kept at least until its client can ask for it.
    kept_s = 60.0 * max(1, settings.tracking.completed_retention_minutes)
    jobs = JobRegistry(kept_s=kept_s, timing=timing.jobs)
    return Services(
        servers,
        _build_shells(settings, locks, timing),
        locks,
        _build_workspaces(settings),
        jobs=jobs,
        watches=WatchRegistry(jobs, limits=_watch_limits(settings), timing=timing.watch),
        recordings=Recordings(jobs),
        people=People(timing.people),
        idle_sessions=IdleSessions(timing.idle),
        buffer_paths=settings.security.allowed_buffer_paths if is_secured else ("/",),
        own_panes=own_panes,
        repl_timing=timing.repl,
    )


def _approver(services: Services, settings: Settings) -> AskForApproval:
    """Return the function that puts a call to a person. What it needs is loaded with the first question."""
    made: list[AskForApproval] = []

    async def ask(
        needed: ApprovalNeeded, request: CallRequest, caller: Caller, raw: Mapping[str, Any]
    ) -> Approval:
        """Ask a person whether a call may be done."""
        if not made:
            from muxpilot.approvals import Approvals

            timeout_s = settings.security.ask_timeout_seconds
            made.append(Approvals(services.people, services.workspaces.name, timeout_s=timeout_s).ask)
        return await made[0](needed, request, caller, raw)

    return ask


def _context_factory(services: Services) -> ContextFactory:
    def make_context(request: CallRequest, caller: Caller, check_part: CheckPart) -> Context:
        """Make what a tool gets for a call."""
        services.jobs.note_use(request.tmux)
        services.idle_sessions.note_use(request.tmux)
        return Context(
            request.tmux,
            services,
            caller,
            check_part,
            names_server=request.names_server,
            call=request.number,
            created=request.opened is not None and request.opened.is_new,
            request=request,
        )

    return make_context


def _allow_taking_over(services: Services, dispatch: Dispatch) -> None:
    """Let watches and recordings of other muxpilots be continued here, as far as the policy allows."""

    async def may_watch(tmux: Tmux, pane: PaneId) -> bool:
        """Return whether a client of this muxpilot could have asked for the watch."""
        is_open = dispatch.is_tool_open(notify_when.name)
        return is_open and await dispatch.may_read(watch_pane.name, socket=tmux.socket, paneId=pane)

    async def may_record(tmux: Tmux, pane: PaneId, path: Path) -> bool:
        """Return whether a client of this muxpilot could have asked for the recording."""
        tool = record_pane.name
        is_allowed = dispatch.is_tool_open(tool) and may_write_recording(services, path)
        return is_allowed and await dispatch.may_read(tool, socket=tmux.socket, paneId=pane, action="stop")

    async def may_run(tmux: Tmux, pane: PaneId, text: str) -> bool:
        """Return whether a client of this muxpilot could have asked for the command."""
        tool = execute_command.name
        return dispatch.is_tool_open(tool) and await dispatch.may_call(
            tool, socket=tmux.socket, paneId=pane, command=text
        )

    services.shells.policy.may_run = may_run
    services.jobs.on_open = services.shells.finder.recover
    services.recordings.may_record = may_record
    services.watches.may_watch = may_watch
    services.watches.plan_taken_over = plan_watches_of_others(services)


def _allow_ending_idle_sessions(services: Services, dispatch: Dispatch) -> None:
    """Let sessions be ended that are unused for longer than their limit, as far as the policy allows."""

    async def may_end(tmux: Tmux, session: SessionId) -> bool:
        """Return whether a client of this muxpilot could have killed the session.

        No person is asked: the session is one of ours, its limit was set, and nothing uses it.
        """
        tool = kill_session.name
        return dispatch.is_tool_open(tool) and await dispatch.may_call(
            tool, may_ask=True, socket=tmux.socket, sessionId=session
        )

    def record_end(tmux: Tmux, session: SessionId, name: str, reason: str) -> None:
        """Write into the audit log that muxpilot itself has ended a session."""
        given = {"socket": tmux.socket, "sessionId": session, "sessionName": name}
        dispatch.record_own_act(kill_session.name, given, reason)

    async def set_limit_of_workspace(tmux: Tmux) -> None:
        await services.workspaces.on(tmux).set_idle_limit()

    services.idle_sessions.may_end = may_end
    services.idle_sessions.on_end = record_end
    services.idle_sessions.before_first_look = set_limit_of_workspace


def _build_workspaces(settings: Settings) -> Workspaces:
    try:
        folder = os.getcwd()
    except OSError:  # it was removed
        folder = "/"
    identity = WorkspaceIdentity(settings.workspace_name, folder)
    idle_limit_s = 3600.0 * (settings.workspace.idle_hours or 0)
    return Workspaces(
        identity, has_plain_pagers=settings.workspace.plain_pagers, idle_limit_s=idle_limit_s or None
    )


def _watch_limits(settings: Settings) -> WatchLimits:
    given = settings.watch
    hosts = tuple(host.rstrip(".").lower() for host in given.allowed_hosts)
    return WatchLimits(given.stable_ms, given.timeout_default_ms, given.timeout_max_ms, hosts)


def _build_dialect(settings: Settings, servers: TmuxServers) -> Dialect | None:
    if settings.scope not in (Scope.DEBUG, Scope.CLASSIC):
        return None
    from muxpilot.dialects import dialect_of  # the other scopes need not load it

    return dialect_of(settings.scope, servers)


def _build_shells(settings: Settings, locks: PaneLocks, timing: Timing) -> CommandRegistry:
    keep = settings.tracking
    return CommandRegistry(
        locks.hold_for_typing,
        locks.hold_for_submission,
        output_limit_bytes=keep.output_cap_bytes,
        limits=RecordLimits(
            most=keep.completed_max_entries or sys.maxsize, kept_s=60.0 * keep.completed_retention_minutes
        ),
        has_hint=settings.shell_type != "auto",
        timing=timing.shells,
    )


def _build_audit(settings: Settings) -> AuditLog | None:
    if not settings.audit.path and not settings.audit.full:
        return None
    from muxpilot.audit import AuditLog  # loaded only where a log is kept

    return AuditLog(settings.audit)


def build_redactor(settings: Settings) -> Redactor | None:
    """Return what takes secrets out of answers; None where that is off. Patterns are checked in any case."""
    security = settings.security
    if not security.redact and not security.redact_patterns:
        return None
    from muxpilot.redaction.redactor import load_redactor  # loads RE2

    redactor = load_redactor(settings)
    return redactor if security.redact and security.enabled else None


def build_addresses(settings: Settings) -> dict[str, ServerAddress]:
    """Return the addresses of the servers that the configuration names."""
    return {
        name: ServerAddress(entry.socket, entry.ssh, entry.exec_text)
        for name, entry in settings.servers.items()
    }


def _build_servers(settings: Settings, judge: PolicyJudge, *, may_start_journals: bool) -> TmuxServers:
    return TmuxServers(
        settings.socket,
        addresses=build_addresses(settings),
        ssh=settings.ssh,
        exec_command=settings.exec_command,
        given_by=settings.origin.route_sources(),
        passed_variables=(*PASSED, *settings.security.pass_environment),
        startup=ShellStart,
        row_filter=judge.filter_rows if judge.policy.is_scoped else None,
        is_visible=judge.policy.allows_socket,
        locate_key=settings.origin.locate,
        journals=_build_journals(settings, may_start=may_start_journals),
    )


def _build_journals(settings: Settings, *, may_start: bool) -> Journals | None:
    keep = settings.tracking
    if not keep.journal:
        return None
    kept_s = 60.0 * keep.completed_retention_minutes
    limits = JournalLimits(keep.journal_cap_bytes, keep.journal_total_bytes, kept_s)
    return make_journals(limits, may_start=may_start)
