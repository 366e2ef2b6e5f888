"""Field tables: what is asked of tmux, and how its answer becomes a record.

Free text travels with its length before it, `5:hello`, so that no name, title or path can forge or shift
a field, whatever it holds. Ids and numbers cannot hold a blank and end at one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from muxpilot.errors import Refused

Record = TypeVar("Record")
Field = tuple[str, Callable[[str], Any]]
Fields = Mapping[str, Field]

_LENGTH = re.compile(rb"([0-9]+):")
_WORD = re.compile(rb"([^ \n]*) ")


def fields(**table: Field) -> Fields:
    return table


def flag(text: str) -> bool:
    return text not in ("", "0")


def maybe_int(text: str) -> int | None:
    return int(text) if text else None


def template(table: Fields) -> str:
    """The tmux format that prints one record of this table."""
    return "".join(
        f"#{{n:{name}}}:#{{{name}}}" if convert is str else f"#{{{name}}} "
        for name, convert in table.values()
    )


def parse(table: Fields, lines: Iterable[bytes], into: Callable[..., Record]) -> list[Record]:
    """Read every record in a block's body; a free text may itself hold newlines."""
    body = b"\n".join(lines)
    records, position = [], 0
    while position < len(body):
        values, position = _record(table, body, position)
        records.append(into(**values))
        position += 1  # the newline after a record
    return records


def _record(table: Fields, body: bytes, position: int) -> tuple[dict[str, Any], int]:
    values: dict[str, Any] = {}
    for name, (_, convert) in table.items():
        found = (_LENGTH if convert is str else _WORD).match(body, position)
        if found is None:
            raise Refused(f"tmux's answer could not be read at byte {position}.")
        text, position = found[1], found.end()
        if convert is str:
            text, position = body[position : position + int(text)], position + int(text)
        values[name] = convert(text.decode("utf-8", "surrogateescape"))
    return values, position
