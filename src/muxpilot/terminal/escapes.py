"""The escape sequences of terminals: the only module that spells those that several others need.

A terminal reads four forms (ECMA-48; tmux accepts them in `input.c`):

    control sequence   ESC [ parameters intermediates final     colours, cursor movements, modes
    string             ESC ] … BEL, or ESC ] … ESC \\            titles, clipboard, links, marks of shells
                       ESC P, X, ^, _ or k … ESC \\              images, pass-through, titles of GNU screen
    escape sequence    ESC intermediates final                  save cursor, character sets
    control character  one byte                                 line feed, backspace, bell

The names without `_BYTES` are text. Patterns are strings that other patterns are built of; all of them are
ASCII, so `.encode()` gives the pattern for bytes.
"""

from __future__ import annotations

import re

ESC = "\x1b"
ESC_BYTES = b"\x1b"
BEL_BYTES = b"\x07"
CSI = "\x1b["  # begins a control sequence
OSC_BYTES = b"\x1b]"  # begins a string that BEL may end
# The number in muxpilot's own sequences: the key that asks a shell how much is typed, and the launcher's exit
# mark. No terminal uses it. The scripts in shell_table/scripts/ spell it too.
PRIVATE_NUMBER = "7717"
# For a negated character class in a pattern of bytes: what cannot be inside a string that BEL ends.
STRING_ENDS_BYTES = rb"\x07\x1b"

# A control or escape sequence; `re` searches this a tenth faster than the alternation of both.
ANY_SEQUENCE = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[ -/]*[0-~])"
SGR_SEQUENCE = r"\x1b\[[0-9;:]*m"  # colours and attributes of text
OSC_STRING = r"\x1b\][^\x07\x18\x1a\x1b]*(?:\x07|\x1b\\)"  # titles, links
# The cursor goes to a row of the screen. `clear` and line editors go only to the first one, or up and down.
ROW_ADDRESS_BYTES = rb"\x1b\[[0-9]+(?:;[0-9]+[Hf]|d)"
# What is not seen of a text, in bytes: sequences, strings, and control characters but tab and line feed.
UNSEEN_BYTES = (
    rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]"
    rb"|[\x00-\x08\x0b-\x1f\x7f]"
)
# The beginning of a control or escape sequence at the end of the data, whose rest has not arrived.
TORN_SEQUENCE = r"\x1b(?:\[[0-?]*[ -/]*|[ -/]*)\Z"
# The same where the next sequence begins: that cuts it, and it means nothing.
CUT_SEQUENCE = r"\x1b(?:\[[0-?]*+[ -/]*+|[ -/]*+)(?=\x1b|\Z)"
STRING_START = r"\x1b[\]PX^_k]"
STRING_END = r"\x07|\x1b\\|[\x18\x1a]"

# What `terminal/tokens.py` searches for, in this order; each is one named group. A terminal executes controls
# inside a sequence at once and ignores other foreign characters there; CAN, SUB and ESC end the sequence.
TOKEN = (
    r"(?P<lines>(?<=\n)(?:(?:[ -~]++|\x1b\[[0-9;:]*+m)*+\r\n){2,}+)"  # whole lines of text and colours
    r"|(?P<text>[^\x00-\x1f\x7f-\x9f]++)"
    r"|(?P<csi>\x1b\[([<-?]?)([0-9:;]*+)([ -/]*+)([@-~]))"
    r"|(?P<escape>\x1b([ -/]++[0-~]|[0-OQ-WYZ\\`-jl-~]))"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x9f])"
    r"|(?P<string>\x1b(?:[\]X^_k]|P[<-?]?[0-9;]*+[ -/]*+[@-~]))"
    r"|(?P<torn>\x1b"
    r"(?:P?[<-?]?[0-9;]*+[ -/]*+|[^\x18\x1a\x1b0-~]*+|[^\x18\x1a\x1b -~]*+\[[^\x18\x1a\x1b@-~]*+)\Z)"
    r"|(?P<odd>\x1b(?:[^\x18\x1a\x1b -~]*+\[[^\x18\x1a\x1b@-~]*+[@-~]?|[^\x18\x1a\x1b0-~]*+[0-~]?))"
)
# What a terminal executes or ignores inside a sequence.
FOREIGN = r"[\x00-\x1a\x1c-\x1f\x7f-\U0010ffff]"
# What is inside a string, by the character after ESC. An ESC that ends a string begins the next sequence, but
# in a device control string (P) only ESC \\ ends it.
STRING_BODIES = {
    "]": r"[^\x07\x18\x1a\x1b]*+",
    "P": r"(?:[^\x1b]++|\x1b[^\\])*+",
    "X": r"[^\x18\x1a\x1b]*+",
}
# The end of plain output whose meaning depends on what follows.
TORN_PLAIN = r"(?:\r+|\x1b(?:\[[0-?]{0,63}[ -/]?)?)\Z"
LINK = r"\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)"  # begins or ends a link
CODE_OR_TEXT = rf"({SGR_SEQUENCE}|{LINK})|[^\x1b]+"  # what tmux captures; group 1 is a code
# Chooses a character set, shifts to it, or saves, restores or resets the choice.
CHARACTER_SET_CHANGE = r"[\x0e\x0f]|\x1b(?:[()][0B]|[78c]|\[[su])"
# For `terminal/lines.py`, which only looks for lines. A movement to another place ends a line, one to the
# right is a blank, and most sequences are colours. The last pattern changes nothing on the screen.
MOVE_AWAY = r"\x1b\[[0-9;]*[ABEFHJLMSTdfru]|\x1b\[1?G|\x1b[78DEMc]"
MOVE_RIGHT = r"\x1b\[[0-9]*[CG]"
COLOUR_OR_ERASE = r"\x1b\[[0-9;]*[mK]"
INVISIBLE = r"\x1b\[[0-?]*[ -/]*[mnctqhl]|\x1b[ -/]+[0-~]|\x1b[=>]|[\x00-\x07\x0e\x0f\x7f]"

# What line editors print while a person types. Simpler than the above: the echo of a line is compared without
# these, and a character too many or too few does not matter there.
LINE_EDITOR_SEQUENCE = r"\x1b\[[0-9;?]*[@-~]|\x1b[^\[]"

# Full-screen programs switch to the alternate screen by one of these modes: tmux knows all three.
ALTERNATE_MODES = ("1049", "1047", "47")
# One sequence may set several modes. tmux discards a sequence with more than 63 bytes of parameters.
_MORE_MODES = "[0-9;]{0,60}"
_ALTERNATE = rf"\x1b\[\?(?:{_MORE_MODES};)?(?:{'|'.join(ALTERNATE_MODES)})(?:;{_MORE_MODES})?"
ALTERNATE_SEQUENCE = f"{_ALTERNATE}[hl]"
# Group 1 is `h` where a full-screen program begins, and `l` where it ends.
ALTERNATE_SWITCH = re.compile(f"{_ALTERNATE}([hl])")
ALTERNATE_SWITCH_BYTES = re.compile(f"{_ALTERNATE}([hl])".encode())

SGR = re.compile(r"\x1b\[([0-9;:]*)m")  # group 1 is the parameters

ERASE_LINE_ABOVE = "\x1b[1A\x1b[2K"

PASTE_START_BYTES = b"\x1b[200~"
PASTE_END_BYTES = b"\x1b[201~"
PASTE_END = "\x1b[201~"
# A program asks for bracketed pastes with this and `h`, and ends that with `l`.
PASTE_MODE_BYTES = b"\x1b[?2004"

RESET_TERMINAL = "\x1bc"
RESET_STYLE = "\x1b[0m"
CLEAR_SCREEN = "\x1b[H\x1b[2J"
ERASE_ROW_BYTES = b"\x1b[2K"
DIM_BYTES = b"\x1b[2m"
HIDE_CURSOR = "\x1b[?25l"
LEAVE_ALTERNATE_SCREEN = "\x1b[?1049l"
# Margins (which move the cursor home, so it is saved), style, character set, reverse video, origin mode, line
# wrap, cursor and its shape.
RESTORE_DEFAULTS = "\x1b7\x1b[r\x1b8\x1b[0m\x1b(B\x0f\x1b[?5;6l\x1b[?7;25h\x1b[0 q"


def count_torn_mark(data: bytes, introducer: bytes, *, longest: int, start: int = 0) -> int:
    """Return how many of the last bytes may be the beginning of a mark: an OSC string that BEL ends.

    No mark is longer than `longest` bytes; `start` is the end of the last complete one.
    """
    at = data.rfind(ESC_BYTES, max(start, len(data) - longest))
    if at < 0:
        return 0
    tail = data[at:]
    is_mark = introducer.startswith(tail) or (tail.startswith(introducer) and BEL_BYTES not in tail)
    return len(tail) if is_mark else 0


def move_cursor(column: int, row: int) -> str:
    """Return the sequence that moves the cursor; both numbers count from 0."""
    return f"\x1b[{row + 1};{column + 1}H"


# For text that muxpilot itself shows: reverse video, and back.
REVERSE, PLAIN = "\x1b[7m", "\x1b[0m"
# What a key without a character sends, as one match; and the rows by which some of them move a text.
KEY_SEQUENCE_BYTES = rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)"
SCROLL_KEYS = {b"\x1b[A": -1, b"\x1bOA": -1, b"\x1b[B": 1, b"\x1bOB": 1, b"\x1b[5~": -5, b"\x1b[6~": 5}
