"""What panes print, as a terminal in a browser may have it: only what draws is left.

A program in a pane is nobody's friend. What would reach a clipboard, a title, a link, the size of a window or
an answer to a question is not passed on; neither is what is not known here. What is left are text, the
sequences of the tables below, and nothing else that begins with ESC.
What is to be done many times is done 999 times at most.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

_TOKEN: Final = re.compile(
    r"\x1b\[(?P<mark>[<=>?]?)(?P<numbers>[0-9;:]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|\x1b\][^\x07\x18\x1a\x1b]*(?:[\x07\x18\x1a]|\x1b\\|(?=\x1b[^\\]))"  # titles, clipboard, links
    r"|\x1b[X^_k][^\x18\x1a\x1b]*(?:[\x18\x1a]|\x1b\\|(?=\x1b[^\\]))"  # other strings
    r"|\x1bP.*?\x1b\\"  # a string that may hold escapes: images, what is passed through
    r"|(?P<torn>\x1b(?:\][^\x07\x18\x1a\x1b]*\x1b?|[X^_k][^\x18\x1a\x1b]*\x1b?|P.*|\[[0-?]*[ -/]*|[ -/]*)\Z)"
    r"|(?P<escape>\x1b[ -/]*[0-~])"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069])",
    re.DOTALL,
)

_CONTROLS = frozenset("\b\t\n\v\f\r\x0e\x0f")
_ESCAPES = frozenset({"\x1b" + rest for rest in (*"78DEHMcno", "#8", "(0", "(B", "(A", ")0", ")B", ")A")})
# By mark and what stands before the last letter; the letter itself.
_SEQUENCES = {
    ("", ""): frozenset("@ABCDEFGHIJKLMPSTXZ`abdefgmrsuhl"),
    ("", " "): frozenset("q"),
    ("", "!"): frozenset("p"),
    ("?", ""): frozenset("JKhl"),
}
# A terminal in a browser does these as often as it is told, one by one: a large number would be its end.
_REPEATED = frozenset("ILMSTZb")
_LARGE: Final = re.compile(r"[0-9]{4,}")
_LARGEST = "999"
_MODES = {
    "": frozenset({"4", "20"}),
    "?": frozenset({"5", "6", "7", "12", "25", "45", "47", "1047", "1048", "1049"}),
}

_STRINGS = "]X^_kP"
_LONGEST_TORN = 256


class Harmless:
    """One pane's output, piece by piece: a sequence may be torn between two pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._torn = ""

    def pass_on(self, data: bytes) -> str:
        text, self._torn = self._torn + self._decoder.decode(data), ""
        return _TOKEN.sub(self._kept, text)

    def _kept(self, token: re.Match[str]) -> str:
        if token["final"]:
            return _sequence(token)
        if token["escape"]:
            return token[0] if token[0] in _ESCAPES else ""
        if token["control"]:
            return token[0] if token[0] in _CONTROLS else ""
        if token["torn"]:
            self._torn = _beginning(token[0])
        return ""


def harmless(text: str) -> str:
    """The same for a text that is whole."""
    return Harmless().pass_on(text.encode("utf-8", "replace"))


def _sequence(token: re.Match[str]) -> str:
    mark, numbers, final = token["mark"], token["numbers"], token["final"]
    if final not in _SEQUENCES.get((mark, token["between"]), ()):
        return ""
    if final in _REPEATED:
        return f"\x1b[{_LARGE.sub(_LARGEST, numbers)}{final}"
    if final not in "hl":
        return token[0]
    modes = [number for number in numbers.split(";") if number in _MODES[mark]]
    return f"\x1b[{mark}{';'.join(modes)}{final}" if modes else ""


def _beginning(torn: str) -> str:
    """What must be remembered of it: of a string, that it has begun, and an ESC that may end it."""
    if len(torn) > 1 and torn[1] in _STRINGS:
        return torn[:2] + ("\x1b" if torn.endswith("\x1b") and len(torn) > 2 else "")
    return torn if len(torn) <= _LONGEST_TORN else ""
