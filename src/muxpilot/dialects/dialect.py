"""A dialect: a table of tools with their own names and schemas, each of which calls a native tool.

Policy and audit see the native tool's name, groups and argument names, so that one configuration serves all
scopes.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

from muxpilot.config.scope import Scope
from muxpilot.errors import MuxpilotError
from muxpilot.tmux import Tmux
from muxpilot.toolkit.arguments import Argument, arguments_of
from muxpilot.toolkit.spec import Tool, ToolFacts
from muxpilot.tools import TOOLS
from muxpilot.tools.context import Context
from muxpilot.workspace import Workspaces

ResolveTargets = Callable[[Tmux, dict[str, Any]], Awaitable[dict[str, Any]]]

NATIVE = {tool.name: tool for tool in TOOLS}


class Dialect(Protocol):
    """The tools of a scope, the instructions for a model, and what happens at the start and the end."""

    @property
    def tools(self) -> Sequence[Tool]: ...

    @property
    def instructions(self) -> str: ...

    async def start(self) -> None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class DialectTool(Tool):
    """A tool of a dialect. `name` is its native tool, `dialect_name` its name in the protocol."""

    # The servers that the dialects come from answer in order: a client may use an id before it gets it.
    in_order: ClassVar[bool] = True

    dialect_name: str = ""
    log_name: str = ""
    # Names of arguments in the protocol, where they differ from those that policy knows.
    wire_names: Mapping[str, str] = field(default_factory=dict)
    # Arguments of a row that has no function of its own.
    own_arguments: tuple[Argument, ...] | None = None
    # Parameters of the function that `resolve` adds and that no client sees.
    hidden: frozenset[str] = frozenset()
    resolve: ResolveTargets | None = None
    format_error: Callable[[MuxpilotError], str] = str
    shows_limits: bool = True
    # Where one argument selects the native tool: its name, its default, and a tool for each value.
    variants: tuple[str, str, Mapping[str, Tool]] | None = None

    @property
    def exposed_name(self) -> str:
        return self.dialect_name

    @property
    def logged_name(self) -> str:
        return self.log_name or self.name

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        own = arguments_of(self.run) if self.own_arguments is None else self.own_arguments
        rows = (row for row in own if row.name not in self.hidden)
        return tuple(replace(row, wire_name=self.wire_names.get(row.name, row.name)) for row in rows)

    @property
    def listing(self) -> dict[str, Any]:
        """Return the tool as tools/list shows it, with every default: a dialect has few tools."""
        row = super().listing
        properties = self.input_schema["properties"]
        if not self.shows_limits:
            properties = {name: _without_limits(schema) for name, schema in properties.items()}
        row["inputSchema"] = {**row["inputSchema"], "properties": properties}
        return row

    def select_variant(self, raw: Mapping[str, Any]) -> Tool:
        """Return the tool for the value of the argument that selects one."""
        if self.variants is None:
            return self
        argument, default, tools = self.variants
        return tools.get(str(raw.get(argument) or default), self)

    def is_open(self, is_closed: Callable[[str], bool]) -> bool:
        tools = self.variants[2].values() if self.variants is not None else (self,)
        return any(not is_closed(tool.name) for tool in tools)

    async def resolve_targets(
        self, tmux: Tmux, arguments: dict[str, Any], workspaces: Workspaces
    ) -> dict[str, Any]:
        """Replace targets as the dialect does. It has no names of panes."""
        return arguments if self.resolve is None else await self.resolve(tmux, arguments)

    def error_text(self, error: MuxpilotError) -> str:
        return self.format_error(error)


def _without_limits(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key in ("type", "description")}


def dialect_tool(
    scope: Scope, native: str, function: Callable[..., Awaitable[Any]], **row: Any
) -> DialectTool:
    """Make a tool of a dialect from a function, with the effect, group and facts of its native tool."""
    tool = NATIVE[native]
    facts = {fact.name: getattr(tool, fact.name) for fact in fields(ToolFacts)}
    return DialectTool(
        name=native,
        description=" ".join(inspect.cleandoc(function.__doc__ or "").split()),
        effect=tool.effect,
        scopes=frozenset({scope}),
        group=tool.group,
        run=function,
        **{**facts, **row},
    )


async def call_native(ctx: Context, native: str, arguments: Mapping[str, Any]) -> Any:
    """Run a native tool whose call has already been resolved and checked."""
    return await NATIVE[native].run(ctx, **arguments)
