"""How the answers of this scope are worded: lines of cells, and failures as tmux tells them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated

from muxpilot.errors import MuxpilotError, NameTaken, NotFound
from muxpilot.toolkit.visible import visible

Given = Annotated[str, "The target as it was written"]
MaybeGiven = Annotated[str | None, "The target as it was written"]


def lines(rows: Iterable[Sequence[object]], nothing: str) -> str:
    """One line for each row; a tab or newline in a name would make others of it."""
    found = ("\t".join(re.sub(r"[\t\r\n]", " ", visible(str(cell))) for cell in row) for row in rows)
    return "\n".join(found) or nothing


def told(error: MuxpilotError) -> str:
    """`Error: ` and tmux's words where it has some for this, else ours."""
    if error.words:
        return f"Error: {error.words}"
    if isinstance(error, NotFound):
        return f"Error: can't find {error.noun}: {error.wanted}"
    if isinstance(error, NameTaken):
        return f"Error: duplicate session: {error.name}"
    return f"Error: {error}"
