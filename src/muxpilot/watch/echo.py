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
_LINES_LOOKED_AT = 4
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
        ends = [found.end() for found in re.finditer(b"\n", data)]
        for end in ends[self._newlines - 1 : self._newlines - 1 + _LINES_LOOKED_AT]:
            if self._ends(data[:end]):
                return end
        if len(data) > LONGEST_ECHO:
            return 0
        if len(ends) >= self._newlines:
            # A line editor's first newline comes with Enter, however it painted the text before.
            return ends[self._newlines - 1] if self._is_at_prompt else 0
        return 0 if is_quiet and not self._is_at_prompt and not self._may_come(data) else None

    def is_in(self, line: bytes) -> bool:
        """Whether a later line is a prompt with the text: some shells paint it again."""
        text = squashed(line)
        before = line[: len(line) - len(line.lstrip())] + text.removesuffix(self._wanted)
        return bool(self._wanted) and text.endswith(self._wanted) and bool(_PROMPT_SIGN.search(before))

    def _ends(self, data: bytes) -> bool:
        bare = _STRINGS.sub(b"", data)
        if squashed(plain(bare)).endswith(self._wanted):
            return True
        shown = "".join(rendered(data).lines).encode()
        return squashed(shown).endswith(self._wanted)

    def _may_come(self, data: bytes) -> bool:
        """Whether it ends with the text, or with a beginning of it."""
        seen = squashed(plain(_STRINGS.sub(b"", data)))
        lengths = range(min(len(seen), len(self._wanted)), 0, -1)
        return any(seen.endswith(self._wanted[:length]) for length in lengths)


def squashed(text: bytes) -> bytes:
    return b"".join(text.split())
