"""Tables of fields: which tmux formats to ask for, and how to turn the printed text into records.

A name, a title or a path may hold any text, and must not be able to forge or shift a field. So every record
begins and ends with a mark, a random word that is new for each request, and each free text ends at the next
mark. Ids and numbers cannot hold a blank, so they end at one.

tmux 3.4 and newer print control characters as escapes. For these versions a free text has its length before
it, as in `5:hello`, which distinguishes an escaped text from one that really holds a backslash. The length
alone would not be enough: it counts an escaped character as one, and a path may change between the two times
that tmux evaluates it. Evaluating twice is expensive, so older versions are not asked for the length.
"""

from __future__ import annotations

import codecs
import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from muxpilot.errors import BadInput, Refused

ParsedRecord = TypeVar("ParsedRecord")
Field = tuple[str, Callable[[str], Any]]
_Converters = tuple[Callable[[str], Any], ...]

_MARK_BYTES = 16
_COUNTED, _PLAIN = "c", "p"  # a mark's first letter
_LENGTH = re.compile(r"([0-9]+):", re.ASCII)
# tmux 3.4 writes `\$` for a `$` before a letter; the letter after a text is that of a mark. All versions from
# 3.4 on escape control characters as vis(3) does. A path may have both, so the last row undoes both.
_DOLLAR, _CONTROL = rb"\$(?=[A-Za-z_{]|\Z)", rb"[0-3][0-7][0-7]|[abfnrtv]"
_ESCAPES = [re.compile(rb"\\(?:%s)" % pattern) for pattern in (_DOLLAR, _CONTROL, _DOLLAR + b"|" + _CONTROL)]


class _Group(NamedTuple):
    """The fields up to the next mark: a number of words, then at most one free text."""

    words: int
    has_text: bool


class MarkedFormat(str):
    """A format with a mark: no other request has the same text."""

    __slots__ = ()


class FieldTable(dict[str, Field]):
    """A table of fields: the record's name for each, tmux's name for it, and how to convert its text."""

    @cached_property
    def groups(self) -> tuple[_Group, ...]:
        """Return the fields in groups, each of which ends at a mark."""
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
    def converters(self) -> tuple[_Converters, _Converters]:
        """Return the converter of each field, for plain records and for records with lengths."""
        plain = tuple(convert for _, convert in self.values())
        return plain, tuple(_decode_counted_text if convert is str else convert for convert in plain)

    @cached_property
    def templates(self) -> tuple[str, str]:
        """Return the format without and with lengths; each has a NUL where the mark goes."""
        return _build_format(self, counted=False), _build_format(self, counted=True)


def fields(**table: Field) -> FieldTable:
    return FieldTable(table)


def flag(text: str) -> bool:
    return text not in ("", "0")


def optional_int(text: str) -> int | None:
    return int(text) if text else None


def process_id(text: str) -> int:
    """Return a process id, or 0 where there is none: tmux 3.8 forgets that of a program that has ended."""
    return int(text or 0)


def _build_format(table: FieldTable, *, counted: bool) -> str:
    parts = [
        f"{f'#{{n:{name}}}:' if counted else ''}#{{{name}}}\0" if convert is str else f"#{{{name}}} "
        for name, convert in table.values()
    ]
    text = "\0" + "".join(parts)
    return text if text.endswith("\0") else text + "\0"


def template(table: FieldTable, *, counted: bool = True) -> MarkedFormat:
    """Return a tmux format that prints one record of this table. Each has a new mark."""
    mark = (_COUNTED if counted else _PLAIN) + secrets.token_hex(_MARK_BYTES // 2)[1:]
    return MarkedFormat(table.templates[counted].replace("\0", mark))


def template_mark(template: str) -> bytes:
    """Return the mark that every record of this template begins and ends with."""
    return template[:_MARK_BYTES].encode()


def parse(table: FieldTable, lines: Iterable[bytes], into: Callable[..., ParsedRecord]) -> list[ParsedRecord]:
    """Parse every record in the body of a reply. A free text may itself hold newlines."""
    body = b"\n".join(lines).decode("utf-8", "surrogateescape")
    if not body:
        return []
    mark, size = body[:_MARK_BYTES], len(table.groups)
    pieces = body.split(mark)[1:]
    if len(mark) < _MARK_BYTES or len(pieces) % size:
        raise _unreadable_answer()
    converters = table.converters[mark.startswith(_COUNTED)]
    found = (_split_record(table.groups, pieces[at : at + size]) for at in range(0, len(pieces), size))
    try:
        return [into(**dict(zip(table, _convert(converters, words), strict=True))) for words in found]
    except (ValueError, BadInput):
        raise _unreadable_answer() from None


def _split_record(groups: Sequence[_Group], pieces: Sequence[str]) -> list[str]:
    """Return the texts of one record, one for each field."""
    found: list[str] = []
    for (count, has_text), piece in zip(groups, pieces, strict=True):
        words = piece.split(" ", count)
        if not has_text and words.pop() not in ("", "\n"):
            raise _unreadable_answer()
        found += words
    return found


def _convert(converters: _Converters, words: list[str]) -> list[Any]:
    return [convert(word) for convert, word in zip(converters, words, strict=True)]


def _decode_counted_text(text: str) -> str:
    """Undo tmux's escapes if the length proves that there are some, else return the text as printed."""
    length = _LENGTH.match(text)
    if length is None:
        raise _unreadable_answer()
    printed, size = text[length.end() :].encode("utf-8", "surrogateescape"), int(length[1])
    if len(printed) != size:
        readings = (_unescape(escape, printed) for escape in _ESCAPES)
        printed = next((raw for raw in readings if len(raw) == size), printed)
    return printed.decode("utf-8", "surrogateescape")


def _unescape(escape: re.Pattern[bytes], printed: bytes) -> bytes:
    return escape.sub(
        lambda found: b"$" if found[0] == b"\\$" else codecs.escape_decode(found[0])[0], printed
    )


def _unreadable_answer() -> Refused:
    return Refused(
        "tmux's answer could not be read.", "Try again. If it happens again, report your tmux version."
    )
