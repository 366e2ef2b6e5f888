"""What a pane prints, sifted by triggers: line by line, and what is no line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from muxpilot.terminal.lines import Printed
from muxpilot.watch.line_matcher import Finder, Found
from muxpilot.watch.mark_tracker import Piece
from muxpilot.watch.triggers import Trigger
from muxpilot.watch.typed_echo import is_echo

_LONGEST_DETAIL = 500

# Which triggers fired, by their place in the list, and with which words.
Hits = dict[int, str]


@dataclass(slots=True)
class Sifted:
    hits: Hits = field(default_factory=dict)
    lines: int = 0
    is_change: bool = False


class Sieve:
    """Takes chunks as they come."""

    def __init__(
        self,
        triggers: Sequence[Trigger],
        typed: Callable[[], Sequence[str]] = tuple,
        *,
        before: str = "",
    ) -> None:
        """`typed` answers what was typed into the pane lately: its echo does not count, wherever the
        prompt stood `before` the first line."""
        self._triggers = triggers
        self._typed = typed
        self._before = before
        self._printed = Printed(needs_text=any(trigger.finder for trigger in triggers))

        self._unread = Printed(needs_text=False)

    def pause(self) -> Hits:
        """Nothing more came for a while: the line that has no end yet counts as it is."""
        rest = self._printed.rest
        return self._hits(rest) if rest else {}

    def sift(self, pieces: Sequence[Piece]) -> Sifted:
        """All of them; what fits in an earlier piece decides."""
        whole = Sifted()
        for piece in pieces:
            sifted = self.feed(piece.data, is_typing=piece.is_typing)
            whole.hits = whole.hits or sifted.hits
            whole.lines += sifted.lines
            whole.is_change = whole.is_change or sifted.is_change
        return whole

    def feed(self, data: bytes, *, is_typing: bool = False) -> Sifted:
        """Typing ends the line before it, and is no line itself."""
        if is_typing:
            hits, batch = self.pause(), self._unread.feed(data)
            self._printed.cut()
            self._before = ""
        else:
            batch = self._printed.feed(data)
            hits = self._hits(batch.block) if batch.lines else {}
        self._before = "" if batch.lines else self._before
        for index, trigger in enumerate(self._triggers):
            if trigger.name == "bell" and batch.bells:
                hits[index] = "The pane rang its bell"
            elif trigger.name == "change" and batch.is_change:
                hits[index] = "The screen changed"
        return Sifted(hits, batch.lines, batch.is_change)

    def _hits(self, block: bytes) -> Hits:
        """Of several lines, the first that fits any trigger; of that line, every trigger that it fits."""
        found = {
            index: first
            for index, trigger in enumerate(self._triggers)
            if trigger.finder is not None and (first := self._first(trigger.finder, block))
        }
        earliest = min((first.at for first in found.values()), default=0)
        return {
            index: _words(self._triggers[index], first.line)
            for index, first in found.items()
            if first.at == earliest
        }

    def _first(self, finder: Finder, block: bytes) -> Found | None:
        at = 0
        while (found := finder.first(block[at:])) is not None:
            at += found.at
            before = self._before if at == 0 else ""
            if not is_echo(before + found.line.decode("utf-8", "replace"), self._typed()):
                return Found(at, found.line)
            at += len(found.line) + 1
            if at > len(block):
                return None
        return None


def _words(trigger: Trigger, line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()[:_LONGEST_DETAIL]
    if trigger.name == "error":
        return f"Matched error pattern: {text}"
    return f"Ready — matched: {text}" if trigger.is_readiness else f'Matched pattern "{trigger.text}": {text}'
