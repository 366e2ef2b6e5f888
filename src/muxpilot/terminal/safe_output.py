"""Filter the output of panes for a terminal that must not be attacked: only what draws is left.

Programs in panes are not trusted. Their output must not reach the clipboard, the title, links, the size of
the window or the terminal's answers. Text and the sequences of the tables below pass; everything else that
begins with ESC is removed, including sequences that this module does not know. A repeat count is at most 999.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from muxpilot.terminal.escapes import ALTERNATE_MODES, CSI, ESC
from muxpilot.terminal.tokens import Token, Tokenizer, TokenKind

_CONTROLS = frozenset("\b\t\n\v\f\r\x0e\x0f")
_DIRECTIONS: Final = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ESCAPES = frozenset((*"78DEHMcno", "#8", "(0", "(B", "(A", ")0", ")B", ")A"))
# The final letters that pass, by private mark or intermediate character.
_SEQUENCES = {
    "": frozenset("@ABCDEFGHIJKLMPSTXZ`abdefgmrsuhl"),
    " ": frozenset("q"),
    "!": frozenset("p"),
    "?": frozenset("JKhl"),
}
# xterm.js repeats these one by one: a large number would block the browser.
_REPEATED = frozenset("ILMSTZb")
_LARGE: Final = re.compile(r"[0-9]{4,}")
_LARGEST = "999"
_MODES = {
    "": frozenset({"4", "20"}),
    "?": frozenset({"5", "6", "7", "12", "25", "45", "1048", *ALTERNATE_MODES}),
}


class SafeOutputFilter:
    """Filters the output of one pane in pieces; a sequence may be torn between two of them."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._tokens = Tokenizer()

    def feed(self, data: bytes) -> str:
        """Return the text and the harmless sequences of the next bytes."""
        return "".join(map(_filter_token, self._tokens.feed(self._decoder.decode(data))))


def make_safe(text: str) -> str:
    """Filter a text that is complete."""
    return SafeOutputFilter().feed(text.encode("utf-8", "replace"))


def _filter_token(token: Token) -> str:
    """Return what passes of a token."""
    kind, name, parameters = token
    if kind is TokenKind.TEXT:
        return name if name.isascii() else _DIRECTIONS.sub("", name)
    if kind is TokenKind.CONTROL:
        return name if name in _CONTROLS else ""
    if kind is TokenKind.ESCAPE:
        return ESC + name if name in _ESCAPES else ""
    return _filter_sequence(name, parameters)


def _filter_sequence(name: str, parameters: str) -> str:
    marks, final = name[:-1], name[-1]
    if final not in _SEQUENCES.get(marks, ()):
        return ""
    if final in _REPEATED:
        return f"{CSI}{_LARGE.sub(_LARGEST, parameters)}{final}"
    private, between = (marks, "") if marks == "?" else ("", marks)
    if final not in "hl":
        return f"{CSI}{private}{parameters}{between}{final}"
    modes = [number for number in parameters.split(";") if number in _MODES[marks]]
    return f"{CSI}{marks}{';'.join(modes)}{final}" if modes else ""
