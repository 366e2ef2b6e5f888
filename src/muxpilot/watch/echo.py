"""Where a typed command's own output begins: behind the echo of its text.

This is the one place that knows it; a shell that marks where output starts can put its own in.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from muxpilot.reading.render import rendered
from muxpilot.watch.printed import plain

# Everything that came since the typing, and whether nothing more came for a while: where the output
# begins in it, or None as long as that is not known.
Beginning = Callable[[bytes, bool], int | None]

LONGEST_ECHO = 1 << 18
_FEW_LINES = 4
_BEGINNING = 3
_FULL_LINE = re.compile(rb" \r\x1b\[K(.)\r(?=\1)")
_STRINGS = re.compile(rb"\x1b[\]PX^_k][^\x07\x1b]*(?:\x07|\x1b\\)?")
_PROMPT_SIGN = re.compile(rb"[$#%>\xbb\x9d\xaf\xa4\]:)~]\s*\Z")


class Echo:
    """The echo of one text that was typed with its Enter.

    Line editors wrap and repaint what they echo: what is compared is the text without its blanks, as it
    was printed and as it then stood there."""

    def __init__(self, typed: str, *, is_at_prompt: bool) -> None:
        lines = typed.rstrip("\n").split("\n")
        self._newlines = len(lines)
        self._wanted = squashed(lines[-1].encode())
        self._is_at_prompt = is_at_prompt

    def __call__(self, data: bytes, is_quiet: bool) -> int | None:  # noqa: FBT001
        ends = [found.end() for found in re.finditer(b"\n", data)][self._newlines - 1 :]
        found = self._printed(data, ends) or self._painted(data, ends)
        if found is not None:
            return found
        is_over = is_quiet or len(data) > LONGEST_ECHO
        if not ends:
            return 0 if is_over and not self._is_at_prompt and not self._comes(data) else None
        if not self._is_at_prompt:
            return None if self._comes(data) and not is_over else 0
        # However a line editor painted the text, its newline came with Enter.
        return ends[0] if is_over and not self._comes(data) else None

    def is_in(self, line: bytes) -> bool:
        """Whether a later line is a prompt with the text: some shells paint it again."""
        text = squashed(line)
        before = line[: len(line) - len(line.lstrip())] + text.removesuffix(self._wanted)
        return bool(self._wanted) and text.endswith(self._wanted) and bool(_PROMPT_SIGN.search(before))

    def _printed(self, data: bytes, ends: list[int]) -> int | None:
        if self._wanted not in squashed(_bare(data)):
            return None
        most = _FEW_LINES + len(self._wanted)  # fish goes up and down with every word that it wraps
        return next((end for end in ends[:most] if squashed(_bare(data[:end])).endswith(self._wanted)), None)

    def _painted(self, data: bytes, ends: list[int]) -> int | None:
        for end in ends[:_FEW_LINES]:
            if squashed("".join(rendered(data[:end]).lines).encode()).endswith(self._wanted):
                return end
        return None

    def _comes(self, data: bytes) -> bool:
        """Whether it ends with the text, or with enough of its beginning that the rest may follow."""
        seen = squashed(_bare(data))
        least = min(len(seen), _BEGINNING)
        lengths = range(min(len(seen), len(self._wanted)), max(least, 1) - 1, -1)
        return any(seen.endswith(self._wanted[:length]) for length in lengths)


def _bare(data: bytes) -> bytes:
    """As it was printed, without what zsh prints twice where a line is full."""
    return plain(_FULL_LINE.sub(b"", _STRINGS.sub(b"", data)))


def squashed(text: bytes) -> bytes:
    return b"".join(text.split())
