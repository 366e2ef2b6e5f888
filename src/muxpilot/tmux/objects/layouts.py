"""Which layouts tmux may be given: an unknown one ends a tmux 3.3a server, with everything in it.

So does, up to 3.5 at least, a text whose cells do not fit into each other where there are more of them than
panes, and `tiled` in a window that has fewer rows than borders. What tmux prints itself always fits, but
for the size of the outermost cell, which tmux corrects when it reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from muxpilot.errors import BadInput, Refused
from muxpilot.tmux.models import Window
from muxpilot.tmux.version import MIRRORED_LAYOUTS, Version

NAMES = ("even-horizontal", "even-vertical", "main-horizontal", "main-vertical", "tiled")
MIRRORED = ("main-horizontal-mirrored", "main-vertical-mirrored")

_CELL = re.compile(r"([0-9]{1,5})x([0-9]{1,5}),[0-9]{1,5},[0-9]{1,5}(?:,[0-9]{1,10})?")
_CLOSING = {"{": "}", "[": "]"}
_DEEPEST = 100
_LARGEST = 10_000


def check(layout: str, version: Version) -> None:
    """Refuse all but tmux's own names and texts of the form that tmux itself prints."""
    known = NAMES + (MIRRORED if version >= MIRRORED_LAYOUTS else ())
    if layout not in known and not is_layout_text(layout):
        raise BadInput(
            f"{layout!r} is not a layout.", f"Use one of {', '.join(known)}, or a layout that tmux printed."
        )


def check_room(layout: str, window: Window) -> None:
    """Refuse to tile a window that is lower or narrower than the borders it would get."""
    rows = columns = 1
    while rows * columns < window.panes:
        rows += 1
        columns += rows * columns < window.panes
    if layout == "tiled" and (window.height < rows - 1 or window.width < columns - 1):
        raise Refused(
            f"A window of {window.width}x{window.height} cannot hold {window.panes} panes as tiles.",
            "Make it larger first.",
        )


def is_layout_text(text: str) -> bool:
    """`b25d,200x50,0,0{100x50,0,0,1,99x50,101,0,2}`: a checksum, then cells that fill each other."""
    checksum, comma, cells = text.partition(",")
    if not comma or not re.fullmatch("[0-9a-f]{4}", checksum) or int(checksum, 16) != _checksum(cells):
        return False
    try:
        return _cell(cells, 0, 0).end == len(cells)
    except _Unfit:
        return False


class _Unfit(Exception):
    pass


class _Cell(NamedTuple):
    width: int
    height: int
    end: int


def _cell(text: str, start: int, depth: int) -> _Cell:
    """The cell that starts here, with everything in it."""
    found = _CELL.match(text, start)
    if found is None or depth > _DEEPEST:
        raise _Unfit
    width, height, end = int(found[1]), int(found[2]), found.end()
    if max(width, height) > _LARGEST:
        raise _Unfit
    opening = text[end : end + 1]
    if opening in _CLOSING:
        inner = list(_inner(text, end, depth + 1))
        if _extent(opening, inner) != (width, height) and depth:
            raise _Unfit
        end = inner[-1].end + 1
    return _Cell(width, height, end)


def _inner(text: str, start: int, depth: int) -> Iterator[_Cell]:
    position, closing = start, _CLOSING[text[start]]
    while text[position : position + 1] != closing:
        cell = _cell(text, position + 1, depth)
        position = cell.end
        if text[position : position + 1] not in (",", closing):
            raise _Unfit
        yield cell


def _extent(opening: str, inner: Sequence[_Cell]) -> tuple[int, int]:
    """Side by side in `{}`, one above the other in `[]`, with a border of one cell between two."""
    widths, heights = [cell.width for cell in inner], [cell.height for cell in inner]
    along, across = (widths, heights) if opening == "{" else (heights, widths)
    length = sum(along) + len(along) - 1
    if len(inner) < 2 or len(set(across)) > 1 or length > _LARGEST:
        raise _Unfit
    return (length, across[0]) if opening == "{" else (across[0], length)


def _checksum(cells: str) -> int:
    value = 0
    for byte in cells.encode():
        value = ((value >> 1) + ((value & 1) << 15) + byte) & 0xFFFF
    return value
