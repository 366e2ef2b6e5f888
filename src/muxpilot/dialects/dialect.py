"""A dialect is a table of spoken tools: each row has its own name and schema, and stands for a native tool.

Policy and audit see the native tool's name, group and argument names, so one vocabulary rules all scopes.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

from muxpilot.config.scope import Scope
from muxpilot.errors import MuxpilotError
from muxpilot.tmux import Tmux
from muxpilot.toolkit.arguments import Argument, arguments_of
from muxpilot.toolkit.spec import DEADLINE_S, Tool
from muxpilot.tools import TOOLS

Aim = Callable[[Tmux, dict[str, Any]], Awaitable[dict[str, Any]]]

_NATIVE = {tool.name: tool for tool in TOOLS}


class Dialect(Protocol):
    """A scope's tools, what a model is told of them, and what is to be done at the beginning and the end."""

    @property
    def tools(self) -> Sequence[Tool]: ...

    @property
    def instructions(self) -> str: ...

    async def begin(self) -> None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True)
class Spoken(Tool):
    """`wires` are the names of arguments on the wire where they differ from those that policy knows."""

    # As in the servers that the dialects come from: a client need not wait to use an id that it can foresee.
    in_order: ClassVar[bool] = True

    spoken: str = ""
    log_name: str = ""
    wires: Mapping[str, str] = field(default_factory=dict)
    # Parameters of the function that `aim` fills in and no client sees.
    hidden: frozenset[str] = frozenset()
    aim: Aim | None = None
    tells: Callable[[MuxpilotError], str] = str
    shows_limits: bool = True
    # Where one argument decides what is done: its name on the wire, its default, and a tool for each value.
    switch: tuple[str, str, Mapping[str, Tool]] | None = None

    @property
    def exposed(self) -> str:
        return self.spoken

    @property
    def logged(self) -> str:
        return self.log_name or self.name

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        rows = (row for row in arguments_of(self.run) if row.name not in self.hidden)
        return tuple(replace(row, wire=self.wires.get(row.name, row.name)) for row in rows)

    @property
    def listing(self) -> dict[str, Any]:
        """With every default: few ask for a dialect, so a word more costs nobody."""
        row = super().listing
        properties = self.input_schema["properties"]
        if not self.shows_limits:
            properties = {name: _plain(schema) for name, schema in properties.items()}
        row["inputSchema"] = {**row["inputSchema"], "properties": properties}
        return row

    def chosen(self, raw: Mapping[str, Any]) -> Tool:
        if self.switch is None:
            return self
        argument, default, tools = self.switch
        return tools.get(str(raw.get(argument) or default), self)

    def is_open(self, closes: Callable[[str], bool]) -> bool:
        tools = self.switch[2].values() if self.switch is not None else (self,)
        return any(not closes(tool.name) for tool in tools)

    async def resolve_targets(self, tmux: Tmux, arguments: dict[str, Any]) -> dict[str, Any]:
        return arguments if self.aim is None else await self.aim(tmux, arguments)

    def told(self, error: MuxpilotError) -> str:
        return self.tells(error)


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key in ("type", "description")}


def speak(scope: Scope, native: str, function: Callable[..., Awaitable[Any]], **row: Any) -> Spoken:
    """A row of a dialect: what the native tool declares holds for it too, the rest is its own."""
    tool = _NATIVE[native]
    return Spoken(
        name=native,
        description=" ".join(inspect.cleandoc(function.__doc__ or "").split()),
        effect=tool.effect,
        scopes=frozenset({scope}),
        group=tool.group,
        run=function,
        deadline_s=DEADLINE_S,
        **row,
    )
