"""Parse JSON with comments and trailing commas, and keep the place of every value."""

from __future__ import annotations

import json
import re
from typing import Any

from muxpilot.records import record

# What may stand between two tokens: white space, a byte order mark, and both kinds of comments.
_BETWEEN = re.compile(r"(?:[\s\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")
_DEEPEST = 200
_STRINGS = json.JSONDecoder(strict=False)  # some clients write line feeds into strings


@record
class Member:
    """One `"key": value` of an object. `comma` is the place of the comma after it, or -1."""

    key: str
    start: int
    value: Node
    comma: int


@record
class Node:
    """A value and its place in the text. An object also has its members."""

    value: Any
    start: int
    end: int
    members: tuple[Member, ...] | None = None


def parse_json(text: str) -> Node:
    """Parse a whole text. An empty one is an empty object at its end. Raise ValueError for anything else."""
    start = _skip(text, 0)
    if start == len(text):
        return Node({}, start, start, ())
    node = _parse_value(text, start, 0)
    end = _skip(text, node.end)
    if end != len(text):
        raise ValueError(f"unexpected text in {_line_of(text, end)}")
    return node


def end_of_last_token(text: str, start: int, end: int) -> int:
    """Return where the last comment or token before `end` ends, searching from `start`."""
    last = position = start
    while position < end:
        comment = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL).match(text, position)
        if comment is not None:
            last = position = len(text[: comment.end()].rstrip("\r"))
        else:
            last = position + 1 if text[position] == "," else last
            position += 1
    return last


def _line_of(text: str, position: int) -> str:
    return f"line {text.count(chr(10), 0, position) + 1}"


def _skip(text: str, position: int) -> int:
    found = _BETWEEN.match(text, position)
    return found.end() if found else position


def _parse_value(text: str, start: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    sign = text[start : start + 1]
    if sign == "{":
        return _parse_object(text, start, depth)
    if sign == "[":
        return _parse_array(text, start, depth)
    if sign == '"':
        value, end = _STRINGS.raw_decode(text, start)
        return Node(value, start, end)
    found = _SCALAR.match(text, start)
    if found is None:
        raise ValueError(f"a value is missing in {_line_of(text, start)}")
    return Node(json.loads(found[0]), start, found.end())


def _parse_object(text: str, start: int, depth: int) -> Node:
    members: list[Member] = []
    position, is_open = _skip(text, start + 1), True
    while text[position : position + 1] != "}":
        if not is_open or text[position : position + 1] != '"':
            raise ValueError(f"a key or a comma is missing in {_line_of(text, position)}")
        key, end = _STRINGS.raw_decode(text, position)
        colon = _skip(text, end)
        if text[colon : colon + 1] != ":":
            raise ValueError(f"a colon is missing in {_line_of(text, colon)}")
        value = _parse_value(text, _skip(text, colon + 1), depth + 1)
        after = _skip(text, value.end)
        is_open = text[after : after + 1] == ","
        members.append(Member(key, position, value, after if is_open else -1))
        position = _skip(text, after + 1) if is_open else after
    return Node({m.key: m.value.value for m in members}, start, position + 1, tuple(members))


def _parse_array(text: str, start: int, depth: int) -> Node:
    values: list[Any] = []
    position, is_open = _skip(text, start + 1), True
    while text[position : position + 1] != "]":
        if not is_open:
            raise ValueError(f"a comma is missing in {_line_of(text, position)}")
        value = _parse_value(text, position, depth + 1)
        values.append(value.value)
        after = _skip(text, value.end)
        is_open = text[after : after + 1] == ","
        position = _skip(text, after + 1) if is_open else after
    return Node(values, start, position + 1)
