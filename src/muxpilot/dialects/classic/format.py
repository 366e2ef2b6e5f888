"""How the answers of this scope are worded: lines of cells, and failures as tmux tells them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated

from muxpilot.errors import MuxpilotError, NameTaken, NotFound, PaneDead
from muxpilot.tmux import PaneId, WindowId
from muxpilot.toolkit.sanitize import visible

Given = Annotated[str, "The target as it was written"]
MaybeGiven = Annotated[str | None, "The target as it was written"]
NewName = Annotated[str, "New name"]
AWindow = Annotated[WindowId, 'Window target (e.g. "session:window", "@1")']
APane = Annotated[PaneId, 'Pane target (e.g. "session:window.pane", "%3")']


_LONGEST = 200  # of what is repeated in a failure


def lines(rows: Iterable[Sequence[object]], nothing: str) -> str:
    """One line for each row."""
    return "\n".join("\t".join(_cell(str(cell)) for cell in row) for row in rows) or nothing


def _cell(text: str) -> str:
    """A tab or newline in a name would make other cells and lines of it."""
    return re.sub(r"[\t\r\n]", " ", visible(text))


def told(error: MuxpilotError) -> str:
    """`Error: ` and tmux's words where it has some for this, else ours."""
    if error.words:
        return f"Error: {error.words}"
    if isinstance(error, NotFound) and error.wanted is not None:
        return f"Error: can't find {error.noun}: {_cell(error.wanted[:_LONGEST])}"
    if isinstance(error, NameTaken):
        return f"Error: duplicate session: {error.name}"
    if isinstance(error, PaneDead):
        return "Error: target pane has exited"
    return f"Error: {error}"
