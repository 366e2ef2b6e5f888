"""Split the text that a program prints into tokens: text, control characters, sequences. No I/O happens here.

The rules are those of tmux's `input.c`. A sequence may be torn between two chunks of text; the tokens are the
same wherever that happens. The time is linear in the length of the text. Of a string (title, image, link)
only the beginning is a token, an escape: the rest draws nothing.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from enum import Enum
from typing import NamedTuple

from muxpilot.lazy_pattern import lazy_pattern
from muxpilot.terminal.escapes import CSI, ESC, FOREIGN, STRING_BODIES, TOKEN

_TOKEN = lazy_pattern(TOKEN, re.DOTALL)
_FOREIGN = lazy_pattern(FOREIGN)
_STRING_BODY = {kind: lazy_pattern(body, re.DOTALL) for kind, body in STRING_BODIES.items()}
# Limits of tmux, which discards longer sequences.
_MOST_PARAMETER_BYTES, _MOST_MARKS = 63, 3
# Any sequence ends a string, except a device control string. tmux gives that up after five seconds; we have
# no clock, and give it up after so many characters.
LONGEST_STRING = 1 << 20
_LONGEST_HELD = 4096
_DISCARDED = CSI + "0" * (_MOST_PARAMETER_BYTES + 1)
_STRING_END = ESC + "\\"


class TokenKind(Enum):
    """The kind of a token."""

    TEXT = "text"
    LINES = "lines"  # two or more whole lines of ASCII text and colours, each with its CR LF
    CONTROL = "control"
    ESCAPE = "escape"
    CSI = "csi"


class Token(NamedTuple):
    """One token.

    `name` is the text; or the character; or for a sequence its intermediate and final characters, such as
    `(0` or `?h`. `parameters` are those of a control sequence, as they were written.
    """

    kind: TokenKind
    name: str
    parameters: str = ""


_BY_GROUP = {kind.value: kind for kind in TokenKind}


class Tokenizer:
    """Splits text that arrives in chunks."""

    def __init__(self, *, has_lines: bool = False) -> None:
        """Create a tokenizer; only with `has_lines` it returns tokens of the kind LINES."""
        self._has_lines = has_lines
        self._held = ""
        self._string: str | None = None  # which kind of string has not ended; see STRING_BODIES
        self._string_length = 0

    @property
    def is_between_tokens(self) -> bool:
        """Return True if no sequence or string is torn."""
        return self._string is None and not self._held

    def feed(self, text: str) -> Iterator[Token]:
        """Yield the tokens of the next chunk."""
        text, self._held = self._held + text, ""
        at: int | None = 0
        while at is not None:
            if self._string is None:
                at = yield from self._split(text, at)
            else:
                at = self._skip_string(text, at)

    def _split(self, text: str, at: int) -> Generator[Token, None, int | None]:
        """Yield tokens up to the end, or up to a string; return where that string goes on."""
        for found in _TOKEN.finditer(text, at):
            group = found.lastgroup
            if group == "text" or group == "control":
                yield Token(_BY_GROUP[group], found[0])
            elif group == "csi" or group == "escape":
                if (token := _parse_sequence(found)) is not None:
                    yield token
            elif group == "lines":
                if self._has_lines:
                    yield Token(TokenKind.LINES, found[0])
                else:
                    yield from _split_lines(found[0])
            elif group == "string":
                yield self._begin_string(found[0][1])
                return found.end()
            elif group == "torn":
                self._held = found[0] if len(found[0]) <= _LONGEST_HELD else _shorten(found[0])
            else:
                yield from self._parse_odd(found[0])
                if self._string is not None:
                    return found.end()
        return None

    def _parse_odd(self, sequence: str) -> Iterator[Token]:
        """Yield the controls inside a sequence, then what the rest of it means; begin a string there."""
        for char in _FOREIGN.findall(sequence):
            if char < " ":
                yield Token(TokenKind.CONTROL, char)
        rest = _FOREIGN.sub("", sequence)
        found = _TOKEN.fullmatch(rest)
        if found is not None and found.lastgroup in ("csi", "escape"):
            if (token := _parse_sequence(found)) is not None:
                yield token
        elif len(rest) == 2 and rest[1] in "]X^_kP":
            # A malformed head of a device control string is ignored like any other string.
            yield self._begin_string("X" if rest[1] == "P" else rest[1])

    def _begin_string(self, introducer: str) -> Token:
        self._string = introducer if introducer in _STRING_BODY else "X"
        self._string_length = 0
        return Token(TokenKind.ESCAPE, introducer)

    def _skip_string(self, text: str, at: int) -> int | None:
        """Return where the string that contains `at` ends, or None if it goes on in the next chunk."""
        kind = self._string or ""
        limit = at + LONGEST_STRING - self._string_length if kind == "P" else len(text) + 1
        found = _STRING_BODY[kind].match(text, at, limit)
        stop = at if found is None else found.end()
        if stop >= limit:
            end = limit
        elif kind == "P":
            if not text.startswith(_STRING_END, stop):
                self._held = text[stop:]  # at most an ESC
                self._string_length += stop - at
                return None
            end = stop + len(_STRING_END)
        elif stop == len(text):
            self._string_length += stop - at
            return None
        else:
            end = stop if text[stop] == ESC else stop + 1
        self._string = None
        return end


def _split_lines(text: str) -> Iterator[Token]:
    """Yield the tokens of whole lines."""
    for line in text.split("\r\n")[:-1]:
        for found in _TOKEN.finditer(line):
            token = _parse_sequence(found) if found.lastgroup == "csi" else Token(TokenKind.TEXT, found[0])
            if token is not None:
                yield token
        yield Token(TokenKind.CONTROL, "\r")
        yield Token(TokenKind.CONTROL, "\n")


def _parse_sequence(found: re.Match[str]) -> Token | None:
    """Return the token of a control or escape sequence, or None where tmux discards it."""
    if found.lastgroup == "escape":
        sequence = found[0]
        return Token(TokenKind.ESCAPE, sequence[1:]) if len(sequence) <= _MOST_MARKS + 2 else None
    private, parameters, marks, final = found.group(4, 5, 6, 7)
    if len(parameters) > _MOST_PARAMETER_BYTES or len(private) + len(marks) > _MOST_MARKS:
        return None
    return Token(TokenKind.CSI, private + marks + final, parameters)


def _shorten(torn: str) -> str:
    """Return a short beginning of a sequence that means the same as a very long one: it is discarded."""
    return _DISCARDED if "[" in torn else ESC
