"""Answers of tools: records become JSON with camelCase names, which fits the output schema of the tool.

A field without a default is always present. A field with a default is left out while it has that value.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, field, fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from muxpilot.records import record
from muxpilot.toolkit.argument_types import Schema
from muxpilot.toolkit.name_styles import camel


@record
class Answer:
    """The answer of a call: a text, and the same as data where the tool has an output schema.

    `error` is the code of a failure. Clients get `png` instead of the text; the command line shows the text.
    """

    text: str
    structured: dict[str, Any] | None = None
    error: str | None = None
    png: bytes | None = None
    # True if the tool has taken secrets out itself: of cells before they were drawn, of rows before a cut.
    is_redacted: bool = False
    # Fields of the audit record besides the arguments.
    audit_fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_error(self) -> bool:
        return self.error is not None


class RedactedText(str):
    """A text that a tool has taken secrets out of itself, before it was cut."""

    __slots__ = ()


compact_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def to_answer(value: Any) -> Answer:
    """Turn the result of a tool into an answer."""
    if isinstance(value, str):
        return Answer(value, is_redacted=isinstance(value, RedactedText))
    if isinstance(value, Answer):
        return value
    data = to_json(value)
    text = compact_json(data)
    if text.isascii() or (clean := _replace_undecodable(text)) == text:
        return Answer(text, data)
    return Answer(clean, json.loads(clean))


def _replace_undecodable(text: str) -> str:
    """Replace bytes of paths and names that are not UTF-8: JSON cannot contain them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


_PLAIN_TYPES = frozenset({int, float, bool, types.NoneType, str})


def to_json(value: Any) -> Any:
    """Return a value as JSON data, records with their camelCase names."""
    cls = value.__class__
    if cls in _PLAIN_TYPES or isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    plan = _plan(cls)
    if plan.values_of is not None:
        return dict(zip(plan.names, plan.values_of(value), strict=True))
    return {
        name: item if item.__class__ in _PLAIN_TYPES or isinstance(item, str) else to_json(item)
        for attribute, name, default in plan.rows
        if (item := getattr(value, attribute)) is not default and (default is MISSING or item != default)
    }


class _WritePlan(NamedTuple):
    """How a record becomes JSON. `values_of` is the fast way for records of plain values without defaults."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, str, Any], ...]
    values_of: Callable[[Any], tuple[Any, ...]] | None


@cache
def _plan(answer: type) -> _WritePlan:
    rows = tuple((row.name, camel(row.name), row.default) for row in fields(answer))
    attributes, names, defaults = zip(*rows, strict=True) if rows else ((), (), ())
    is_short = len(rows) > 1 and set(defaults) == {MISSING} and all(map(_is_plain, _field_types(answer)))
    return _WritePlan(names, rows, attrgetter(*attributes) if is_short else None)


def _field_types(answer: type) -> Iterable[Any]:
    hints = get_type_hints(answer)
    return (hints[row.name] for row in fields(answer))


def _is_plain(annotation: Any) -> bool:
    names = _schema(annotation).get("type", "object")
    return not {"object", "array"} & set([names] if isinstance(names, str) else names)


def output_schema(answer: Any) -> Schema | None:
    """Return the schema of a tool's return type. Text has none, nor has an answer that varies.

    Of several records it is the schema of the first: the others have its fields and more.
    """
    answer = _first_type(answer)
    return None if answer in (str, Answer) else _schema(answer)


def list_answer_fields(answer: Any) -> Sequence[str] | None:
    """Return the names of the fields that are always in an answer; None for one that has no schema."""
    answer = _first_type(answer)
    if answer in (str, Answer):
        return None
    return [camel(row.name) for row in fields(answer) if row.default is MISSING]


def _first_type(answer: Any) -> Any:
    """Return the first of several types, or the only one."""
    return get_args(answer)[0] if get_origin(answer) in (Union, types.UnionType) else answer


_SIMPLE = {int: "integer", float: "number", bool: "boolean", type(None): "null", object: "object"}


def _schema(annotation: Any) -> Schema:
    origin, args = get_origin(annotation), get_args(annotation)
    if is_dataclass(annotation):
        return _object_schema(annotation)
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


def _object_schema(annotation: Any) -> Schema:
    hints = get_type_hints(annotation)
    schema: Schema = {"type": "object", "properties": {}}
    for row in fields(annotation):
        schema["properties"][camel(row.name)] = _schema(hints[row.name])
    return schema
