"""Which layouts tmux may be given: an unknown one ends a tmux 3.3a server, with everything in it."""

from __future__ import annotations

import re

from muxpilot.errors import BadInput
from muxpilot.tmux.version import MIRRORED_LAYOUTS, Version

NAMES = ("even-horizontal", "even-vertical", "main-horizontal", "main-vertical", "tiled")
MIRRORED = ("main-horizontal-mirrored", "main-vertical-mirrored")

_CELL = re.compile(r"\d{1,5}x\d{1,5},\d{1,5},\d{1,5}(?:,\d{1,10})?", re.ASCII)
_CLOSING = {"{": "}", "[": "]"}
_DEEPEST = 100


def check(layout: str, version: Version) -> None:
    """Refuse all but tmux's own names and texts of the form that tmux itself prints."""
    known = NAMES + (MIRRORED if version >= MIRRORED_LAYOUTS else ())
    if layout not in known and not is_layout_text(layout):
        raise BadInput(
            f"{layout!r} is not a layout.", f"Use one of {', '.join(known)}, or a layout that tmux printed."
        )


def is_layout_text(text: str) -> bool:
    """`b25d,200x50,0,0{100x50,0,0,1,99x50,101,0,2}`: a checksum, then nested cells."""
    checksum, comma, cells = text.partition(",")
    if not comma or not re.fullmatch("[0-9a-f]{4}", checksum) or int(checksum, 16) != _checksum(cells):
        return False
    return _cell_end(cells, 0, 0) == len(cells)


def _cell_end(text: str, start: int, depth: int) -> int:
    """Where the cell that starts here ends, or -1."""
    cell = _CELL.match(text, start)
    if cell is None or depth > _DEEPEST:
        return -1
    closing = _CLOSING.get(text[cell.end() : cell.end() + 1])
    if closing is None:
        return cell.end()
    position = cell.end()
    while True:
        position = _cell_end(text, position + 1, depth + 1)
        if position < 0 or text[position : position + 1] not in (",", closing):
            return -1
        if text[position] == closing:
            return position + 1


def _checksum(cells: str) -> int:
    value = 0
    for byte in cells.encode():
        value = ((value >> 1) + ((value & 1) << 15) + byte) & 0xFFFF
    return value
