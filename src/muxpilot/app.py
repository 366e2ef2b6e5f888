"""The composition root: settings become an application, whatever face it then shows."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from muxpilot.config import Settings
from muxpilot.config.pass_environment import PASSED
from muxpilot.config.scope import Scope
from muxpilot.dispatch import Dispatch
from muxpilot.policy.judge import Judge
from muxpilot.policy.model import load
from muxpilot.records import record
from muxpilot.resources import Resources
from muxpilot.shells.command_registry import Shells
from muxpilot.shells.pane_shell import Exclusive
from muxpilot.tmux import Tmux
from muxpilot.tmux.servers import Named, Servers
from muxpilot.tools import TOOLS
from muxpilot.tools.watching import WITH_CHANNEL
from muxpilot.watch.limits import Limits

if TYPE_CHECKING:
    from muxpilot.audit import Audit
    from muxpilot.dialects import Dialect


@record
class App:
    settings: Settings
    servers: Servers
    dispatch: Dispatch
    resources: Resources
    judge: Judge
    audit: Audit | None = None
    dialect: Dialect | None = None

    async def begin(self) -> None:
        """What a server does once, before its first call."""
        if self.dialect is not None:
            await self.dialect.begin()

    async def close(self) -> None:
        """All at once: each may have to wait for a tmux that does not answer."""
        if self.dialect is not None:
            await self.dialect.close()
        await asyncio.gather(self.resources.close(), self.dispatch.close(), self.servers.close())
        if self.audit is not None:
            self.audit.close()


def build(settings: Settings) -> App:
    judge = Judge(load(settings, TOOLS))
    audit = _audit(settings)
    servers = _servers(settings, judge)
    dialect = _dialect(settings, servers)
    also = WITH_CHANNEL if settings.channel and dialect is None else frozenset()
    paths = settings.security.allowed_buffer_paths if settings.security.enabled else ("/",)
    dispatch = Dispatch(
        (*TOOLS, *(dialect.tools if dialect is not None else ())),
        settings.scope,
        servers,
        also=also,
        judge=judge,
        recorder=audit,
        buffer_paths=paths,
        shells=lambda exclusive: _shells(settings, exclusive),
        limits=_limits(settings),
    )
    return App(settings, servers, dispatch, Resources(dispatch, servers), judge, audit, dialect)


def _limits(settings: Settings) -> Limits:
    given = settings.watch
    hosts = tuple(host.rstrip(".").lower() for host in given.allowed_hosts)
    return Limits(given.stable_ms, given.timeout_default_ms, given.timeout_max_ms, hosts)


def _dialect(settings: Settings, servers: Servers) -> Dialect | None:
    if settings.scope not in (Scope.DEBUG, Scope.CLASSIC):
        return None
    from muxpilot.dialects import dialect_of  # the other scopes do not pay for it

    return dialect_of(settings.scope, servers)


def _shells(settings: Settings, exclusive: Exclusive) -> Shells:
    keep = settings.tracking
    return Shells(
        exclusive,
        cap_bytes=keep.output_cap_bytes,
        kept=keep.completed_max_entries or sys.maxsize,
        kept_s=60.0 * keep.completed_retention_minutes,
        hint=settings.shell_type if settings.shell_type != "auto" else None,
    )


def _audit(settings: Settings) -> Audit | None:
    if not settings.audit.path and not settings.audit.full:
        return None
    from muxpilot.audit import Audit  # few keep a log

    return Audit(settings.audit)


def _servers(settings: Settings, judge: Judge) -> Servers:
    def prepare(tmux: Tmux) -> None:
        if judge.policy.is_scoped:
            tmux.connection.sieve = lambda rows: judge.sieve(tmux, rows)

    return Servers(
        settings.socket,
        named={name: Named(entry.socket, entry.ssh) for name, entry in settings.servers.items()},
        ssh=settings.ssh,
        ssh_given_by=settings.origin.of("ssh.remote"),
        passes=(*PASSED, *settings.security.pass_environment),
        prepare=prepare,
        sees=judge.policy.allows_socket,
        where=settings.origin.of,
    )
