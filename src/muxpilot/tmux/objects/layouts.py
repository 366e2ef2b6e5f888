"""Checks of layouts before tmux gets them, because a bad one can crash the server, with all its sessions.

These crash it: an unknown name (tmux 3.3a); a layout text with more cells than panes whose cells do not fit
into each other (up to 3.5 at least); and `tiled` in a window that has fewer rows than it would get borders. A
layout that tmux printed always fits, except for the outermost cell, whose size tmux corrects when reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from muxpilot.errors import BadInput, Refused
from muxpilot.tmux.models import Window
from muxpilot.tmux.version import MIRRORED_LAYOUTS, Version

LAYOUT_NAMES = ("even-horizontal", "even-vertical", "main-horizontal", "main-vertical", "tiled")
MIRRORED_NAMES = ("main-horizontal-mirrored", "main-vertical-mirrored")

_CELL = re.compile(r"([0-9]{1,5})x([0-9]{1,5}),[0-9]{1,5},[0-9]{1,5}(?:,[0-9]{1,10})?")
_CLOSING = {"{": "}", "[": "]"}
_DEEPEST = 100
_LARGEST = 10_000


def check_layout(layout: str, version: Version) -> None:
    """Refuse all layouts but tmux's own names and texts of the form that tmux itself prints."""
    known = LAYOUT_NAMES + (MIRRORED_NAMES if version >= MIRRORED_LAYOUTS else ())
    if layout not in known and not is_printed_layout(layout):
        raise BadInput(
            f"{layout!r} is not a layout.", f"Use one of {', '.join(known)}, or a layout that tmux printed."
        )


def check_window_fits(layout: str, window: Window) -> None:
    """Refuse to tile a window that has fewer rows or columns than it would get borders."""
    rows = columns = 1
    while rows * columns < window.panes:
        rows += 1
        columns += rows * columns < window.panes
    if layout == "tiled" and (window.height < rows - 1 or window.width < columns - 1):
        raise Refused(
            f"A window of {window.width}x{window.height} cannot hold {window.panes} panes as tiles.",
            "Make it larger first.",
        )


def is_printed_layout(text: str) -> bool:
    """Check a text such as `b25d,200x50,0,0{100x50,0,0,1,99x50,101,0,2}`: a checksum, then nested cells.

    The cells inside another cell must fill it exactly.
    """
    checksum, comma, cells = text.partition(",")
    if not comma or not re.fullmatch("[0-9a-f]{4}", checksum) or int(checksum, 16) != _checksum(cells):
        return False
    try:
        return _parse_cell(cells, 0, 0).end == len(cells)
    except _DoesNotFit:
        return False


class _DoesNotFit(Exception):
    """The text is not a layout that tmux would print."""


class _LayoutCell(NamedTuple):
    """The size of a cell, and where its text ends."""

    width: int
    height: int
    end: int


def _parse_cell(text: str, start: int, depth: int) -> _LayoutCell:
    """Parse the cell that starts here, with all cells inside it."""
    found = _CELL.match(text, start)
    if found is None or depth > _DEEPEST:
        raise _DoesNotFit
    width, height, end = int(found[1]), int(found[2]), found.end()
    if max(width, height) > _LARGEST:
        raise _DoesNotFit
    opening = text[end : end + 1]
    if opening in _CLOSING:
        inner = list(_parse_inner_cells(text, end, depth + 1))
        if _filled_size(opening, inner) != (width, height) and depth:
            raise _DoesNotFit
        end = inner[-1].end + 1
    return _LayoutCell(width, height, end)


def _parse_inner_cells(text: str, start: int, depth: int) -> Iterator[_LayoutCell]:
    position, closing = start, _CLOSING[text[start]]
    while text[position : position + 1] != closing:
        cell = _parse_cell(text, position + 1, depth)
        position = cell.end
        if text[position : position + 1] not in (",", closing):
            raise _DoesNotFit
        yield cell


def _filled_size(opening: str, inner: Sequence[_LayoutCell]) -> tuple[int, int]:
    """Return the size that cells fill: side by side in `{}`, stacked in `[]`, with a border between two."""
    widths, heights = [cell.width for cell in inner], [cell.height for cell in inner]
    along, across = (widths, heights) if opening == "{" else (heights, widths)
    length = sum(along) + len(along) - 1
    if len(inner) < 2 or len(set(across)) > 1 or length > _LARGEST:
        raise _DoesNotFit
    return (length, across[0]) if opening == "{" else (across[0], length)


def _checksum(cells: str) -> int:
    value = 0
    for byte in cells.encode():
        value = ((value >> 1) + ((value & 1) << 15) + byte) & 0xFFFF
    return value
