"""Texts of this scope: tables as lines of cells, and errors in tmux's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from muxpilot.errors import MuxpilotError, NameTaken, NotFound, PaneDead
from muxpilot.terminal.sanitize import sanitize_text

_LONGEST_REPEATED = 200  # characters of a target that an error repeats


def format_lines(rows: Iterable[Sequence[object]], nothing: str) -> str:
    """Return one line for each row, its cells separated by tabs."""
    return "\n".join("\t".join(_cell(str(cell)) for cell in row) for row in rows) or nothing


def _cell(text: str) -> str:
    """Replace tabs and newlines: in a name they would look like more cells and lines."""
    return re.sub(r"[\t\r\n]", " ", sanitize_text(text))


def format_error(error: MuxpilotError) -> str:
    """Return `Error: ` and tmux's words if it has some for this error, else ours."""
    if error.tmux_message:
        return f"Error: {error.tmux_message}"
    if isinstance(error, NotFound) and error.wanted is not None:
        return f"Error: can't find {error.noun}: {_cell(error.wanted[:_LONGEST_REPEATED])}"
    if isinstance(error, NameTaken):
        return f"Error: duplicate session: {error.name}"
    if isinstance(error, PaneDead):
        return "Error: target pane has exited"
    return f"Error: {error}"
