"""Field tables: what is asked of tmux, and how its answer becomes a record.

No name, title or path can forge or shift a field, whatever it holds: every record begins with a mark, a
random word that is new in each question, and each free text ends at the next mark. Ids and numbers
cannot hold a blank and end at one.

From 3.4 on tmux prints control characters as escapes. There a free text has its length before it,
`5:hello`, which tells a text that was escaped from one that is meant like that. The length alone would
not do: it counts an escaped character as one, and a path may change between the two times that tmux
looks at it. To look twice is dear, so it is not asked for where it is not needed.
"""

from __future__ import annotations

import codecs
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from muxpilot.errors import BadInput, Refused

Record = TypeVar("Record")
Field = tuple[str, Callable[[str], Any]]
Fields = Mapping[str, Field]

_MARK_BYTES = 16
_COUNTED, _PLAIN = "c", "p"  # a mark's first letter
_LENGTH = re.compile(rb"([0-9]+):")
_WORD = re.compile(rb"([^ \n]*) ")
_ESCAPE = re.compile(rb"\\(?:[0-3][0-7][0-7]|[abfnrtv])")  # what vis(3) writes


def fields(**table: Field) -> Fields:
    return table


def flag(text: str) -> bool:
    return text not in ("", "0")


def maybe_int(text: str) -> int | None:
    return int(text) if text else None


def template(table: Fields, *, counted: bool = True) -> str:
    """The tmux format that prints one record of this table; it is different each time."""
    mark = (_COUNTED if counted else _PLAIN) + secrets.token_hex(_MARK_BYTES // 2)[1:]
    return mark + "".join(
        f"{f'#{{n:{name}}}:' if counted else ''}#{{{name}}}{mark}" if convert is str else f"#{{{name}}} "
        for name, convert in table.values()
    )


def parse(table: Fields, lines: Iterable[bytes], into: Callable[..., Record]) -> list[Record]:
    """Read every record in a block's body; a free text may itself hold newlines."""
    body = b"\n".join(lines)
    mark = body[:_MARK_BYTES]
    records, position = [], 0
    while position < len(body):
        values, position = _record(table, mark, body, _after(mark, body, position))
        records.append(into(**values))
        position = _after(b"\n", body, position) if position < len(body) else position
    return records


def _record(table: Fields, mark: bytes, body: bytes, position: int) -> tuple[dict[str, Any], int]:
    values: dict[str, Any] = {}
    for name, (_, convert) in table.items():
        if convert is str:
            text, position = _text(mark, body, position)
        else:
            text, position = _match(_WORD, body, position)
        try:
            values[name] = convert(text.decode("utf-8", "surrogateescape"))
        except (ValueError, BadInput):
            raise _unreadable(position) from None
    return values, position


def _text(mark: bytes, body: bytes, position: int) -> tuple[bytes, int]:
    is_counted = mark.startswith(_COUNTED.encode())
    length, start = _match(_LENGTH, body, position) if is_counted else (b"", position)
    end = body.find(mark, start)
    if end < 0:
        raise _unreadable(position)
    text = body[start:end]
    return _unescaped(text, int(length)) if is_counted else text, end + len(mark)


def _unescaped(text: bytes, length: int) -> bytes:
    """The text itself where tmux printed it with escapes; as it was printed where that is not certain."""
    if len(text) == length:
        return text
    raw = _ESCAPE.sub(lambda found: codecs.escape_decode(found[0])[0], text)
    return raw if len(raw) == length else text


def _match(pattern: re.Pattern[bytes], body: bytes, position: int) -> tuple[bytes, int]:
    found = pattern.match(body, position)
    if found is None:
        raise _unreadable(position)
    return found[1], found.end()


def _after(expected: bytes, body: bytes, position: int) -> int:
    if not body.startswith(expected, position):
        raise _unreadable(position)
    return position + len(expected)


def _unreadable(position: int) -> Refused:
    return Refused(f"tmux's answer could not be read at byte {position}.")
