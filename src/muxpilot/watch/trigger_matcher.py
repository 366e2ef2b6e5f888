"""Match a pane's output against triggers, by line and by chunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from muxpilot.records import mutable_record
from muxpilot.terminal.line_drawing import DrawnLetters
from muxpilot.terminal.lines import LineBatch, LineSplitter
from muxpilot.watch.line_matcher import FindsLine, LineMatch
from muxpilot.watch.mark_tracker import OutputPiece
from muxpilot.watch.trigger import Trigger
from muxpilot.watch.typed_echo import is_echo

_LONGEST_DETAIL = 500

# The triggers that fired, by their place in the list, each with the detail of its event.
Fired = dict[int, str]


@mutable_record
class TriggerMatches:
    """What a piece of output did: triggers that fired, new lines, and whether the screen changed."""

    fired: Fired = field(default_factory=dict)
    lines: int = 0
    is_change: bool = False


class TriggerMatcher:
    """Takes the output of a pane as it comes, and finds the triggers that it fires.

    `recently_typed` returns the texts that were recently typed into the pane: their echo does not count.
    `line_before` is the text before the cursor when the watch begins, usually the prompt. With `joins_lines`,
    its line counts as a whole if it fits only with what is printed now.
    """

    def __init__(
        self,
        triggers: Sequence[Trigger],
        recently_typed: Callable[[], Sequence[str]] = tuple,
        *,
        line_before: str = "",
        joins_lines: bool = False,
    ) -> None:
        self.ignored_echoes = 0
        self._triggers = triggers
        self._recently_typed = recently_typed
        self._line_before = line_before
        self._joins_lines = joins_lines
        self.reads_lines = any(trigger.matcher for trigger in triggers)
        letters = DrawnLetters() if self.reads_lines else None
        self._output = LineSplitter(needs_text=self.reads_lines, letters=letters)
        self._typing = LineSplitter(needs_text=False, letters=letters)

    def match_open_line(self) -> Fired:
        """Match the last line, which has no end yet: a pause says that no more of it comes."""
        line = self._output.open_line
        return self._match_lines(line) if line else {}

    def match_rows(self, rows: bytes) -> Fired:
        """Match rows of a screen. A program that draws only what differs prints no whole lines."""
        return self._match_lines(rows) if rows else {}

    def match(self, pieces: Sequence[OutputPiece]) -> TriggerMatches:
        """Match the pieces of a chunk. The first piece that fires a trigger decides."""
        whole = TriggerMatches()
        for piece in pieces:
            found = self.feed(piece.data, is_typing=piece.is_typing)
            whole.fired = whole.fired or found.fired
            whole.lines += found.lines
            whole.is_change = whole.is_change or found.is_change
        return whole

    def feed(self, data: bytes, *, is_typing: bool = False) -> TriggerMatches:
        """Match the next bytes. Typing ends the line before it, and is never matched as a line."""
        if is_typing:
            fired, batch = self.match_open_line(), self._typing.feed(data)
            self._output.end_line()
            self._line_before = ""
        else:
            batch = self._output.feed(data)
            fired = self._match_lines(batch.block) if batch.lines else {}
        self._line_before = "" if batch.lines else self._line_before
        return TriggerMatches(fired | self._match_batch(batch), batch.lines, batch.is_change)

    def _match_batch(self, batch: LineBatch) -> Fired:
        return {
            index: detail
            for index, trigger in enumerate(self._triggers)
            if (detail := trigger.check_output(batch)) is not None
        }

    def _match_lines(self, block: bytes) -> Fired:
        """Find the first line that fits any trigger, and return every trigger that this line fits."""
        found = {
            index: first
            for index, trigger in enumerate(self._triggers)
            if trigger.matcher is not None
            and (
                first := self._find_joined(trigger.matcher, block) or self._find_first(trigger.matcher, block)
            )
        }
        earliest = min((first.at for first in found.values()), default=0)
        return {
            index: _describe(self._triggers[index], first.line)
            for index, first in found.items()
            if first.at == earliest
        }

    def _find_joined(self, matcher: FindsLine, block: bytes) -> LineMatch | None:
        """Return the first line with what stood before it, if they match together and not before."""
        if not self._joins_lines or not self._line_before:
            return None
        before, line = self._line_before.encode(), block.partition(b"\n")[0]
        if matcher.find_first(before) is not None or is_echo(
            self._line_before + line.decode("utf-8", "replace"), self._recently_typed()
        ):
            return None
        whole = before + line
        return LineMatch(0, whole) if matcher.find_first(whole) is not None else None

    def _find_first(self, matcher: FindsLine, block: bytes) -> LineMatch | None:
        """Return the first line that matches and is not the echo of typed text."""
        at = 0
        while (found := matcher.find_first(block[at:])) is not None:
            at += found.at
            before = self._line_before if at == 0 else ""
            if not is_echo(before + found.line.decode("utf-8", "replace"), self._recently_typed()):
                return LineMatch(at, found.line)
            self.ignored_echoes += 1
            at += len(found.line) + 1
            if at > len(block):
                return None
        return None


def _describe(trigger: Trigger, line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()[:_LONGEST_DETAIL]
    return trigger.type.describe_line(trigger, text) if trigger.type.describe_line is not None else text
