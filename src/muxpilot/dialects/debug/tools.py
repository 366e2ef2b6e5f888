"""The five tools of scope `debug`, by the schemas of the server that they come from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from muxpilot.config.scope import Scope
from muxpilot.dialects.debug.leftovers import session_name
from muxpilot.dialects.debug.session import DebugSession, Made
from muxpilot.dialects.dialect import Spoken, speak
from muxpilot.dialects.keys_or_text import send, strokes
from muxpilot.errors import BadInput, NoServer, NotFound, PaneDead
from muxpilot.records import record
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.objects import validate
from muxpilot.tmux.objects.owner import ours
from muxpilot.tmux.servers import Servers
from muxpilot.toolkit.answers import Answer
from muxpilot.toolkit.argument_flags import Mark
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import Tool

_TARGET = Annotated[str, "Target pane ID"]
_NONE = "No active panes. Use tmux_create_pane to create one."


@record
class _Known:
    made: Made
    name: str
    command: str


def _typed(arguments: Mapping[str, Any]) -> Sequence[str]:
    return strokes(arguments["keys"])


class Debug:
    """The panes of one server, by the ids that it gave them."""

    instructions = (
        "Panes for debugging: run servers and tests side by side, type into them, read what they print. "
        "Exited panes stay readable until they are killed; all panes end with this server."
    )

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._known: dict[str, _Known] = {}
        self._session = DebugSession(self._known.clear)
        self._count = 0
        self._reaping: asyncio.Task[None] | None = None
        self.tools: tuple[Tool, ...] = self._table()

    def _table(self) -> tuple[Spoken, ...]:
        def row(native: str, function: Any, **more: Any) -> Spoken:
            name = function.__name__
            spoken = {"spoken": f"tmux_{name}", "log_name": name, "shows_limits": False}
            return speak(Scope.DEBUG, native, function, **{**spoken, "hidden": frozenset({"given"}), **more})

        hidden = frozenset({"name"})
        return (
            row("create-session", self.create_pane, wires={"label": "name"}, hidden=hidden, aim=self._named),
            row("send-keys", self.send_keys, aim=self._aimed, types=_typed),
            row("capture-pane", self.capture_pane, aim=self._aimed),
            row("kill-pane", self.kill_pane, aim=self._aimed),
            row("list-panes", self.list_panes),
        )

    async def begin(self) -> None:
        self._reaping = asyncio.create_task(self._session.reap(self._servers.default))

    async def close(self) -> None:
        try:
            if self._reaping is not None:
                self._reaping.cancel()
                await asyncio.wait([self._reaping])
        finally:
            await self._session.close(self._servers.default)

    async def create_pane(
        self,
        ctx: Context,
        command: Annotated[str, "Command to run in the pane (e.g., 'RUST_LOG=debug cargo run')", Mark.SHELL],
        name: Annotated[str, "The session"],
        label: Annotated[str | None, "Optional human-readable name for the pane"] = None,
    ) -> Answer:
        """Create a new tmux pane running a command. Use for spawning servers, test runners, or interactive
        shells. Returns a pane ID for subsequent operations."""
        if self._reaping is not None:
            await asyncio.wait([self._reaping])
        if not command.strip():
            raise BadInput("The argument 'command' is empty.", "Give a command, such as bash.")
        title = validate.name("name", label) if label else ""
        self._count += 1
        pane_id = f"debug-{self._count}"
        title = title or pane_id

        def know(made: Made) -> None:
            self._known[pane_id] = _Known(made, title, command)

        await self._session.make(ctx.tmux, command, title, know)
        return Answer(
            f"Created pane '{title}' (id: {pane_id}) running: {command}", noted={"pane_id": pane_id}
        )

    async def send_keys(
        self,
        ctx: Context,
        pane_id: Annotated[str, "Target pane ID from tmux_create_pane or tmux_list_panes"],
        keys: Annotated[str, "Keystrokes to send. Use '^C' for Ctrl-C, 'Enter' for newline."],
        given: Annotated[str, "The pane as it was named"],
    ) -> str:
        """Send keystrokes to a tmux pane. Use for interactive input, running additional commands, or sending
        signals (e.g., Ctrl-C as '^C')."""
        if not keys:
            raise BadInput("The argument 'keys' is empty.", "Give text, or a key such as Enter or ^C.")
        with self._speaking(given):
            was_key = await send(ctx, PaneId(pane_id), keys)
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
        given: Annotated[str, "The pane as it was named"],
        lines: Annotated[
            float, "Number of lines to capture (default: 100, max: 1000)", Between(1, 1000)
        ] = 100,
    ) -> Answer:
        """Capture recent output from a tmux pane. Use to read logs, command output, or error messages. Works
        on both running and exited panes."""
        with self._speaking(given):
            rows = await ctx.tmux.capture.last(PaneId(pane_id), int(lines))
        return Answer("\n".join(rows), noted={"pane_id": given})

    async def kill_pane(
        self, ctx: Context, pane_id: _TARGET, given: Annotated[str, "The pane as it was named"]
    ) -> str:
        """Terminate a tmux pane and its running process. Use for cleanup after debugging."""
        known = self._known.get(given)
        if known is None:  # another call was faster
            raise _missing(given)
        await self._session.kill(ctx.tmux, known.made)
        self._known.pop(given, None)
        return f"Killed pane '{given}'"

    async def list_panes(self, ctx: Context) -> str:
        """List all active tmux panes with their IDs, names, status (running/exited), and running commands."""
        rows = {row.id: row for row in await self._session.panes(ctx.tmux)}
        found: list[dict[str, Any]] = []
        for pane_id, known in self._known.items():
            row = rows.get(known.made.pane)
            if row is None:
                continue
            entry = {"id": pane_id, "name": known.name, "status": "exited" if row.is_dead else "running"}
            ended = {"exit_code": row.exit_code} if row.is_dead else {}
            found.append({**entry, "command": known.command, **ended})
        return json.dumps(found, indent=2, ensure_ascii=False) if found else _NONE

    async def _named(self, tmux: Tmux, arguments: dict[str, Any]) -> dict[str, Any]:
        return {**arguments, "name": session_name(ours())}

    async def _aimed(self, tmux: Tmux, arguments: dict[str, Any]) -> dict[str, Any]:
        given = str(arguments["pane_id"])
        known = self._known.get(given)
        if known is None or not await self._session.has(tmux, known.made.pane):
            self._known.pop(given, None)
            raise _missing(given)
        return {**arguments, "pane_id": known.made.pane, "given": given}

    @contextmanager
    def _speaking(self, given: str) -> Iterator[None]:
        """Failures in the words of this scope: its ids, its tools."""
        try:
            yield
        except (NotFound, NoServer):
            raise _missing(given) from None
        except PaneDead:
            raise PaneDead(
                f"Pane '{given}' has exited.",
                "Use tmux_capture_pane to read its output, or tmux_kill_pane to remove it.",
            ) from None


def _missing(given: str) -> NotFound:
    return NotFound("pane", given[:100], hint="Use tmux_list_panes to see active panes.")
