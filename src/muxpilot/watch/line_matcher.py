"""Finding a pattern in many lines at once: RE2 looks at them all, then at the one line that it fits."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from muxpilot.errors import BadInput
from muxpilot.patterns import compiled

# With these a line's match may be none in a block of lines.
_NEEDS_ITS_LINE = re.compile(r"\\[AzC]|\(\?[a-zA-Z]*-|\(\?[a-zA-Z]*[ms]")


class Found(NamedTuple):
    at: int
    line: bytes


class Finder:
    """Lines are matched one by one; `argument` is what a bad pattern is called in the error."""

    def __init__(self, pattern: str, argument: str) -> None:
        self._search = compiled(pattern, argument).search
        self._search_block = None if _NEEDS_ITS_LINE.search(pattern) else _in_block(pattern)

    def first(self, block: bytes) -> Found | None:
        """The first line that matches, of lines with a newline between them."""
        at = 0
        while at <= len(block):
            if self._search_block is not None:
                somewhere = self._search_block(block, at)
                if somewhere is None:
                    return None
                at = block.rfind(b"\n", 0, somewhere.start()) + 1
            end = block.find(b"\n", at)
            end = len(block) if end < 0 else end
            line = block[at:end]
            if self._search(line) is not None:
                return Found(at, line)
            at = end + 1
        return None


def _in_block(pattern: str) -> Any:
    try:
        return compiled(f"(?m:{pattern})", "pattern").search
    except BadInput:  # a group that the first one closed
        return None
