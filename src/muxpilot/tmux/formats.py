"""Field tables: what is asked of tmux, and how its answer becomes a record.

No name, title or path can forge or shift a field, whatever it holds: every record begins and ends with a
mark, a random word that is new in each question, and each free text ends at the next mark. Ids and numbers
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
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from muxpilot.errors import BadInput, Refused

Record = TypeVar("Record")
Field = tuple[str, Callable[[str], Any]]
_Converts = tuple[Callable[[str], Any], ...]

_MARK_BYTES = 16
_COUNTED, _PLAIN = "c", "p"  # a mark's first letter
_LENGTH = re.compile(r"([0-9]+):", re.ASCII)
_ESCAPE = re.compile(rb"\\(?:[0-3][0-7][0-7]|[abfnrtv])")  # what vis(3) writes


class _Group(NamedTuple):
    """Fields up to the next mark: so many words, then a free text if there is one."""

    words: int
    has_text: bool


class Fields(dict[str, Field]):
    """A table: the record's name for each field, tmux's name for it, and what it is."""

    @cached_property
    def groups(self) -> tuple[_Group, ...]:
        groups: list[_Group] = []
        words = 0
        for _, convert in self.values():
            if convert is str:
                groups.append(_Group(words, has_text=True))
                words = 0
            else:
                words += 1
        if words:
            groups.append(_Group(words, has_text=False))
        return (*groups, _Group(0, has_text=False))

    @cached_property
    def converts(self) -> tuple[_Converts, _Converts]:
        """Of each field, in plain and in counted records."""
        plain = tuple(convert for _, convert in self.values())
        return plain, tuple(_counted if convert is str else convert for convert in plain)

    @cached_property
    def templates(self) -> tuple[str, str]:
        """Plain and counted, with a NUL where the mark goes."""
        return _joined(self, counted=False), _joined(self, counted=True)


def fields(**table: Field) -> Fields:
    return Fields(table)


def flag(text: str) -> bool:
    return text not in ("", "0")


def maybe_int(text: str) -> int | None:
    return int(text) if text else None


def _joined(table: Fields, *, counted: bool) -> str:
    parts = [
        f"{f'#{{n:{name}}}:' if counted else ''}#{{{name}}}\0" if convert is str else f"#{{{name}}} "
        for name, convert in table.values()
    ]
    text = "\0" + "".join(parts)
    return text if text.endswith("\0") else text + "\0"


def template(table: Fields, *, counted: bool = True) -> str:
    """The tmux format that prints one record of this table; it is different each time."""
    mark = (_COUNTED if counted else _PLAIN) + secrets.token_hex(_MARK_BYTES // 2)[1:]
    return table.templates[counted].replace("\0", mark)


def mark_of(template: str) -> bytes:
    """What every record begins and ends with."""
    return template[:_MARK_BYTES].encode()


def parse(table: Fields, lines: Iterable[bytes], into: Callable[..., Record]) -> list[Record]:
    """Read every record in a block's body; a free text may itself hold newlines."""
    body = b"\n".join(lines).decode("utf-8", "surrogateescape")
    if not body:
        return []
    mark, size = body[:_MARK_BYTES], len(table.groups)
    pieces = body.split(mark)[1:]
    if len(mark) < _MARK_BYTES or len(pieces) % size:
        raise _unreadable()
    converts = table.converts[mark.startswith(_COUNTED)]
    found = (_words(table.groups, pieces[at : at + size]) for at in range(0, len(pieces), size))
    try:
        return [into(**dict(zip(table, _values(converts, words), strict=True))) for words in found]
    except (ValueError, BadInput):
        raise _unreadable() from None


def _words(groups: Sequence[_Group], pieces: Sequence[str]) -> list[str]:
    """Of one record, one for each field."""
    found: list[str] = []
    for (count, has_text), piece in zip(groups, pieces, strict=True):
        words = piece.split(" ", count)
        if not has_text and words.pop() not in ("", "\n"):
            raise _unreadable()
        found += words
    return found


def _values(converts: _Converts, words: list[str]) -> list[Any]:
    return [convert(word) for convert, word in zip(converts, words, strict=True)]


def _counted(text: str) -> str:
    """The text itself where tmux printed it with escapes; as it was printed where that is not certain."""
    length = _LENGTH.match(text)
    if length is None:
        raise _unreadable()
    printed, size = text[length.end() :].encode("utf-8", "surrogateescape"), int(length[1])
    raw = _ESCAPE.sub(lambda found: codecs.escape_decode(found[0])[0], printed)
    return (raw if len(raw) == size < len(printed) else printed).decode("utf-8", "surrogateescape")


def _unreadable() -> Refused:
    return Refused(
        "tmux's answer could not be read.", "Ask again; if it stays so, tell us which tmux this is."
    )
