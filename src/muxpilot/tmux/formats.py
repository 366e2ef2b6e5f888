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

_MARK_BYTES = 16
_COUNTED, _PLAIN = "c", "p"  # a mark's first letter
_LENGTH = re.compile(r"([0-9]+):", re.ASCII)
_ESCAPE = re.compile(rb"\\(?:[0-3][0-7][0-7]|[abfnrtv])")  # what vis(3) writes


class _Group(NamedTuple):
    """Fields up to the next mark: any number of words, then a free text if there is one."""

    names: tuple[str, ...]
    converts: tuple[Callable[[str], Any], ...]
    text: str | None


class Fields(dict[str, Field]):
    """A table: the record's name for each field, tmux's name for it, and what it is."""

    @cached_property
    def groups(self) -> tuple[_Group, ...]:
        groups: list[_Group] = []
        words: dict[str, Callable[[str], Any]] = {}
        for name, (_, convert) in self.items():
            if convert is str:
                groups.append(_Group(tuple(words), tuple(words.values()), name))
                words = {}
            else:
                words[name] = convert
        if words:
            groups.append(_Group(tuple(words), tuple(words.values()), None))
        return (*groups, _Group((), (), None))

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
    read_text = _counted if mark.startswith(_COUNTED) else _plain
    starts = range(0, len(pieces), size)
    try:
        return [into(**_record(table.groups, pieces[at : at + size], read_text)) for at in starts]
    except (ValueError, BadInput):
        raise _unreadable() from None


def _record(
    groups: Sequence[_Group], pieces: Sequence[str], read_text: Callable[[str], str]
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for (names, converts, text), piece in zip(groups, pieces, strict=True):
        *given, rest = piece.split(" ", len(names))
        for name, convert, word in zip(names, converts, given, strict=True):
            values[name] = convert(word)
        if text is not None:
            values[text] = read_text(rest)
        elif rest not in ("", "\n"):
            raise _unreadable()
    return values


def _plain(text: str) -> str:
    return text


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
