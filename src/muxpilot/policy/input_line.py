"""What stands on the line of a pane, as far as our own keys tell: raw input is judged when Enter is pressed.

What people type, what a program prints there and what completion or history put there is not seen. A line
that holds such a key is not known, and is refused when it would be entered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice

from muxpilot.policy.decide import Text
from muxpilot.policy.erase_keys import CLEAR, ERASE, FORGET, TAKING_BACK
from muxpilot.records import record
from muxpilot.toolkit.argument_flags import Key

_MOST_PANES = 1000
_LONGEST = 4_000
_LONGEST_EARLIER = 1_000
_MOST_STROKES = 20_000
_MOST_LINES = 200

_ENTER = frozenset({"Enter", "KPEnter", "C-m", "C-j", "C-o", "\r", "\n"})
_END = frozenset({"C-d", "\x04"})
_NOTHING = frozenset({"C-l", "C-g", "C-q", "C-s", "\x0c"})
# They move, complete, recall or edit; what then stands there is not known, but it is not entered by them.
_NEVER_ENTER = frozenset(
    {
        *("Up Down Left Right Home End PPage NPage Tab BTab IC DC PageUp PageDown Insert Delete".split()),
        *(f"C-{letter}" for letter in "abdefghiklnpqrstuwyz"),
        *(TAKING_BACK | _END | _NOTHING),
        *(chr(ord(letter) & 0x1F) for letter in "abdefghiklnpqrstuwyz"),
    }
)
_TEXT = {"Space": " ", **{f"KP{char}": char for char in "0123456789/*-+."}}


@record
class Line:
    """`earlier` are lines that were entered but did not end a statement yet."""

    text: str = ""
    earlier: str = ""
    is_known: bool = True


class Typed:
    """The lines of all panes, by server and pane; the ones used last are kept."""

    def __init__(self) -> None:
        self._lines: OrderedDict[tuple[str, str], Line] = OrderedDict()

    def line(self, socket: str, pane: str) -> Line:
        return self._lines.get((socket, pane), Line())

    def keep(self, socket: str, pane: str, line: Line) -> None:
        self._lines.pop((socket, pane), None)
        if line != Line():
            self._lines[socket, pane] = line
        while len(self._lines) > _MOST_PANES:
            self._lines.popitem(last=False)


def takes_back(strokes: Iterable[str]) -> bool:
    return any(stroke in TAKING_BACK for stroke in islice(_single(strokes), _MOST_STROKES))


def entered(
    line: Line, strokes: Iterable[str], working: frozenset[str] = TAKING_BACK
) -> tuple[list[Text], Line]:
    """What the strokes would enter, line by line, and what then stands there.

    Keys that take back but are not `working` leave a line that is not known."""
    texts: list[Text] = []
    for number, stroke in enumerate(_single(strokes)):
        if number >= _MOST_STROKES or len(texts) > _MOST_LINES:
            return [*texts, Text("", problem=_TOO_MUCH)], Line(is_known=False)
        if stroke in _ENTER:
            text, line = _enter(line)
            texts += text
        else:
            texts += _perhaps_entered(line, stroke)
            line = _after(line, stroke, working)
    return texts, line


def before_command(line: Line, command: str, *, enters: bool, is_raw: bool) -> tuple[Text, Line]:
    """A command that is typed where something may stand already."""
    text = f"{line.earlier}{line.text}{command}"
    problem = None if line.is_known else _UNKNOWN
    return Text(text, is_at_prompt=is_raw, problem=problem), Line() if enters else Line(
        f"{line.text}{command}", line.earlier
    )


_TOO_MUCH = f"it cannot be judged: it is over {_MOST_STROKES} characters or {_MOST_LINES} lines in one call"
_UNKNOWN = (
    "it cannot be judged: that line holds keys that complete, recall or move, or take nothing back here; "
    "press C-c first"
)


def _single(strokes: Iterable[str]) -> Iterable[str]:
    for stroke in strokes:
        if isinstance(stroke, Key):
            yield stroke
        else:
            yield from stroke.replace("\r\n", "\n")


def _perhaps_entered(line: Line, stroke: str) -> list[Text]:
    """Escape, Meta, C-x and unknown keys enter a line in some shell: judged as if they did here."""
    if _is_text(stroke) or stroke in _NEVER_ENTER:
        return []
    return [Text(f"{line.earlier}{line.text}", is_typed=True, problem=None if line.is_known else _UNKNOWN)]


def _is_text(stroke: str) -> bool:
    char = _TEXT.get(stroke, stroke)
    return len(char) == 1 and char.isprintable()


def _enter(line: Line) -> tuple[list[Text], Line]:
    text = f"{line.earlier}{line.text}"
    problem = None if line.is_known else _UNKNOWN
    alone = [Text(line.text, is_typed=True, problem=problem)]
    if not line.earlier and not _goes_on(text):
        return alone, Line()
    whole = [] if line.earlier == "" else [Text(text, is_typed=True, problem=problem)]
    # Of what never ends, because it is no shell, the last lines are enough.
    return alone + whole, Line(earlier=f"{text}\n"[-_LONGEST_EARLIER:]) if _goes_on(text) else Line()


def _goes_on(text: str) -> bool:
    """Whether a shell would wait for more: an open quote, a backslash at the end, an open compound."""
    from muxpilot.policy.shell import read

    return bool(text.strip()) and (text.endswith("\\") or not read(text).is_shell)


def _after(line: Line, stroke: str, working: frozenset[str]) -> Line:
    if stroke in TAKING_BACK - working:
        return line if line == Line() else Line(line.text, line.earlier, is_known=False)
    if stroke in FORGET or (stroke in _END and not line.text and line.is_known):
        return Line()
    if stroke in _NOTHING:
        return line
    if stroke in CLEAR and line.is_known:
        return Line("", line.earlier)
    if stroke in ERASE and line.is_known:
        return Line(line.text[:-1], line.earlier)
    if _is_text(stroke) and len(line.text) < _LONGEST:
        return Line(line.text + _TEXT.get(stroke, stroke), line.earlier, line.is_known)
    return Line(line.text, line.earlier, is_known=False)
