"""Parse the TOML file. An error names the line, the key, and what is allowed there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

from muxpilot.config.model import Document, ServerEntry
from muxpilot.errors import BadInput

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_SERVER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

_LARGEST_NUMBER = 1 << 53

# How an error names a Python type.
_TYPE_NAMES: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float | None: "a number",
    str: "a string",
    str | None: "a string",
    tuple[str, ...]: "a list of strings",
    tuple[str, ...] | None: "a list of strings",
}


def load_document(path: str) -> tuple[Document, Mapping[str, int]]:
    """Return the file's content, and the line number of each of its keys."""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")  # some editors write a byte order mark
    except OSError as error:
        raise BadInput(f"The config {path} cannot be read: {error.strerror}.", "Name a TOML file.") from None
    except UnicodeDecodeError:
        raise BadInput(f"The config {path} is not UTF-8.", "Save it as UTF-8.") from None
    import tomllib  # most runs have no file

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: {error}.", "It must be TOML.") from None
    except (ValueError, RecursionError):
        words = "it has a number of too many digits, or is nested too deeply"
        raise BadInput(f"{path} cannot be read: {words}.", "Write it shorter.") from None
    lines = dict(_find_key_lines(text))
    return _DocumentReader(path, lines).read(Document, table, ""), lines


def _find_key_lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield the dotted name and line of every key and table."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _normalize_key(header[1])
            yield table, number
        elif found := _KEY.match(line):
            yield f"{table}.{_normalize_key(found[1])}".lstrip("."), number


def _normalize_key(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))


@cache
def types_of(section: type) -> Mapping[str, Any]:
    return get_type_hints(section)


class _DocumentReader:
    """Reads a parsed TOML table into the records of `config.model`, and raises errors that name the line."""

    def __init__(self, path: str, lines: Mapping[str, int]) -> None:
        self._path = path
        self._lines = lines

    def read(self, section: Any, table: Mapping[str, Any], where: str) -> Any:
        """Return a section's record, with the values of a table of the file."""
        known = {row.name: row for row in fields(section)}
        values = {}
        for name, value in table.items():
            dotted = f"{where}.{name}".lstrip(".")
            if name not in known:
                self._fail_unknown_key(dotted, name, known, where)
            values[name] = self._read_value(section, known[name], value, dotted)
        return section(**values)

    def _read_value(self, section: Any, row: Field[Any], value: Any, dotted: str) -> Any:
        kind = types_of(section)[row.name]
        if is_dataclass(kind):
            return self.read(kind, self._check_table(value, dotted), dotted)
        if row.name == "servers":
            return {
                name: self._read_server(name, entry, dotted)
                for name, entry in self._check_table(value, dotted).items()
            }
        if not _is_of_type(kind, value):
            self._fail(dotted, f"must be {_TYPE_NAMES[kind]}.")
        if kind == str | None and not value:
            self._fail(dotted, "is empty.", "Give it a value, or leave the key out.")
        if isinstance(value, list) and "" in value:  # as a folder, "" would mean the current one
            self._fail(dotted, "holds an empty string.", "Remove it.")
        one_of, least = row.metadata["one_of"], row.metadata["least"]
        if one_of and value not in one_of:
            self._fail(dotted, f"is {value!r}.", f"Use one of: {', '.join(one_of)}.")
        if least is not None and value < least:
            self._fail(dotted, f"must be {least} or more.")
        return tuple(value) if isinstance(value, list) else value

    def _read_server(self, name: str, entry: Any, where: str) -> ServerEntry:
        dotted = f"{where}.{name}"
        if not _SERVER_NAME.fullmatch(name) or name == "default":
            self._fail(dotted, "is not a valid name for a server.", "Use letters, digits, _, . and -.")
        server: ServerEntry = self.read(ServerEntry, self._check_table(entry, dotted), dotted)
        return server

    def _check_table(self, value: Any, dotted: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            self._fail(dotted, f"must be a table: [{dotted}].")
        return value

    def _fail_unknown_key(self, dotted: str, name: str, known: Mapping[str, Any], where: str) -> NoReturn:
        near = difflib.get_close_matches(name, known, 1)
        guess = f"Did you mean {near[0]}? " if near else ""
        place = f"[{where}] has" if where else "The sections are"
        self._fail(
            dotted, "is not a key." if where else "is not a section.", f"{guess}{place}: {', '.join(known)}."
        )

    def _fail(self, dotted: str, what: str, hint: str | None = None) -> NoReturn:
        raise BadInput(f"{self._path}:{self._find_line(dotted)}: {dotted} {what}", hint)

    def _find_line(self, dotted: str) -> int:
        """Return the line of a key, or of the nearest table around it."""
        while dotted not in self._lines and "." in dotted:
            dotted = dotted.rpartition(".")[0]
        return self._lines.get(dotted, 1)


def _is_of_type(kind: Any, value: Any) -> bool:
    if kind in (tuple[str, ...], tuple[str, ...] | None):
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind in (int, float | None):
        is_number = isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
        return is_number and abs(value) < _LARGEST_NUMBER  # neither inf nor nan
    return isinstance(value, bool if kind is bool else str)
