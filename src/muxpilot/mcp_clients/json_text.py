"""Change one value in a JSON text. Everything else stays as it is: comments, order, spaces."""

from __future__ import annotations

import json
import re
from typing import Any

from muxpilot.mcp_clients.json_nodes import Member, Node, end_of_last_token, parse_json


def read_json(text: str) -> Any:
    """Return the value of a JSON text with comments. Raise ValueError where it is none."""
    return parse_json(text).value


def set_json(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return the text with `value` at a path of keys. Missing objects on the way are added."""
    node = parse_json(text)
    for depth, key in enumerate(path):
        member = _member(node, key)
        if member is None:
            return _insert(text, node, key, _nest(path[depth + 1 :], value))
        node = member.value
    replacement = _dump(text, value, _indent_at(text, node.start))
    return text[: node.start] + replacement + text[node.end :]


def remove_json(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the member at a path. A text that has no such member is returned as it is."""
    node = parse_json(text)
    for key in path[:-1]:
        member = _member(node, key)
        if member is None:
            return text
        node = member.value
    member = _member(node, path[-1])
    return text if member is None else _cut(text, node, member)


def _member(node: Node, key: str) -> Member | None:
    """Return the member of that key. Of several, the last one counts, as in every JSON reader."""
    return next((member for member in reversed(node.members or ()) if member.key == key), None)


def _nest(path: tuple[str, ...], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _insert(text: str, node: Node, key: str, value: Any) -> str:
    """Add a member at the end of an object."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if node.start == node.end:  # an empty file, or one of comments only
        start = newline if text.strip() and not text.endswith("\n") else ""
        return text + start + _dump(text, {key: value}, "") + newline
    outer = _indent_at(text, node.start)
    close = node.end - 1
    if not node.members:
        last = end_of_last_token(text, node.start + 1, close)
        inner = outer + _unit(text)
        return text[:last] + newline + inner + _pair(text, key, value, inner) + newline + outer + text[close:]
    before = node.members[-1]
    if "\n" not in text[node.start : close]:
        comma = "" if before.comma >= 0 else ","
        last = end_of_last_token(text, before.value.end, close)
        pair = f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
        return text[:last] + comma + " " + pair + text[last:]
    inner = _indent_at(text, before.start)
    last = end_of_last_token(text, before.value.end, close)
    pair = newline + inner + _pair(text, key, value, inner) + ("," if before.comma >= 0 else "")
    comma = "" if before.comma >= 0 else ","
    return text[: before.value.end] + comma + text[before.value.end : last] + pair + text[last:]


def _cut(text: str, node: Node, member: Member) -> str:
    """Remove a member with its comma and its line; of the last one, the comma before it."""
    members = node.members or ()
    start, end = member.start, member.value.end
    place = members.index(member)
    if member.comma >= 0:
        end = member.comma + 1
    elif place > 0:
        comma = members[place - 1].comma
        text = text[:comma] + text[comma + 1 :]
        start, end = start - 1, end - 1
    head, tail = text[:start], text[end:]
    line_start = head.rstrip(" \t")
    line_end = tail.lstrip(" \t")
    if line_start.endswith("\n") and line_end[:1] in ("\r", "\n", ""):
        return line_start.removesuffix("\n").removesuffix("\r") + line_end
    return (line_start if place and line_end[:1] in "}," else head) + line_end


def _pair(text: str, key: str, value: Any, indent: str) -> str:
    return f"{json.dumps(key, ensure_ascii=False)}: {_dump(text, value, indent)}"


def _dump(text: str, value: Any, indent: str) -> str:
    """Write a value that begins on a line with this indent. Lists stay on one line."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    newline = "\r\n" if "\r\n" in text else "\n"
    inner = indent + _unit(text)
    rows = [inner + _pair(text, key, member, inner) for key, member in value.items()]
    return "{" + newline + ("," + newline).join(rows) + newline + indent + "}"


def _indent_at(text: str, position: int) -> str:
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return re.match(r"[ \t]*", line)[0]  # type: ignore[index]  # the pattern matches every text


def _unit(text: str) -> str:
    """Return one step of indentation, as the first indented key of the text has it."""
    found = re.search(r'^([ \t]+)"', text, re.MULTILINE)
    return found[1] if found else "  "
