"""The five tools of scope `debug`, with the schemas of the server that they come from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from muxpilot.config.scope import Scope
from muxpilot.dialects.debug.leftovers import session_name
from muxpilot.dialects.debug.session import DebugPane, DebugSession
from muxpilot.dialects.dialect import DialectTool, dialect_tool
from muxpilot.dialects.keys_or_text import send_keys_or_text, typed_input
from muxpilot.errors import BadInput, NoServer, NotFound, PaneDead
from muxpilot.records import record
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.objects import validate
from muxpilot.tmux.objects.owner import this_owner
from muxpilot.tmux.servers import TmuxServers
from muxpilot.toolkit.answers import Answer
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.spec import Tool
from muxpilot.tools.context import Context

_TARGET = Annotated[str, "Target pane ID"]
_NO_PANES = "No active panes. Use tmux_create_pane to create one."


@record
class _NamedPane:
    """A pane with the name and the command that the caller gave."""

    pane: DebugPane
    name: str
    command: str


def _keys_typed(arguments: Mapping[str, Any]) -> Sequence[str]:
    return typed_input(arguments["keys"])


class DebugDialect:
    """The dialect. It knows its panes by the ids that it gave them."""

    instructions = (
        "Panes for debugging: run servers and tests side by side, type into them, read what they print. "
        "Exited panes stay readable until they are killed; all panes end with this server."
    )

    def __init__(self, servers: TmuxServers) -> None:
        self._servers = servers
        self._panes: dict[str, _NamedPane] = {}
        self._session = DebugSession(self._panes.clear)
        self._count = 0
        self._cleanup: asyncio.Task[None] | None = None
        self.tools: tuple[Tool, ...] = self._table()

    def _table(self) -> tuple[DialectTool, ...]:
        def row(native: str, function: Any, **more: Any) -> DialectTool:
            """Make a tool from a method of this class."""
            name = function.__name__
            named = {"dialect_name": f"tmux_{name}", "log_name": name, "shows_limits": False}
            return dialect_tool(
                Scope.DEBUG, native, function, **{**named, "hidden": frozenset({"given"}), **more}
            )

        hidden = frozenset({"name"})
        return (
            row(
                "create-session",
                self.create_pane,
                wire_names={"label": "name"},
                hidden=hidden,
                resolve=self._add_session_name,
            ),
            row("send-keys", self.send_keys, resolve=self._resolve_pane, typed_input=_keys_typed),
            row("capture-pane", self.capture_pane, resolve=self._resolve_pane),
            row("kill-pane", self.kill_pane, resolve=self._resolve_pane),
            row("list-panes", self.list_panes),
        )

    async def start(self) -> None:
        self._cleanup = asyncio.create_task(self._session.end_leftovers(self._servers.default))

    async def close(self) -> None:
        """End the session with all its panes."""
        try:
            if self._cleanup is not None:
                self._cleanup.cancel()
                await asyncio.wait([self._cleanup])
        finally:
            await self._session.close(self._servers.default)

    async def create_pane(
        self,
        ctx: Context,
        command: Annotated[
            str, "Command to run in the pane (e.g., 'RUST_LOG=debug cargo run')", ArgumentFlag.SHELL
        ],
        name: Annotated[str, "The session"],
        label: Annotated[str | None, "Optional human-readable name for the pane"] = None,
    ) -> Answer:
        """Create a new tmux pane running a command. Use for spawning servers, test runners, or interactive
        shells. Returns a pane ID for subsequent operations."""
        if self._cleanup is not None:
            await asyncio.wait([self._cleanup])
        if not command.strip():
            raise BadInput("The argument 'command' is empty.", "Give a command, such as bash.")
        title = validate.validate_name("name", label) if label else ""
        self._count += 1
        pane_id = f"debug-{self._count}"
        title = title or pane_id

        def on_created(made: DebugPane) -> None:
            self._panes[pane_id] = _NamedPane(made, title, command)

        await self._session.create_pane(ctx.tmux, command, title, on_created)
        return Answer(
            f"Created pane '{title}' (id: {pane_id}) running: {command}", audit_fields={"pane_id": pane_id}
        )

    async def send_keys(
        self,
        ctx: Context,
        pane_id: Annotated[str, "Target pane ID from tmux_create_pane or tmux_list_panes"],
        keys: Annotated[
            str, "Keystrokes to send. Use '^C' for Ctrl-C, 'Enter' for newline.", ArgumentFlag.TYPED
        ],
        given: Annotated[str, "The pane as the caller named it"],
    ) -> str:
        """Send keystrokes to a tmux pane. Use for interactive input, running additional commands, or sending
        signals (e.g., Ctrl-C as '^C')."""
        if not keys:
            raise BadInput("The argument 'keys' is empty.", "Give text, or a key such as Enter or ^C.")
        with self._own_errors(given):
            was_key = await send_keys_or_text(ctx, PaneId(pane_id), keys)
        if not was_key and keys.endswith(" Enter"):
            return (
                f"Sent keys to pane '{given}'. 'Enter' at the end was typed as text; "
                "to press it, send 'Enter' by itself."
            )
        return f"Sent keys to pane '{given}'"

    async def capture_pane(
        self,
        ctx: Context,
        pane_id: _TARGET,
        given: Annotated[str, "The pane as the caller named it"],
        lines: Annotated[
            float, "Number of lines to capture (default: 100, max: 1000)", Between(1, 1000)
        ] = 100,
    ) -> Answer:
        """Capture recent output from a tmux pane. Use to read logs, command output, or error messages. Works
        on both running and exited panes."""
        with self._own_errors(given):
            rows = await ctx.tmux.capture.last_lines(PaneId(pane_id), int(lines))
        return Answer("\n".join(rows), audit_fields={"pane_id": given})

    async def kill_pane(
        self, ctx: Context, pane_id: _TARGET, given: Annotated[str, "The pane as the caller named it"]
    ) -> str:
        """Terminate a tmux pane and its running process. Use for cleanup after debugging."""
        known = self._panes.get(given)
        if known is None:  # another call has killed it
            raise _pane_not_found(given)
        await self._session.kill(ctx.tmux, known.pane)
        self._panes.pop(given, None)
        return f"Killed pane '{given}'"

    async def list_panes(self, ctx: Context) -> str:
        """List all active tmux panes with their IDs, names, status (running/exited), and running commands."""
        rows = {row.id: row for row in await self._session.panes(ctx.tmux)}
        found: list[dict[str, Any]] = []
        for pane_id, known in self._panes.items():
            row = rows.get(known.pane.pane)
            if row is None:
                continue
            entry = {"id": pane_id, "name": known.name, "status": "exited" if row.is_dead else "running"}
            ended = {"exit_code": row.exit_code} if row.is_dead else {}
            found.append({**entry, "command": known.command, **ended})
        return json.dumps(found, indent=2, ensure_ascii=False) if found else _NO_PANES

    async def _add_session_name(self, tmux: Tmux, arguments: dict[str, Any]) -> dict[str, Any]:
        return {**arguments, "name": session_name(this_owner())}

    async def _resolve_pane(self, tmux: Tmux, arguments: dict[str, Any]) -> dict[str, Any]:
        given = str(arguments["pane_id"])
        known = self._panes.get(given)
        if known is None or not await self._session.has(tmux, known.pane.pane):
            self._panes.pop(given, None)
            raise _pane_not_found(given)
        return {**arguments, "pane_id": known.pane.pane, "given": given}

    @contextmanager
    def _own_errors(self, given: str) -> Iterator[None]:
        """Replace errors by those of this scope, with its ids and its tools."""
        try:
            yield
        except (NotFound, NoServer):
            raise _pane_not_found(given) from None
        except PaneDead:
            raise PaneDead(
                f"Pane '{given}' has exited.",
                "Use tmux_capture_pane to read its output, or tmux_kill_pane to remove it.",
            ) from None


def _pane_not_found(given: str) -> NotFound:
    return NotFound("pane", given[:100], hint="Use tmux_list_panes to see active panes.")
