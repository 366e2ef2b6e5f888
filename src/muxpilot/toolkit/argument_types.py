"""Argument types: each has a JSON schema and a check that says what is wrong and what is allowed."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from muxpilot.records import record
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.toolkit.casing import camel

Schema = dict[str, Any]
TARGETS = (SessionId, WindowId, PaneId)

_LONGEST_NUMBER = 10**15  # one that is not worth repeating, and that Python may refuse to print


class Wrong(Exception):
    """A value that does not fit; its text ends the sentence "The argument x must be …"."""


@record
class Between:
    """Limits of a number, both included."""

    low: float
    high: float


@record
class Kind:
    schema: Schema
    check: Callable[[Any], Any]
    target: type[SessionId | WindowId | PaneId] | None = None


def kind_of(annotation: Any) -> Kind:
    """The kind behind a Python annotation; a type that has none is a mistake in a tool."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _narrowed(kind_of(args[0]), args[1:])
    if origin in (Union, types.UnionType):
        inner = [arg for arg in args if arg is not type(None)]
        return _optional(kind_of(inner[0])) if len(inner) == 1 else _either([kind_of(arg) for arg in inner])
    if origin is Literal:
        return _one_of(args)
    if origin is list:
        return _list_of(kind_of(args[0]))
    if origin is dict:
        return _mapping_of(kind_of(args[1]))
    if is_dataclass(annotation):
        return _object_of(annotation)
    if annotation in TARGETS:
        return Kind({"type": "string"}, _target(annotation), annotation)
    return _KINDS[annotation]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Wrong(f"a string, not {_name(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Wrong("valid Unicode, without lone surrogates") from None
    return value


def _target(target: type[SessionId | WindowId | PaneId]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not _text(value).strip(":.= "):
            raise Wrong(f"a {target.noun} id such as {target.sigil}3, or an exact name, not {_name(value)}")
        return str(value)

    return check


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise Wrong(f"a whole number, not {_name(value)}")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong(f"a number, not {_name(value)}")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Wrong(f"true or false, not {_name(value)}")
    return value


_KINDS: dict[Any, Kind] = {
    str: Kind({"type": "string"}, _text),
    int: Kind({"type": "integer"}, _whole),
    float: Kind({"type": "number"}, _number),
    bool: Kind({"type": "boolean"}, _truth),
}


def _narrowed(kind: Kind, extras: tuple[Any, ...]) -> Kind:
    limits = next((extra for extra in extras if isinstance(extra, Between)), None)
    if limits is None:
        return kind
    schema = {**kind.schema, "minimum": limits.low, "maximum": limits.high}

    def check(value: Any) -> Any:
        number = kind.check(value)
        if number is not None and not limits.low <= number <= limits.high:
            given = f", not {number}" if abs(number) < _LONGEST_NUMBER else ""
            raise Wrong(f"from {limits.low} to {limits.high}{given}")
        return number

    return Kind(schema, check)


def _optional(kind: Kind) -> Kind:
    return Kind(kind.schema, lambda value: None if value is None else kind.check(value), kind.target)


def _one_of(choices: tuple[Any, ...]) -> Kind:
    def check(value: Any) -> Any:
        if value not in choices:
            raise Wrong(f"one of {', '.join(map(str, choices))}, not {_name(value)}")
        return value

    return Kind({"type": "string", "enum": list(choices)}, check)


def _list_of(item: Kind) -> Kind:
    def check(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise Wrong(f"a list, not {_name(value)}")
        try:
            return [item.check(entry) for entry in value]
        except Wrong as wrong:
            raise Wrong(f"a list, each {wrong}") from None

    return Kind({"type": "array", "items": item.schema}, check, item.target)


def _mapping_of(item: Kind) -> Kind:
    words = f"an object with {item.schema['type']} values"

    def check(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise Wrong(f"{words}, not {_name(value)}")
        try:
            return {_text(key): item.check(entry) for key, entry in value.items()}
        except Wrong as wrong:
            raise Wrong(f"{words}: each {wrong}") from None

    return Kind({"type": "object", "additionalProperties": item.schema}, check)


def _object_of(shape: Any) -> Kind:
    """An object with fixed fields becomes the dataclass that declares them; both spellings are taken."""
    hints = get_type_hints(shape, include_extras=True)
    kinds = {row.name: kind_of(hints[row.name]) for row in fields(shape)}
    required = [row.name for row in fields(shape) if row.default is MISSING]
    words = f"an object with {', '.join(map(camel, kinds))}"

    def check(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise Wrong(f"{words}, not {_name(value)}")
        names = {spelling: name for name in kinds for spelling in (camel(name), name)}
        if any(key not in names for key in value):
            raise Wrong(f"{words} and no other fields")
        given = {names[key]: entry for key, entry in value.items() if entry is not None}
        if any(name not in given for name in required):
            raise Wrong(f"{words}; it lacks {next(camel(name) for name in required if name not in given)}")
        try:
            return shape(**{name: kinds[name].check(entry) for name, entry in given.items()})
        except Wrong as wrong:
            raise Wrong(f"{words}: each {wrong}") from None

    schema = {
        "type": "object",
        "properties": {camel(name): kind.schema for name, kind in kinds.items()},
        "required": [camel(name) for name in required],
        "additionalProperties": False,
    }
    return Kind(schema, check)


def _either(kinds: list[Kind]) -> Kind:
    def check(value: Any) -> Any:
        problems = []
        for kind in kinds:
            try:
                return kind.check(value)
            except Wrong as wrong:
                problems.append(str(wrong).partition(", not ")[0])
        raise Wrong(f"{' or '.join(problems)}, not {_name(value)}")

    return Kind({"type": [kind.schema["type"] for kind in kinds]}, check)


def _name(value: Any) -> str:
    """What a value is, without repeating it: it may be long, or secret."""
    names = {type(None): "null", bool: "a boolean", int: "an integer", float: "a number", str: "a string"}
    if isinstance(value, str) and len(value) <= 20:
        return repr(value)
    return names.get(type(value)) or ("a list" if isinstance(value, list) else "an object")
