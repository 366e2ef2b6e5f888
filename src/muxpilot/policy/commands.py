"""The command filter: compare every statement of a text with the configured patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from muxpilot.records import record

if TYPE_CHECKING:
    from muxpilot.policy.shell import Statement

KEY = "security.command_filter"


@record
class CommandRule:
    """The compiled patterns. In an allowlist every statement must match one, in a denylist none may."""

    is_allowlist: bool
    patterns: tuple[Any, ...]
    # What is said of a statement that matches.
    match_words: str = "is in the denylist"

    def find_denial(self, text: str, *, is_typed: bool = False, is_at_prompt: bool = False) -> str | None:
        """Return why a text may not reach a shell, or None.

        `is_typed`: the text is typed into a pane, and may be for a program that is not a shell.
        `is_at_prompt`: a shell's line editor reads it, as if a person typed it.
        """
        if not text.strip():
            return None
        from muxpilot.policy import shell  # loaded when a filter is first used

        reading = shell.read_statements(text, is_at_prompt=is_at_prompt or is_typed)
        if reading.problem is not None and (self.is_allowlist or reading.is_shell or not is_typed):
            return self._find_denied(reading.statements, text) or f"it cannot be judged: {reading.problem}"
        if self.is_allowlist:
            doubt = f"it cannot be judged: {reading.doubt}" if reading.doubt else None
            return self._find_unlisted(reading.statements) or doubt
        if not reading.is_shell and shell.hides_a_command(text):
            return "it cannot be judged: which program runs is known only to the shell"
        pieces = () if reading.is_shell else shell.split_commands(text)
        guessed = (shell.Statement(piece, piece) for piece in pieces)
        return self._find_denied((*reading.statements, *guessed), text)

    def find_variable_denial(self, pair: str) -> str | None:
        """Return why a program may not be started with NAME=value, or None."""
        from muxpilot.policy.shell import read_variable

        reading = read_variable(pair)
        if reading.problem is not None:
            return self._find_denied(reading.statements, pair) or f"it cannot be judged: {reading.problem}"
        return (
            self._find_unlisted(reading.statements)
            if self.is_allowlist
            else self._find_denied(reading.statements, pair)
        )

    def _find_unlisted(self, statements: Sequence[Statement]) -> str | None:
        for row in statements:
            if not row.is_plain and not row.is_guess and not self._matches(row.text):
                return f"{_quote_brief(row.text)} is not in the allowlist"
        return None

    def _find_denied(self, statements: Sequence[Statement], text: str) -> str | None:
        if self.is_allowlist:
            return None
        for row in statements:
            if any(self._matches(spelling) for spelling in row.spellings):
                return f"{_quote_brief(row.text)} {self.match_words}"
        return f"{_quote_brief(text)} {self.match_words}" if self._matches(text.strip()) else None

    def _matches(self, text: str) -> bool:
        return any(pattern.search(text) is not None for pattern in self.patterns)


def _quote_brief(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 60 else f"{line[:60]}…")
