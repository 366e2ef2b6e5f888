"""From a function's signature to what a client sees, and from what a client sends to what it gets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.toolkit.argument_flags import Mark
from muxpilot.toolkit.argument_types import Kind, Schema, Wrong, kind_of
from muxpilot.toolkit.casing import camel

REQUIRED = inspect.Parameter.empty

# Told once for each kind of target instead of at every tool.
_TARGET_WORDS = {
    "session": "$1 or exact name",
    "window": "@2 or session:window",
    "pane": "%3 or session:window.pane",
}


@record
class Argument:
    name: str
    wire: str
    kind: Kind
    description: str
    default: Any
    marks: frozenset[Mark] = frozenset()

    @property
    def is_required(self) -> bool:
        return self.default is REQUIRED

    def schema(self) -> Schema:
        schema = {**self.kind.schema, "description": self.description}
        if not self.is_required and self.default is not None:
            schema["default"] = self.default
        return schema


def arguments_of(function: Callable[..., Any]) -> tuple[Argument, ...]:
    """Every parameter after the context, in order."""
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return tuple(_argument(parameter, hints[parameter.name]) for parameter in parameters)


def _argument(parameter: inspect.Parameter, hint: Any) -> Argument:
    kind = kind_of(hint)
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    words = next((extra for extra in extras if isinstance(extra, str)), None)
    if words is None and kind.target is not None:
        words = _TARGET_WORDS[kind.target.noun]
    if words is None:
        raise TypeError(f"the argument {parameter.name} has no description")
    marks = frozenset(extra for extra in extras if isinstance(extra, Mark))
    return Argument(parameter.name, camel(parameter.name), kind, words, parameter.default, marks)


def input_schema(arguments: tuple[Argument, ...]) -> Schema:
    required = [argument.wire for argument in arguments if argument.is_required]
    schema: Schema = {"type": "object", "properties": {row.wire: row.schema() for row in arguments}}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def checked(arguments: tuple[Argument, ...], raw: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by their Python names; snake_case spellings are taken, unknown ones are refused."""
    given = _by_name(arguments, raw)
    values: dict[str, Any] = {}
    for argument in arguments:
        if argument.name in given:
            values[argument.name] = _value(argument, given[argument.name])
        elif argument.is_required:
            wanted = argument.description.removesuffix(".")
            raise BadInput(f"The argument {argument.wire!r} is missing.", f"It is: {wanted}.")
        else:
            values[argument.name] = argument.default
    return values


def _by_name(arguments: tuple[Argument, ...], raw: Mapping[str, Any]) -> dict[str, Any]:
    names = {spelling: row for row in arguments for spelling in (row.wire, row.name)}
    given: dict[str, Any] = {}
    for spelling, value in raw.items():
        argument = names.get(spelling)
        if argument is None:
            known = ", ".join(row.wire for row in arguments) or "none"
            raise BadInput(f"There is no argument {spelling[:40]!r}.", f"The arguments are: {known}.")
        if argument.name in given:
            raise BadInput(f"The argument {argument.wire!r} is given twice.", "Use one spelling.")
        if value is not None or argument.is_required:
            given[argument.name] = value
    return given


def _value(argument: Argument, value: Any) -> Any:
    try:
        return argument.kind.check(value)
    except Wrong as wrong:
        raise BadInput(f"The argument {argument.wire!r} must be {wrong}.") from None


_WIDE = 1000  # a limit from here on is there for safety: nobody needs to know it who does not meet it


def listed(schema: Schema) -> Schema:
    """The same for tools/list, where every word costs: no wide limits, no `false`.

    Other arguments than these are refused all the same, with a sentence that names them.
    """
    properties = {name: _listed(row) for name, row in schema["properties"].items()}
    rest = {key: value for key, value in schema.items() if key != "additionalProperties"}
    return rest | {"properties": properties}


def _listed(row: Schema) -> Schema:
    needless = {"default"} if row.get("default") is False else set()
    if row.get("maximum", 0) >= _WIDE:
        needless |= {"minimum", "maximum"}
    return {key: value for key, value in row.items() if key not in needless}
