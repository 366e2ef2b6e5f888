"""What version 1 made of what programs print, where tmux shows something else: found by the terminal proof.

`tests/terminal/test_version_1_defects.py` compares each with tmux, and docs/proof.md lists them.
"""

from __future__ import annotations

from typing import NamedTuple


class Defect(NamedTuple):
    """What is printed on 20 columns and 6 rows, the lines that version 1 made of it, and those of tmux."""

    printed: str
    before: tuple[str, ...]
    wanted: tuple[str, ...]


DEFECTS = {
    "line drawing chosen for G0": Defect("\x1b(0lqqk\x1b(B box", ("lqqk box",), ("┌──┐ box",)),
    "line drawing chosen for G1, with shifts": Defect("\x1b)0\x0etqx\x0f text", ("tqx text",), ("├─│ text",)),
    "line drawing restored with the cursor": Defect("\x1b(0\x1b7\x1b(Bq\x1b8q", ("q",), ("─",)),
    "REP": Defect("-\x1b[9b", ("-",), ("----------",)),
    "REP of line drawing": Defect("\x1b(0q\x1b[4b\x1b(B", ("q",), ("─────",)),
    "ED 1": Defect("abc\r\ndef\r\nghi\x1b[2;2H\x1b[1J", ("abc", "def", "ghi"), ("  f", "ghi")),
    "insert mode": Defect("abc\r\x1b[4hX\x1b[4lY", ("XYc",), ("XYbc",)),
    "no wrapping": Defect("\x1b[?7l" + "a" * 30 + "b", ("a" * 30 + "b",), ("a" * 19 + "b",)),
    "back to a tab stop": Defect("0123456789\x1b[Zx", ("0123456789x",), ("01234567x9",)),
    "half of a wide character that is overwritten": Defect("世界\rX", ("X界",), ("X 界",)),
    "what scrolls out of a region in the middle": Defect(
        "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\nX", ("a", "b", "c", "X", "d"), ("b", "a", "c", "X", "d")
    ),
    "the end of a region": Defect("\x1b[1;2r\x1b[9Bx\x1b[6;1Hy", ("y",), ("x", "y")),
    "rows inserted in a region": Defect(
        "a\r\nb\r\nc\r\nd\x1b[1;3r\x1b[2;1H\x1b[L", ("a", "b", "c", "d"), ("a", "b", "d")
    ),
    "the cursor of the alternate screen 47": Defect("a\x1b[?47hXY\x1b[?47lb", ("ab",), ("a  b",)),
    "a control character inside a sequence": Defect("abc\x1b[\r2Cx", ("2Cx",), ("abx",)),
    "a sequence that another one cuts": Defect("ab\x1b[5\x1b[Dx", ("abx",), ("ax",)),
    "a soft reset": Defect("\x1b[?7l\x1b[!p" + "a" * 30, ("a" * 30,), ("a" * 20,)),
    "C1 characters": Defect("a\u0085b\u009b2Jc", ("a", "b2Jc"), ("ab2Jc",)),
    "CAN and SUB inside a sequence": Defect("ab\x1b[5\x18Cc\x1b(\x1a0q", ("ab5Cc(0q",), ("abCc0q",)),
}
