"""What the name of a workspace, or of a pane in it, may be."""

from __future__ import annotations

import re

_LONGEST = 64
# It begins with a letter, a digit or `_`, so that neither `..` nor the flag `-t` is a name.
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a pane or a workspace. No id and no target can."""
    return len(text) <= _LONGEST and _WORD.fullmatch(text) is not None
