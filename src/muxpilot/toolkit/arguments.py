"""Arguments of tools: read from the signature of a function, listed for clients, parsed from calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.argument_types import ArgumentType, Schema, WrongValue, argument_type
from muxpilot.toolkit.name_styles import camel
from muxpilot.workspace import MAIN

REQUIRED = inspect.Parameter.empty

# The default descriptions of targets.
_TARGET_DESCRIPTIONS = {
    "session": "$1 or exact name",
    "window": "@2 or session:window",
    "pane": "Name or %3",
}


@record
class Argument:
    """One argument of a tool. `wire_name` is its name in the protocol."""

    name: str
    wire_name: str
    type: ArgumentType
    description: str
    default: Any
    flags: frozenset[ArgumentFlag] = frozenset()
    # Whether it names one session, window, pane or tmux server.
    is_id: bool = False

    @property
    def is_required(self) -> bool:
        return self.default is REQUIRED

    @property
    def may_be_empty(self) -> bool:
        """Return whether an empty text means that it is not given: some clients fill in every argument.

        So for optional ids, but not for a pane that is `main` if it is left out: an empty text is never a
        target, and a call must not type somewhere by accident.
        """
        return not self.is_required and self.is_id and ArgumentFlag.MAIN not in self.flags

    def schema(self) -> Schema:
        """Return the JSON schema of this argument."""
        schema = {**self.type.schema, "description": self.description}
        if not self.is_required and self.default is not None and ArgumentFlag.MAIN not in self.flags:
            schema["default"] = self.default
        return schema


def arguments_of(
    function: Callable[..., Any], hints: Mapping[str, Any] | None = None
) -> tuple[Argument, ...]:
    """Return the arguments of a tool: every parameter of its function after the context.

    `hints` are the types of the function, for a caller that has them already.
    """
    hints = hints or get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return tuple(_argument(parameter, hints[parameter.name]) for parameter in parameters)


def _argument(parameter: inspect.Parameter, hint: Any) -> Argument:
    type_ = argument_type(hint)
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    words = next((extra for extra in extras if isinstance(extra, str)), None)
    if words is None and type_.target is not None:
        words = _TARGET_DESCRIPTIONS[type_.target.noun]
    if words is None:
        raise TypeError(f"the argument {parameter.name} has no description")
    marks = frozenset(extra for extra in extras if isinstance(extra, ArgumentFlag))
    is_id = type_.target is not None and type_.schema["type"] == "string"
    default = MAIN if ArgumentFlag.MAIN in marks else parameter.default
    return Argument(parameter.name, camel(parameter.name), type_, words, default, marks, is_id)


def input_schema(arguments: tuple[Argument, ...]) -> Schema:
    """Return the JSON schema of a call's arguments."""
    required = [argument.wire_name for argument in arguments if argument.is_required]
    schema: Schema = {"type": "object", "properties": {row.wire_name: row.schema() for row in arguments}}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def spellings_of(arguments: tuple[Argument, ...]) -> dict[str, Argument]:
    """Return the arguments by each name that a call may use for them: camelCase and snake_case."""
    return {spelling: row for row in arguments for spelling in (row.wire_name, row.name)}


def parse_arguments(
    arguments: tuple[Argument, ...], raw: Mapping[str, Any], spellings: Mapping[str, Argument] | None = None
) -> dict[str, Any]:
    """Return the arguments by their Python names. Accept snake_case names; refuse unknown ones.

    `spellings` are those of `spellings_of`, for a caller that has them already.
    """
    given = _by_python_name(arguments, raw, spellings or spellings_of(arguments))
    values: dict[str, Any] = {}
    for argument in arguments:
        if argument.name in given:
            values[argument.name] = _check_value(argument, given[argument.name])
        elif argument.is_required:
            wanted = argument.description.removesuffix(".")
            what = f"The argument {argument.wire_name!r} is missing."
            raise BadInput(what, f"It is: {wanted}.", argument=argument.wire_name)
        else:
            values[argument.name] = argument.default
    return values


def _by_python_name(
    arguments: tuple[Argument, ...], raw: Mapping[str, Any], spellings: Mapping[str, Argument]
) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for spelling, value in raw.items():
        argument = spellings.get(spelling)
        if argument is None:
            known = ", ".join(row.wire_name for row in arguments) or "none"
            raise BadInput(f"There is no argument {spelling[:40]!r}.", f"The arguments are: {known}.")
        if argument.name in given:
            what = f"The argument {argument.wire_name!r} is given twice."
            raise BadInput(what, "Use one spelling.", argument=argument.wire_name)
        is_absent = value is None or (value == "" and argument.may_be_empty)
        if argument.is_required or not is_absent:
            given[argument.name] = value
    return given


def _check_value(argument: Argument, value: Any) -> Any:
    try:
        return argument.type.check(value)
    except WrongValue as wrong:
        what = f"The argument {argument.wire_name!r} must be {wrong}."
        raise BadInput(what, argument=argument.wire_name) from None


_WIDE = 1000  # a larger limit only protects muxpilot: a caller that exceeds it gets an error that names it


def schema_for_listing(schema: Schema) -> Schema:
    """Return a shorter schema for tools/list, where each word costs tokens: no wide limits, no `false`.

    Unknown arguments are refused all the same, with an error that names the known ones.
    """
    properties = {name: _shorten(row) for name, row in schema["properties"].items()}
    rest = {key: value for key, value in schema.items() if key != "additionalProperties"}
    return rest | {"properties": properties}


# A number may be given as a text too, wherever another text may be given.
_NUMBER_OR_TEXT = [{"type": "integer"}, {"type": "string"}]


def _shorten(row: Schema) -> Schema:
    if row.get("anyOf") == _NUMBER_OR_TEXT:
        row = {"type": "string"} | {key: value for key, value in row.items() if key != "anyOf"}
    needless = {"default"} if row.get("default") is False else set()
    if row.get("maximum", 0) >= _WIDE:
        needless |= {"minimum", "maximum"}
    return {key: value for key, value in row.items() if key not in needless}
