"""A tool is declared in one place: its function. Everything else follows from that."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, get_type_hints

from muxpilot.config.scope import Scope
from muxpilot.errors import MuxpilotError
from muxpilot.tmux import PaneId, SessionId, Tmux, WindowId
from muxpilot.toolkit.answers import output_schema
from muxpilot.toolkit.argument_types import Schema, kind_of
from muxpilot.toolkit.arguments import Argument, arguments_of, input_schema, listed
from muxpilot.toolkit.casing import kebab

DEADLINE_S = 30.0

# What a call types, from its checked arguments: text, and keys as `Key`.
Types = Callable[[Mapping[str, Any]], Sequence[str]]

# What would refuse a call that the rules of tools and targets let through; asked with a call's context and
# arguments, like the tool itself, by who wants to know beforehand. It does nothing.
Foresees = Callable[..., Awaitable[Sequence[MuxpilotError]]]

# Seconds; or, for a call that says itself how long it wants to wait, a function of its checked arguments.
Deadline = float | Callable[[Mapping[str, Any]], float]


class Effect(Enum):
    """What a call does to the world, as far as a client should ask before it."""

    READ = "read"
    CREATE = "create"
    CHANGE = "change"
    TYPE = "type"
    DESTROY = "destroy"

    @property
    def hints(self) -> dict[str, bool]:
        if self is Effect.READ:
            return {"readOnlyHint": True}
        return {"destructiveHint": self in (Effect.TYPE, Effect.DESTROY)}


PRIMITIVE = frozenset({Scope.PRIMITIVES, Scope.ALL})
STARRED = PRIMITIVE | {Scope.AGENTIC}
WORKFLOW = frozenset({Scope.AGENTIC, Scope.ALL})
INTERNAL: frozenset[Scope] = frozenset()

SOCKET = Argument(
    "socket",
    "socket",
    kind_of(str),
    "Another tmux socket",
    None,
)


@dataclass(frozen=True)
class Tool:
    """One tool; `group` is where policy finds it, `description` is its function's docstring."""

    # Whether its calls, and those of others like it, are served one after the other as they came.
    in_order: ClassVar[bool] = False

    name: str
    description: str
    effect: Effect
    scopes: frozenset[Scope]
    group: str
    run: Callable[..., Awaitable[Any]]
    deadline_s: Deadline
    tells_progress: bool = False  # by itself, so that nobody else does
    types: Types | None = None
    foresees: Foresees | None = None

    @property
    def exposed(self) -> str:
        """Its name on the wire; `name` is the one that policy knows, here and in every dialect."""
        return self.name

    @property
    def logged(self) -> str:
        return self.name

    def chosen(self, raw: Mapping[str, Any]) -> Tool:
        """The tool that a call with these arguments is about."""
        return self

    def is_open(self, closes: Callable[[str], bool]) -> bool:
        return not closes(self.name)

    async def resolve_targets(self, tmux: Tmux, arguments: dict[str, Any]) -> dict[str, Any]:
        """Targets as ids, so that what is judged is what is acted on."""
        resolve = {SessionId: tmux.targets.session, WindowId: tmux.targets.window, PaneId: tmux.targets.pane}
        for argument in self.arguments:
            value = arguments.get(argument.name)
            if argument.kind.target is None or value is None:
                continue
            find = resolve[argument.kind.target]
            if isinstance(value, list):
                arguments[argument.name] = [await find(item) for item in value]
            else:
                arguments[argument.name] = await find(value)
        return arguments

    def told(self, error: MuxpilotError) -> str:
        """What a caller is told of a failure."""
        return str(error)

    def deadline(self, arguments: Mapping[str, Any]) -> float:
        """How long a call with these arguments may take."""
        return self.deadline_s(arguments) if callable(self.deadline_s) else self.deadline_s

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        return (*arguments_of(self.run), SOCKET)

    @cached_property
    def input_schema(self) -> Schema:
        return input_schema(self.arguments)

    @cached_property
    def output_schema(self) -> Schema | None:
        return output_schema(get_type_hints(self.run)["return"])

    @property
    def listing(self) -> dict[str, Any]:
        """The tool as tools/list shows it."""
        row: dict[str, Any] = {
            "name": self.exposed,
            "description": self.description,
            "inputSchema": listed(self.input_schema),
            "annotations": self.effect.hints,
        }
        return row | ({"outputSchema": self.output_schema} if self.output_schema is not None else {})


def tool(
    effect: Effect,
    scopes: frozenset[Scope],
    group: str,
    *,
    name: str | None = None,
    deadline_s: Deadline = DEADLINE_S,
    tells_progress: bool = False,
    types: Types | None = None,
    foresees: Foresees | None = None,
) -> Callable[[Callable[..., Awaitable[Any]]], Tool]:
    """Declare a tool: `create_session` is `create-session` on the wire, its docstring is the prompt."""

    def declare(function: Callable[..., Awaitable[Any]]) -> Tool:
        words = inspect.cleandoc(function.__doc__ or "")
        return Tool(
            name=name or kebab(function.__name__),
            description=words.replace("\n", " ").replace("  ", "\n"),
            effect=effect,
            scopes=scopes,
            group=group,
            run=function,
            deadline_s=deadline_s,
            tells_progress=tells_progress,
            types=types,
            foresees=foresees,
        )

    return declare
