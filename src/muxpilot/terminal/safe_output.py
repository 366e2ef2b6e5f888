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

_TOKEN: Final = re.compile(
    r"\x1b\[(?P<mark>[<=>?]?)(?P<numbers>[0-9;:]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|\x1b\][^\x07\x18\x1a\x1b]*(?:[\x07\x18\x1a]|\x1b\\|(?=\x1b[^\\]))"  # titles, clipboard, links
    r"|\x1b[X^_k][^\x18\x1a\x1b]*(?:[\x18\x1a]|\x1b\\|(?=\x1b[^\\]))"  # other strings
    r"|\x1bP.*?\x1b\\"  # a string that may contain escapes: images, pass-through
    r"|(?P<torn>\x1b(?:\][^\x07\x18\x1a\x1b]*\x1b?|[X^_k][^\x18\x1a\x1b]*\x1b?|P.*|\[[0-?]*[ -/]*|[ -/]*)\Z)"
    r"|(?P<escape>\x1b[ -/]*[0-~])"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069])",
    re.DOTALL,
)

_CONTROLS = frozenset("\b\t\n\v\f\r\x0e\x0f")
_ESCAPES = frozenset({ESC + rest for rest in (*"78DEHMcno", "#8", "(0", "(B", "(A", ")0", ")B", ")A")})
# The final letters that pass, by private mark and intermediate characters.
_SEQUENCES = {
    ("", ""): frozenset("@ABCDEFGHIJKLMPSTXZ`abdefgmrsuhl"),
    ("", " "): frozenset("q"),
    ("", "!"): frozenset("p"),
    ("?", ""): frozenset("JKhl"),
}
# xterm.js repeats these one by one: a large number would block the browser.
_REPEATED = frozenset("ILMSTZb")
_LARGE: Final = re.compile(r"[0-9]{4,}")
_LARGEST = "999"
_MODES = {
    "": frozenset({"4", "20"}),
    "?": frozenset({"5", "6", "7", "12", "25", "45", "1048", *ALTERNATE_MODES}),
}

_STRINGS = "]X^_kP"
_LONGEST_TORN = 256


class SafeOutputFilter:
    """Filters the output of one pane in pieces; a sequence may be torn between two of them."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._torn = ""

    def feed(self, data: bytes) -> str:
        """Return the text and the harmless sequences of the next bytes."""
        text, self._torn = self._torn + self._decoder.decode(data), ""
        return _TOKEN.sub(self._replace_token, text)

    def _replace_token(self, token: re.Match[str]) -> str:
        if token["final"]:
            return _filter_sequence(token)
        if token["escape"]:
            return token[0] if token[0] in _ESCAPES else ""
        if token["control"]:
            return token[0] if token[0] in _CONTROLS else ""
        if token["torn"]:
            self._torn = _shorten_torn(token[0])
        return ""


def make_safe(text: str) -> str:
    """Filter a text that is complete."""
    return SafeOutputFilter().feed(text.encode("utf-8", "replace"))


def _filter_sequence(token: re.Match[str]) -> str:
    mark, numbers, final = token["mark"], token["numbers"], token["final"]
    if final not in _SEQUENCES.get((mark, token["between"]), ()):
        return ""
    if final in _REPEATED:
        return f"{CSI}{_LARGE.sub(_LARGEST, numbers)}{final}"
    if final not in "hl":
        return token[0]
    modes = [number for number in numbers.split(";") if number in _MODES[mark]]
    return f"{CSI}{mark}{';'.join(modes)}{final}" if modes else ""


def _shorten_torn(torn: str) -> str:
    """Return what must be remembered: of a string only its start, and an ESC that may end it."""
    if len(torn) > 1 and torn[1] in _STRINGS:
        return torn[:2] + (ESC if torn.endswith(ESC) and len(torn) > 2 else "")
    return torn if len(torn) <= _LONGEST_TORN else ""
