"""What a pane prints, sifted: without the echo of a typed command, as lines, by triggers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from muxpilot.watch.echo import Beginning, Echo
from muxpilot.watch.finding import Found
from muxpilot.watch.printed import Printed
from muxpilot.watch.triggers import Trigger

_LONGEST_DETAIL = 500

# Which triggers fired, by their place in the list, and with which words.
Hits = dict[int, str]


@dataclass(slots=True)
class Sifted:
    hits: Hits = field(default_factory=dict)
    lines: int = 0
    is_change: bool = False


class Sieve:
    """`skipped` counts the bytes before a command's own output, once that has begun."""

    def __init__(self, triggers: Sequence[Trigger], beginning: Beginning | None = None) -> None:
        self._triggers = triggers
        self._beginning = beginning
        self._echo = beginning if isinstance(beginning, Echo) else None
        self._head = b""
        self._printed = Printed(needs_text=any(trigger.finder for trigger in triggers))
        self.skipped = 0

    @property
    def has_begun(self) -> bool:
        return self._beginning is None

    def feed(self, data: bytes) -> Sifted:
        own = data if self._beginning is None else self._own(data, is_quiet=False)
        return self._sift(own) if own else Sifted()

    def pause(self) -> Hits:
        """Nothing more came for a while: the line that has no end yet counts as it is."""
        sifted = Sifted()
        if self._beginning is not None:
            own = self._own(b"", is_quiet=True)
            sifted = self._sift(own) if own else sifted
        return sifted.hits or self._hits(self._printed.rest)

    def _own(self, data: bytes, *, is_quiet: bool) -> bytes:
        self._head += data
        begins = self._beginning(self._head, is_quiet) if self._beginning is not None else 0
        if begins is None:
            return b""
        own, self._head, self._beginning = self._head[begins:], b"", None
        self.skipped = begins
        return own

    def _sift(self, data: bytes) -> Sifted:
        batch = self._printed.feed(data)
        hits = self._hits(batch.block) if batch.lines else {}
        for index, trigger in enumerate(self._triggers):
            if trigger.name == "bell" and batch.bells:
                hits[index] = "The pane rang its bell"
            elif trigger.name == "change" and batch.is_change:
                hits[index] = "The screen changed"
        return Sifted(hits, batch.lines, batch.is_change)

    def _hits(self, block: bytes) -> Hits:
        """Of several lines, the first that fits any trigger; of that line, every trigger that it fits."""
        found = {index: first for index in range(len(self._triggers)) if (first := self._first(index, block))}
        earliest = min((first.at for first in found.values()), default=0)
        return {
            index: _words(self._triggers[index], first.line)
            for index, first in found.items()
            if first.at == earliest
        }

    def _first(self, index: int, block: bytes) -> Found | None:
        finder = self._triggers[index].finder
        at = 0
        while finder is not None:
            found = finder.first(block[at:] if at else block)
            if found is None or self._echo is None or not self._echo.is_in(found.line):
                return found and Found(found.at + at, found.line)
            at += found.at + len(found.line) + 1
        return None


def _words(trigger: Trigger, line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()[:_LONGEST_DETAIL]
    if trigger.name == "error":
        return f"Matched error pattern: {text}"
    return f"Ready — matched: {text}" if trigger.is_readiness else f'Matched pattern "{trigger.text}": {text}'
