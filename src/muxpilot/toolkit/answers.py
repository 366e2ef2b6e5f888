"""Answers: frozen dataclasses become JSON with camelCase names, and a schema that they keep.

A field without a default is always there. One with a default is left out while it has that value.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from muxpilot.records import record
from muxpilot.toolkit.argument_types import Schema
from muxpilot.toolkit.casing import camel


@record
class Answer:
    """What goes back to the client: a text, and the same as data where the tool has an output schema.

    `error` is the stable code of what failed. A picture goes instead of the text, which is for people then.
    """

    text: str
    structured: dict[str, Any] | None = None
    error: str | None = None
    png: bytes | None = None
    # What the audit shall know besides the arguments.
    noted: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_error(self) -> bool:
        return self.error is not None


compact = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def shaped(value: Any) -> Answer:
    if isinstance(value, str):
        return Answer(value)
    if isinstance(value, Answer):
        return value
    data = wire(value)
    text = compact(data)
    if text.isascii() or (clean := _decoded(text)) == text:
        return Answer(text, data)
    return Answer(clean, json.loads(clean))


def _decoded(text: str) -> str:
    """A path or name may hold bytes that are no text; JSON has no room for them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


_AS_IT_IS = frozenset({int, float, bool, types.NoneType, str})


def wire(value: Any) -> Any:
    """As JSON has it: records by their camelCase names."""
    kind = value.__class__
    if kind in _AS_IT_IS or isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return [wire(item) for item in value]
    if isinstance(value, dict):
        return {key: wire(item) for key, item in value.items()}
    plan = _plan(kind)
    if plan.values_of is not None:
        return dict(zip(plan.names, plan.values_of(value), strict=True))
    return {
        name: item if item.__class__ in _AS_IT_IS else wire(item)
        for attribute, name, default in plan.rows
        if (item := getattr(value, attribute)) is not default and (default is MISSING or item != default)
    }


class _Plan(NamedTuple):
    """How a record is written; one that is always whole and holds plain values only has a short way."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, str, Any], ...]
    values_of: Callable[[Any], tuple[Any, ...]] | None


@cache
def _plan(answer: type) -> _Plan:
    rows = tuple((row.name, camel(row.name), row.default) for row in fields(answer))
    attributes, names, defaults = zip(*rows, strict=True) if rows else ((), (), ())
    is_short = len(rows) > 1 and set(defaults) == {MISSING} and all(map(_is_plain, _hints(answer)))
    return _Plan(names, rows, attrgetter(*attributes) if is_short else None)


def _hints(answer: type) -> Iterable[Any]:
    hints = get_type_hints(answer)
    return (hints[row.name] for row in fields(answer))


def _is_plain(annotation: Any) -> bool:
    kinds = _schema(annotation).get("type", "object")
    return not {"object", "array"} & set([kinds] if isinstance(kinds, str) else kinds)


def output_schema(answer: Any) -> Schema | None:
    """The schema of a tool's return type; a body of text has none, nor what differs from call to call."""
    return None if answer in (str, Answer) else _schema(answer)


_SIMPLE = {int: "integer", float: "number", bool: "boolean", type(None): "null", object: "object"}


def _schema(annotation: Any) -> Schema:
    origin, args = get_origin(annotation), get_args(annotation)
    if is_dataclass(annotation):
        return _object(annotation)
    if origin in (list, tuple):
        return {"type": "array", "items": _schema(args[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(args[1])}
    if origin in (Union, types.UnionType):
        inner = [_schema(arg) for arg in args]
        if all(set(schema) == {"type"} for schema in inner):
            return {"type": [schema["type"] for schema in inner]}
        return {"anyOf": inner}
    if origin is Literal:
        return {"type": "string"}
    if isinstance(annotation, type) and issubclass(annotation, str):
        return {"type": "string"}
    return {"type": _SIMPLE[annotation]}


def _object(annotation: Any) -> Schema:
    hints = get_type_hints(annotation)
    schema: Schema = {"type": "object", "properties": {}}
    for row in fields(annotation):
        schema["properties"][camel(row.name)] = _schema(hints[row.name])
    return schema
