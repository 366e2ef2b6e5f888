"""The input line of each pane, as far as our own keys show it. Raw input is judged when Enter is pressed.

We do not see text from people, programs, completion or history. After a key that inserts such text the line
is unknown, and is refused when it would be entered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice

from muxpilot.policy.decide import ShellText
from muxpilot.policy.erase_keys import CLEAR_LINE, ERASE, INTERRUPT, UNDO_KEYS
from muxpilot.records import record
from muxpilot.toolkit.argument_flags import PressedKey

_MOST_PANES = 1000
_LONGEST = 4_000
_LONGEST_EARLIER = 1_000
_MOST_STROKES = 20_000
_MOST_LINES = 200

_ENTER = frozenset({"Enter", "KPEnter", "C-m", "C-j", "C-o", "\r", "\n"})
_END_OF_FILE = frozenset({"C-d", "\x04"})
_NO_EFFECT = frozenset({"C-l", "C-g", "C-q", "C-s", "\x0c"})
# Keys that move, complete, recall or edit. The line is unknown after them, but they do not enter it.
_NEVER_ENTER = frozenset(
    {
        *("Up Down Left Right Home End PPage NPage Tab BTab IC DC PageUp PageDown Insert Delete".split()),
        *(f"C-{letter}" for letter in "abdefghiklnpqrstuwyz"),
        *(UNDO_KEYS | _END_OF_FILE | _NO_EFFECT),
        *(chr(ord(letter) & 0x1F) for letter in "abdefghiklnpqrstuwyz"),
    }
)
_TEXT = {"Space": " ", **{f"KP{char}": char for char in "0123456789/*-+."}}


@record
class InputLine:
    """The text before the cursor. `unfinished` holds entered lines that did not yet complete a statement."""

    text: str = ""
    unfinished: str = ""
    is_known: bool = True


class InputLines:
    """The input lines of panes, by server and pane. The least recently used ones are forgotten."""

    def __init__(self) -> None:
        self._lines: OrderedDict[tuple[str, str], InputLine] = OrderedDict()

    def get(self, socket: str, pane: str) -> InputLine:
        return self._lines.get((socket, pane), InputLine())

    def set(self, socket: str, pane: str, line: InputLine) -> None:
        """Remember a pane's line."""
        self._lines.pop((socket, pane), None)
        if line != InputLine():
            self._lines[socket, pane] = line
        while len(self._lines) > _MOST_PANES:
            self._lines.popitem(last=False)


def has_undo_key(strokes: Iterable[str]) -> bool:
    return any(stroke in UNDO_KEYS for stroke in islice(_split_strokes(strokes), _MOST_STROKES))


def apply_strokes(
    line: InputLine, strokes: Iterable[str], working: frozenset[str] = UNDO_KEYS
) -> tuple[list[ShellText], InputLine]:
    """Return each text that the strokes would enter, and the line after them.

    An undo key that is not in `working` leaves the line unknown.
    """
    texts: list[ShellText] = []
    for number, stroke in enumerate(_split_strokes(strokes)):
        if number >= _MOST_STROKES or len(texts) > _MOST_LINES:
            return [*texts, ShellText("", problem=_TOO_MUCH)], InputLine(is_known=False)
        if stroke in _ENTER:
            text, line = _press_enter(line)
            texts += text
        else:
            texts += _texts_if_entered(line, stroke)
            line = _apply_stroke(line, stroke, working)
    return texts, line


def append_command(
    line: InputLine, command: str, *, enters: bool, is_raw: bool
) -> tuple[ShellText, InputLine]:
    """Return the text that a command would enter after what the line holds, and the line after it."""
    text = f"{line.unfinished}{line.text}{command}"
    problem = None if line.is_known else _UNKNOWN_LINE
    return ShellText(text, is_at_prompt=is_raw, problem=problem), InputLine() if enters else InputLine(
        f"{line.text}{command}", line.unfinished
    )


_TOO_MUCH = f"it cannot be judged: it is over {_MOST_STROKES} characters or {_MOST_LINES} lines in one call"
_UNKNOWN_LINE = (
    "it cannot be judged: keys on that line complete, recall or move, or do not erase here; press C-c first"
)


def _split_strokes(strokes: Iterable[str]) -> Iterable[str]:
    for stroke in strokes:
        if isinstance(stroke, PressedKey):
            yield stroke
        else:
            yield from stroke.replace("\r\n", "\n")


def _texts_if_entered(line: InputLine, stroke: str) -> list[ShellText]:
    """Return the line if the key may enter it: Escape, Meta, C-x and unknown keys do in some shells."""
    if _is_text(stroke) or stroke in _NEVER_ENTER:
        return []
    return [
        ShellText(
            f"{line.unfinished}{line.text}", is_typed=True, problem=None if line.is_known else _UNKNOWN_LINE
        )
    ]


def _is_text(stroke: str) -> bool:
    char = _TEXT.get(stroke, stroke)
    return len(char) == 1 and char.isprintable()


def _press_enter(line: InputLine) -> tuple[list[ShellText], InputLine]:
    text = f"{line.unfinished}{line.text}"
    problem = None if line.is_known else _UNKNOWN_LINE
    alone = [ShellText(line.text, is_typed=True, problem=problem)]
    if not line.unfinished and not _is_incomplete(text):
        return alone, InputLine()
    whole = [] if line.unfinished == "" else [ShellText(text, is_typed=True, problem=problem)]
    # A text that is never complete is not shell input: keep only its last lines.
    return alone + whole, InputLine(unfinished=f"{text}\n"[-_LONGEST_EARLIER:]) if _is_incomplete(
        text
    ) else InputLine()


def _is_incomplete(text: str) -> bool:
    """Return whether a shell would wait for more: after an open quote, a final backslash, an open block."""
    from muxpilot.policy.shell import read_statements

    return bool(text.strip()) and (text.endswith("\\") or not read_statements(text).is_shell)


def _apply_stroke(line: InputLine, stroke: str, working: frozenset[str]) -> InputLine:
    if stroke in UNDO_KEYS - working:
        return line if line == InputLine() else InputLine(line.text, line.unfinished, is_known=False)
    if stroke in INTERRUPT or (stroke in _END_OF_FILE and not line.text and line.is_known):
        return InputLine()
    if stroke in _NO_EFFECT:
        return line
    if stroke in CLEAR_LINE and line.is_known:
        return InputLine("", line.unfinished)
    if stroke in ERASE and line.is_known:
        return InputLine(line.text[:-1], line.unfinished)
    if _is_text(stroke) and len(line.text) < _LONGEST:
        return InputLine(line.text + _TEXT.get(stroke, stroke), line.unfinished, line.is_known)
    return InputLine(line.text, line.unfinished, is_known=False)
