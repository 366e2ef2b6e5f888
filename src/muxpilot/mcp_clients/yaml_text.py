"""Change one entry of a YAML text of nested blocks. Everything else stays as it is, comments too.

This is no YAML reader. It knows a mapping in blocks, `key:` with deeper lines below it, and refuses the rest.
"""

from __future__ import annotations

import json
import re
from typing import Any

_REFUSED = re.compile(r" *\t|---\s*\S|\.\.\.\s*$")
_SINGLE_QUOTED = re.compile(r"'((?:[^']|'')*)'(?:\s+#.*)?")
_COMMENT = re.compile(r"(?:\s+#.*)?")


def set_yaml(text: str, path: tuple[str, str], value: dict[str, Any]) -> str:
    """Return the text with these keys in the entry at `section.name`. What is missing is added."""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    section = _find_section(lines, path[0])
    if section is None:
        return "".join(lines) + f"{path[0]}:\n" + "".join(_entry(path[1], value, "  "))
    first, last = section
    indent = _indent_of_children(lines, first, last)
    entry = _find_block(lines, path[1], first + 1, last, indent=indent) if indent else None
    if entry is None:
        lines[first] = re.sub(r":\s*(?:\{\s*\}|null|~)", ":", lines[first])
        lines[last:last] = _entry(path[1], value, indent or "  ")
        return "".join(lines)
    inner = _indent_of_children(lines, *entry)
    if inner is None:
        raise ValueError(f"{path[1]!r} is not written in lines of its own")
    for key, each in value.items():
        start, end = _find_block(lines, key, entry[0] + 1, entry[1], indent=inner) or (entry[1], entry[1])
        lines[start:end] = [f"{inner}{key}: {json.dumps(each, ensure_ascii=False)}\n"]
        entry = entry[0], entry[1] + 1 - (end - start)
    return "".join(lines)


def remove_yaml(text: str, path: tuple[str, str]) -> str:
    """Return the text without the entry at `section.name`."""
    lines = text.splitlines(keepends=True)
    section = _find_section(lines, path[0])
    if section is None:
        return text
    first, last = section
    indent = _indent_of_children(lines, first, last)
    entry = _find_block(lines, path[1], first + 1, last, indent=indent) if indent else None
    if entry is None:
        return text
    del lines[entry[0] : entry[1]]
    if _indent_of_children(lines, first, last - (entry[1] - entry[0])) is None:
        lines[first] = f"{path[0]}: {{}}\n"
    return "".join(lines)


def find_yaml(text: str, path: tuple[str, str]) -> dict[str, Any] | None:
    """Return the keys of the entry at `section.name` with their values, or None."""
    lines = text.splitlines(keepends=True)
    section = _find_section(lines, path[0])
    indent = _indent_of_children(lines, *section) if section else None
    if section is None or indent is None:
        return None
    entry = _find_block(lines, path[1], section[0] + 1, section[1], indent=indent)
    inner = _indent_of_children(lines, *entry) if entry else None
    if entry is None:
        return None
    found = {}
    for number in range(entry[0] + 1, entry[1]):
        key = re.match(rf"{inner}([A-Za-z_]+)\s*:\s*", lines[number])
        if key is not None:
            block = _find_block(lines, key[1], number, entry[1], indent=inner or "")
            end = block[1] if block else number + 1
            found[key[1]] = read_value("".join(lines[number:end])[key.end() :].strip())
    return found


def read_value(text: str) -> Any:
    """Return a value as goose or muxpilot writes it: on one line, or a list with a line for each item.

    Other forms are returned as a text.
    """
    lines = [line.strip() for line in text.splitlines()]
    if lines and all(line.startswith("- ") for line in lines):
        return [_read_line(line[2:].strip()) for line in lines]
    return _read_line(text)


def _read_line(text: str) -> Any:
    """Return what JSON, single quotes or no quotes mean. A comment may follow."""
    if (quoted := _SINGLE_QUOTED.fullmatch(text)) is not None:
        return quoted[1].replace("''", "'")
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        value, end = None, 0
    is_json = end > 0 and _COMMENT.fullmatch(text, end) is not None
    return value if is_json else re.sub(r"\s+#.*", "", text)


def _find_section(lines: list[str], key: str) -> tuple[int, int] | None:
    """Return the lines of a section at the left margin. Raise ValueError where it is no mapping in blocks."""
    if any(_REFUSED.match(line) for line in lines):
        raise ValueError("it has tabs or several documents")
    section = _find_block(lines, key, 0, len(lines), indent="")
    if section is None:
        return None
    first, last = section
    is_list = any(line.lstrip(" ").startswith("- ") for line in lines[first + 1 : first + 2])
    if is_list or not re.match(rf"{re.escape(key)}:\s*(?:\{{\s*\}}|null|~)?\s*(?:#.*)?$", lines[first]):
        raise ValueError(f"{key!r} is not a mapping in lines of its own")
    return first, last


def _find_block(lines: list[str], key: str, first: int, last: int, *, indent: str) -> tuple[int, int] | None:
    """Return the line of a key and the line after the last deeper line below it."""
    wanted = re.compile(
        rf"""{indent}(?:{re.escape(key)}|"{re.escape(key)}"|'{re.escape(key)}')\s*:(?:\s|$)"""
    )
    start = next((number for number in range(first, last) if wanted.match(lines[number])), None)
    if start is None:
        return None
    end = start + 1
    for number in range(start + 1, last):
        words = lines[number].strip()
        depth = len(lines[number]) - len(lines[number].lstrip(" "))
        is_item = depth == len(indent) and words.startswith("- ")  # a list may stand below its key
        if words and (depth > len(indent) or is_item):
            end = number + 1
        elif words and not words.startswith("#"):
            break
    return start, end


def _indent_of_children(lines: list[str], first: int, last: int) -> str | None:
    """Return the spaces before the entries of a section, or None where it has none."""
    rows = (line for line in lines[first + 1 : last] if line.strip() and not line.lstrip().startswith("#"))
    row = next(rows, None)
    return None if row is None else row[: len(row) - len(row.lstrip(" "))] or None


def _entry(name: str, value: dict[str, Any], indent: str) -> list[str]:
    rows = [f"{indent * 2}{key}: {json.dumps(each, ensure_ascii=False)}\n" for key, each in value.items()]
    return [f"{indent}{name}:\n", *rows]
