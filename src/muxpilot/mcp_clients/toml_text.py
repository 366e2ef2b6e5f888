"""Change one table of a TOML text. Everything else stays as it is, comments too."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

_HEADER = re.compile(r"\s*\[")
_PART = r"""\s*(?:{0}|"{0}"|'{0}')\s*"""


def read_toml(text: str) -> Any:
    """Return the value of a TOML text. Raise ValueError where it is none."""
    return tomllib.loads(text)


def set_toml(text: str, path: tuple[str, ...], value: dict[str, Any]) -> str:
    """Return the text with these keys in the table at a path. A missing table is added at the end."""
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if "\r\n" in text else "\n"
    span = _find_table(lines, path)
    if span is None:
        rows = [f"[{'.'.join(path)}]", *(f"{key} = {_literal(each)}" for key, each in value.items())]
        return text + _blank_line_after(text, newline) + newline.join(rows) + newline
    first, last = span
    for key, each in value.items():
        row = f"{key} = {_literal(each)}{newline}"
        found = _find_key(lines, key, first + 1, last)
        start, end = found or (last, last)
        if start and not lines[start - 1].endswith("\n"):
            lines[start - 1] += newline
        lines[start:end] = [row]
        last += 1 - (end - start)
    return "".join(lines)


def remove_toml(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the table at a path and the tables below it."""
    lines = text.splitlines(keepends=True)
    while (span := _find_table(lines, path, has_children=True)) is not None:
        first, last = span
        while first and last == len(lines) and not lines[first - 1].strip():
            first -= 1  # the blank line before the last table
        while last < len(lines) and not lines[last].strip():
            last += 1  # the blank lines before the next one
        del lines[first:last]
    return "".join(lines)


def _find_table(
    lines: list[str], path: tuple[str, ...], *, has_children: bool = False
) -> tuple[int, int] | None:
    """Return the first line of a table and the line after its last key.

    A line in a text of several lines may look like a header. The caller compares the result with what it
    wanted.
    """
    name = r"\.".join(_PART.format(re.escape(part)) for part in path)
    deeper = r"(?:\..*)?" if has_children else ""
    wanted = re.compile(rf"\s*\[{name}{deeper}\]")
    first = next((number for number, line in enumerate(lines) if wanted.match(line)), None)
    if first is None:
        return None
    later = range(first + 1, len(lines))
    last = next((number for number in later if _HEADER.match(lines[number])), len(lines))
    while last > first + 1 and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
        last -= 1  # comments above the next table belong to that table
    return first, last


def _find_key(lines: list[str], key: str, first: int, last: int) -> tuple[int, int] | None:
    """Return the lines of a key: several, where its value is an array of several lines."""
    wanted = re.compile(rf"{_PART.format(re.escape(key))}=")
    start = next((number for number in range(first, last) if wanted.match(lines[number])), None)
    if start is None:
        return None
    for end in range(start + 1, last + 1):
        try:
            tomllib.loads("".join(lines[start:end]))
        except tomllib.TOMLDecodeError:
            continue
        return start, end
    return None


def _blank_line_after(text: str, newline: str) -> str:
    """Return the line feeds that leave one blank line after a text."""
    return "" if not text.strip() else newline if text.endswith("\n") else newline * 2


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
