"""Argument types: each has a JSON schema, and a check that says what is wrong and what is allowed."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from muxpilot.records import record
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.toolkit.name_styles import camel

Schema = dict[str, Any]
TARGETS = (SessionId, WindowId, PaneId)

_LARGEST_REPEATED = 10**15  # errors do not repeat larger numbers; Python refuses to print very large ones


class WrongValue(Exception):
    """The value does not fit. The text ends the sentence "The argument x must be …"."""


@record
class Between:
    """Limits of a number, both included."""

    low: float
    high: float


@record
class ArgumentType:
    """The type of an argument: its JSON schema and its check. `target` is the class of ids that it names."""

    schema: Schema
    check: Callable[[Any], Any]
    target: type[SessionId | WindowId | PaneId] | None = None


def argument_type(annotation: Any) -> ArgumentType:
    """Return the argument type for a Python annotation. Raise KeyError for an unknown one."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _limit(argument_type(args[0]), args[1:])
    if origin in (Union, types.UnionType):
        inner = [arg for arg in args if arg is not type(None)]
        return (
            _optional(argument_type(inner[0]))
            if len(inner) == 1
            else _either([argument_type(arg) for arg in inner])
        )
    if origin is Literal:
        return _one_of(args)
    if origin is list:
        return _list_of(argument_type(args[0]))
    if origin is dict:
        return _mapping_of(argument_type(args[1]))
    if is_dataclass(annotation):
        return _object_of(annotation)
    if annotation in TARGETS:
        return ArgumentType({"type": "string"}, _target(annotation), annotation)
    return _PLAIN_TYPES[annotation]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise WrongValue(f"a string, not {_describe(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise WrongValue("valid Unicode, without lone surrogates") from None
    return value


def _target(target: type[SessionId | WindowId | PaneId]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        """Return the target as text. Only tmux can say whether it exists."""
        if not _text(value).strip(":.= "):
            raise WrongValue(
                f"a {target.noun} id such as {target.sigil}3, or an exact name, not {_describe(value)}"
            )
        return str(value)

    return check


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise WrongValue(f"a whole number, not {_describe(value)}")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongValue(f"a number, not {_describe(value)}")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise WrongValue(f"true or false, not {_describe(value)}")
    return value


_PLAIN_TYPES: dict[Any, ArgumentType] = {
    str: ArgumentType({"type": "string"}, _text),
    int: ArgumentType({"type": "integer"}, _whole),
    float: ArgumentType({"type": "number"}, _number),
    bool: ArgumentType({"type": "boolean"}, _truth),
}


def _limit(type_: ArgumentType, extras: tuple[Any, ...]) -> ArgumentType:
    limits = next((extra for extra in extras if isinstance(extra, Between)), None)
    if limits is None:
        return type_
    schema = {**type_.schema, "minimum": limits.low, "maximum": limits.high}

    def check(value: Any) -> Any:
        """Return a number within the limits."""
        number = type_.check(value)
        if number is not None and not limits.low <= number <= limits.high:
            given = f", not {number}" if abs(number) < _LARGEST_REPEATED else ""
            raise WrongValue(f"from {limits.low} to {limits.high}{given}")
        return number

    return ArgumentType(schema, check)


def _optional(type_: ArgumentType) -> ArgumentType:
    return ArgumentType(
        type_.schema, lambda value: None if value is None else type_.check(value), type_.target
    )


def _one_of(choices: tuple[Any, ...]) -> ArgumentType:
    def check(value: Any) -> Any:
        """Return one of the choices."""
        if value not in choices:
            raise WrongValue(f"one of {', '.join(map(str, choices))}, not {_describe(value)}")
        return value

    return ArgumentType({"type": "string", "enum": list(choices)}, check)


def _list_of(item: ArgumentType) -> ArgumentType:
    def check(value: Any) -> list[Any]:
        """Return a list of checked items."""
        if not isinstance(value, list):
            raise WrongValue(f"a list, not {_describe(value)}")
        try:
            return [item.check(entry) for entry in value]
        except WrongValue as wrong:
            raise WrongValue(f"a list, each {wrong}") from None

    return ArgumentType({"type": "array", "items": item.schema}, check, item.target)


def _mapping_of(item: ArgumentType) -> ArgumentType:
    words = f"an object with {item.schema['type']} values"

    def check(value: Any) -> dict[str, Any]:
        """Return an object of checked values."""
        if not isinstance(value, Mapping):
            raise WrongValue(f"{words}, not {_describe(value)}")
        try:
            return {_text(key): item.check(entry) for key, entry in value.items()}
        except WrongValue as wrong:
            raise WrongValue(f"{words}: each {wrong}") from None

    return ArgumentType({"type": "object", "additionalProperties": item.schema}, check)


def _object_of(shape: Any) -> ArgumentType:
    """Return the type for a dataclass: an object with its fields, in camelCase or snake_case."""
    hints = get_type_hints(shape, include_extras=True)
    types_ = {row.name: argument_type(hints[row.name]) for row in fields(shape)}
    required = [row.name for row in fields(shape) if row.default is MISSING]
    words = f"an object with {', '.join(map(camel, types_))}"

    def check(value: Any) -> Any:
        """Return the dataclass, filled with checked values."""
        if not isinstance(value, Mapping):
            raise WrongValue(f"{words}, not {_describe(value)}")
        names = {spelling: name for name in types_ for spelling in (camel(name), name)}
        if any(key not in names for key in value):
            raise WrongValue(f"{words} and no other fields")
        given = {names[key]: entry for key, entry in value.items() if entry is not None}
        if any(name not in given for name in required):
            raise WrongValue(
                f"{words}; it lacks {next(camel(name) for name in required if name not in given)}"
            )
        try:
            return shape(**{name: types_[name].check(entry) for name, entry in given.items()})
        except WrongValue as wrong:
            raise WrongValue(f"{words}: each {wrong}") from None

    schema = {
        "type": "object",
        "properties": {camel(name): type_.schema for name, type_ in types_.items()},
        "required": [camel(name) for name in required],
    }
    return ArgumentType(schema, check)


def _either(types_: list[ArgumentType]) -> ArgumentType:
    def check(value: Any) -> Any:
        """Return the value as the first type that accepts it."""
        problems = []
        for type_ in types_:
            try:
                return type_.check(value)
            except WrongValue as wrong:
                problems.append(str(wrong).partition(", not ")[0])
        raise WrongValue(f"{' or '.join(problems)}, not {_describe(value)}")

    # Not `"type": ["string", "array"]`: converters to other schemas lose the items of the array.
    return ArgumentType({"anyOf": [type_.schema for type_ in types_]}, check)


def _describe(value: Any) -> str:
    """Describe a value for an error. Only short strings are repeated: a long value may be a secret."""
    names = {type(None): "null", bool: "a boolean", int: "an integer", float: "a number", str: "a string"}
    if isinstance(value, str) and len(value) <= 20:
        return repr(value)
    return names.get(type(value)) or ("a list" if isinstance(value, list) else "an object")
