"""Finding a pattern in many lines at once: RE2 searches them all, then the one line that it fits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from muxpilot.errors import BadInput
from muxpilot.patterns import compile_regex

# With these, a line that matches alone may not match in a block of lines.
_NEEDS_SINGLE_LINES = re.compile(r"\\[AzC]|\(\?[a-zA-Z]*-|\(\?[a-zA-Z]*[ms]")


class LineMatch(NamedTuple):
    """A line that matches, and where it begins in the block."""

    at: int
    line: bytes


class FindsLine(Protocol):
    """Finds the first line that fits, in a block of lines."""

    def find_first(self, block: bytes) -> LineMatch | None: ...


class LineMatcher:
    """A pattern that is matched against each line; an error names its argument and the item in it."""

    def __init__(self, pattern: str, argument: str, *, item: str | None = None) -> None:
        self._search = compile_regex(pattern, argument, item=item).search
        self._search_block = None if _NEEDS_SINGLE_LINES.search(pattern) else _compile_for_block(pattern)

    def find_first(self, block: bytes) -> LineMatch | None:
        """Return the first line that matches in a block of lines with a newline between them."""
        return self._find(block, 0)

    def find_all(self, block: bytes) -> Iterator[bytes]:
        """Yield all lines that match in a block."""
        at = 0
        while (found := self._find(block, at)) is not None:
            yield found.line
            at = found.at + len(found.line) + 1

    def _find(self, block: bytes, at: int) -> LineMatch | None:
        """Return the first line that matches, of those that begin at this place or later."""
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
                return LineMatch(at, line)
            at = end + 1
        return None


def _compile_for_block(pattern: str) -> Any:
    try:
        return compile_regex(f"(?m:{pattern})", "pattern").search
    except BadInput:  # the pattern closes a group that it did not open
        return None
