"""Remove the quotes of a shell word, and tell whether its value is known before the shell expands it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from muxpilot.records import record

_ANSI_C = {
    letter: chr(code) for letter, code in zip("abeEfnrtv", (7, 8, 27, 27, 12, 10, 13, 9, 11), strict=True)
}
_ANSI_C_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_EXPANSION = re.compile(r"\$[\w{(\[@*#?$!-]|\$(?=')|`|<\(|>\(")
# fish runs `(…)` and decodes `\\x72` outside of quotes, zsh runs `=(…)`. bash does none of that.
_RUN_BY_OTHER_SHELLS = re.compile(r"=?\(")
_READ_BY_FISH = re.compile(r"\\(?:[xX][0-9a-fA-F]|[uU][0-9a-fA-F]|[0-7]|c.)")
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")


@record
class Word:
    """A word of a command. `text` is what the program gets; `is_fixed`: the shell does not change it."""

    source: str
    text: str
    is_fixed: bool = True


def join_words(words: Sequence[Word]) -> Word:
    """Join words with blanks, as `eval` does."""
    return Word(
        " ".join(word.source for word in words),
        " ".join(word.text for word in words),
        all(word.is_fixed for word in words),
    )


def unquote(source: str) -> Word:
    """Remove quotes, backslashes and line continuations. Expansions stay as they are written."""
    text, at, is_fixed = "", 0, _RUN_BY_OTHER_SHELLS.match(source) is None
    while at < len(source):
        part, at, is_known = _read_piece(source, at)
        text += part
        is_fixed = is_fixed and is_known
    return Word(source, text, is_fixed)


def _read_piece(source: str, at: int) -> tuple[str, int, bool]:
    """Return the next piece, where it ends, and whether the shell leaves it unchanged."""
    char = source[at]
    if char == "\\":
        is_known = _READ_BY_FISH.match(source, at) is None
        return source[at + 1 : at + 2].replace("\n", ""), at + 2, is_known
    if char == "'":
        end = _find_closing_quote(source, at + 1, "'")
        return source[at + 1 : end], end + 1, True
    if source.startswith("$'", at):
        end = _ansi_c_end(source, at + 2)
        return decode_ansi_c(source[at + 2 : end]), end + 1, True
    if char == '"' or source.startswith('$"', at):
        return _double_quoted(source, at + (1 if char == '"' else 2))
    if _EXPANSION.match(source, at):
        return source[at:].replace('"', ""), len(source), False
    if char in "*?[" or (char == "{" and _BRACES.match(source, at)):
        return char, at + 1, False
    return char, at + 1, True


def _double_quoted(source: str, at: int) -> tuple[str, int, bool]:
    text = ""
    while at < len(source) and source[at] != '"':
        if source[at] == "\\" and source[at + 1 : at + 2] in tuple('$`"\\\n'):
            text += source[at + 1].replace("\n", "")
            at += 2
        elif source[at] == "`" or (source[at] == "$" and _EXPANSION.match(source, at)):
            return text + source[at:].replace('"', ""), len(source), False
        else:
            text += source[at]
            at += 1
    return text, at + 1, True


def _find_closing_quote(source: str, at: int, quote: str) -> int:
    end = source.find(quote, at)
    return end if end >= 0 else len(source)


def _ansi_c_end(source: str, at: int) -> int:
    while at < len(source) and source[at] != "'":
        at += 2 if source[at] == "\\" else 1
    return min(at, len(source))


def decode_ansi_c(body: str) -> str:
    """Decode the body of `$'…'`: `\\x72m` is `rm`."""

    def decode_escape(found: re.Match[str]) -> str:
        """Return the character that an escape means."""
        two, four, eight, octal, control, letter = found.groups()
        digits = two or four or eight
        if digits:
            return chr(min(int(digits, 16), 0x10FFFF))
        if octal:
            return chr(int(octal, 8) & 0xFF)
        return chr(ord(control) & 0x1F) if control else _ANSI_C.get(letter, letter)

    return _ANSI_C_ESCAPE.sub(decode_escape, body)
