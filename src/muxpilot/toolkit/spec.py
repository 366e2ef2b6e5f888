"""The declaration of a tool: the decorator `tool` and the record `Tool`.

A tool's declaration holds all facts about the tool. Policy, audit, the servers, the command line and
the documentation read it there; no other module lists tools by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, get_type_hints

from muxpilot.config.scope import Scope
from muxpilot.errors import MuxpilotError
from muxpilot.records import FastEnum
from muxpilot.tmux import PaneId, Tmux, WindowId
from muxpilot.toolkit.answers import list_answer_fields, output_schema
from muxpilot.toolkit.argument_types import Schema, argument_type
from muxpilot.toolkit.arguments import (
    Argument,
    arguments_of,
    input_schema,
    schema_for_listing,
    spellings_of,
)
from muxpilot.toolkit.name_styles import kebab
from muxpilot.workspace import Workspaces

DEADLINE_S = 30.0

# Returns the input that a call types, from its parsed arguments: text, and keys as `PressedKey`.
TypedInput = Callable[[Mapping[str, Any]], Sequence[str]]

# Dry-run hook, for `muxpilot policy explain` and before a pane is opened for a call. It gets a call's context
# and arguments, as the tool does, and returns or raises the errors that the tool would raise. It must have no
# side effects.
DryRun = Callable[..., Awaitable[Sequence[MuxpilotError]]]

# Seconds, or a function of the parsed arguments for a call that chooses itself how long it waits.
Deadline = float | Callable[[Mapping[str, Any]], float]


class Effect(FastEnum):
    """What a call does to tmux and its programs. Clients ask a person before some of these."""

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
ONLY_ALL = frozenset({Scope.ALL})
INTERNAL: frozenset[Scope] = frozenset()

# Groups whose answers contain text that panes printed, or that programs chose as their names and folders.
_PANE_TEXT_GROUPS = frozenset({"capture", "watch", "execute", "track", "list", "interactive", "special-keys"})

SOCKET = Argument("socket", "socket", argument_type(str), "Server", None, is_id=True)


@dataclass(frozen=True, kw_only=True)
class ToolFacts:
    """What policy, audit and dispatch must know of a tool. A dialect's tool has those of its native tool."""

    # Policy groups besides `group`, which `[security.tools]` can name.
    more_groups: tuple[str, ...] = ()
    # The groups whose allow_… keys must all be true; None: all groups of the tool.
    allowed_by: tuple[str, ...] | None = None
    # For a reader of a resource that is not offered as a tool: it is closed if one of these tools is.
    stands_for: tuple[str, ...] | None = None
    # False for a tool that does not reach the server that its call names: rules for sockets do not apply.
    reaches_server: bool = True
    # True if the answer shows everything inside the target, so that rules for panes apply to each part.
    shows_contents: bool = False

    creates_session: bool = False
    creates_pane: bool = False
    # True if a named pane of the workspace that does not exist yet is opened for the call.
    opens_pane: bool = False
    # Arguments that become the name of a session, which rules for sessions judge.
    session_names: tuple[str, ...] = ()
    # The argument that makes the call end a running program.
    kills_if: str | None = None
    # The argument that makes the answer show what the pane shows.
    shows_if: str | None = None
    # The argument that makes the call type into the pane.
    types_if: str | None = None
    # The argument with the terminal of a person who is detached.
    detaches: str | None = None
    # True if the call adds a window to a session, moves one away, or selects the one that clients show.
    changes_sessions: bool = False
    # True if people see what the call shows beside their panes, whose programs and screens stay as they are.
    is_shown_beside_pane: bool = False

    # True if names in the answer must not be sanitized: they are the only way to address what they name.
    is_byte_exact: bool = False
    # True if the tool is offered in every scope while events are pushed to the client by `--channel`.
    with_channel: bool = False


@dataclass(frozen=True, kw_only=True)
class Tool(ToolFacts):
    """One tool. `group` is its main policy group; `description` is its function's docstring."""

    # True if calls of this tool, and of others like it, run one after the other, in the order they arrive.
    in_order: ClassVar[bool] = False

    name: str
    description: str
    effect: Effect
    scopes: frozenset[Scope]
    group: str
    run: Callable[..., Awaitable[Any]]
    deadline_s: Deadline = DEADLINE_S
    # True if the tool reports progress itself, so that dispatch does not.
    reports_progress: bool = False
    typed_input: TypedInput | None = None
    dry_run: DryRun | None = None

    @property
    def exposed_name(self) -> str:
        """Return the name in the protocol. `name` is the one that policy knows, in every dialect."""
        return self.name

    @property
    def logged_name(self) -> str:
        return self.name

    @property
    def groups(self) -> tuple[str, ...]:
        return (self.group, *self.more_groups)

    @property
    def shows_pane_text(self) -> bool:
        """Return whether the answer must be sanitized."""
        return self.group in _PANE_TEXT_GROUPS and not self.is_byte_exact

    def select_variant(self, raw: Mapping[str, Any]) -> Tool:
        """Return the tool that a call with these arguments is about."""
        return self

    def is_open(self, is_closed: Callable[[str], bool]) -> bool:
        return not is_closed(self.name)

    async def resolve_targets(
        self, tmux: Tmux, arguments: dict[str, Any], workspaces: Workspaces
    ) -> dict[str, Any]:
        """Replace targets by ids, so that policy judges exactly what the tool acts on.

        A named pane that the tool would open is replaced by an UnopenedPane.
        """

        async def resolve(target: type, text: str) -> object:
            """Return the id of a target, or of the pane that a name means."""
            if target is PaneId:
                return await workspaces.resolve_pane(tmux, text, may_open=self.opens_pane)
            if target is WindowId:
                return await tmux.targets.resolve_window(text)
            return await tmux.targets.resolve_session(text)

        for name, target in self._target_arguments:
            value = arguments.get(name)
            if isinstance(value, list):
                arguments[name] = [await resolve(target, item) for item in value]
            elif value is not None:
                arguments[name] = await resolve(target, value)
        return arguments

    def error_text(self, error: MuxpilotError) -> str:
        """Return the answer's text for a failed call."""
        return str(error)

    def deadline(self, arguments: Mapping[str, Any]) -> float:
        """Return how many seconds a call with these arguments may take."""
        return self.deadline_s(arguments) if callable(self.deadline_s) else self.deadline_s

    @cached_property
    def _hints(self) -> Mapping[str, Any]:
        """Return the types of the function. Reading them takes most of the time of a listing."""
        return get_type_hints(self.run, include_extras=True)

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        return (*arguments_of(self.run, self._hints), SOCKET)

    @cached_property
    def spellings(self) -> dict[str, Argument]:
        return spellings_of(self.arguments)

    @cached_property
    def _target_arguments(self) -> list[tuple[str, type]]:
        """Return the arguments that name sessions, windows or panes, each with what it names."""
        targets = ((argument.name, argument.type.target) for argument in self.arguments)
        return [(name, target) for name, target in targets if target is not None]

    @cached_property
    def input_schema(self) -> Schema:
        return input_schema(self.arguments)

    @cached_property
    def output_schema(self) -> Schema | None:
        return output_schema(self._hints["return"])

    @property
    def listing(self) -> dict[str, Any]:
        """Return the tool as tools/list shows it."""
        output = {"outputSchema": self.output_schema} if self.output_schema is not None else {}
        return self.listing_without_answer | output

    @property
    def listing_without_answer(self) -> dict[str, Any]:
        """Return the tool as tools/list shows it, without the schema of its answer."""
        return {
            "name": self.exposed_name,
            "description": self.description,
            "inputSchema": schema_for_listing(self.input_schema),
            "annotations": self.effect.hints,
        }

    @property
    def answer_fields(self) -> Sequence[str] | None:
        """Return the names of the fields that every answer has; None for an answer without a schema."""
        return list_answer_fields(self._hints["return"])


def tool(
    effect: Effect,
    scopes: frozenset[Scope],
    group: str,
    *,
    name: str | None = None,
    deadline_s: Deadline = DEADLINE_S,
    **facts: Any,
) -> Callable[[Callable[..., Awaitable[Any]]], Tool]:
    """Declare a tool: `create_session` is `create-session` in the protocol, its docstring is the prompt.

    `facts` are the other fields of `Tool` and `ToolFacts`.
    """

    def declare(function: Callable[..., Awaitable[Any]]) -> Tool:
        """Make the tool from its function."""
        words = inspect.cleandoc(function.__doc__ or "")
        return Tool(
            name=name or kebab(function.__name__),
            description=words.replace("\n", " ").replace("  ", "\n"),
            effect=effect,
            scopes=scopes,
            group=group,
            run=function,
            deadline_s=deadline_s,
            **facts,
        )

    return declare
