"""The command filter: every statement of a text against the patterns of the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from muxpilot.records import record

if TYPE_CHECKING:
    from muxpilot.policy.shell import Statement

KEY = "security.command_filter"


@record
class CommandRule:
    """`patterns` are compiled; `is_allowlist`: every statement must match one, otherwise none may."""

    is_allowlist: bool
    patterns: tuple[Any, ...]

    def refusal(self, text: str, *, is_typed: bool = False, is_at_prompt: bool = False) -> str | None:
        """Why a text may not reach a shell, or None. Typed text may be meant for a program that is none.

        `is_at_prompt`: a shell's line editor gets it, as a person would type it."""
        if not text.strip():
            return None
        from muxpilot.policy import shell  # loaded when a filter is first used

        reading = shell.read(text, is_at_prompt=is_at_prompt or is_typed)
        if reading.problem is not None and (self.is_allowlist or reading.is_shell or not is_typed):
            return self._denied(reading.statements, text) or f"it cannot be judged: {reading.problem}"
        if self.is_allowlist:
            doubt = f"it cannot be judged: {reading.doubt}" if reading.doubt else None
            return self._missing(reading.statements) or doubt
        if not reading.is_shell and shell.hides_a_command(text):
            return "it cannot be judged: which program runs is known only to the shell"
        pieces = () if reading.is_shell else shell.pieces(text)
        guessed = (shell.Statement(piece, piece) for piece in pieces)
        return self._denied((*reading.statements, *guessed), text)

    def refusal_of_variable(self, pair: str) -> str | None:
        """The same for NAME=value that a program is started with."""
        from muxpilot.policy.shell import read_variable

        reading = read_variable(pair)
        if reading.problem is not None:
            return self._denied(reading.statements, pair) or f"it cannot be judged: {reading.problem}"
        return (
            self._missing(reading.statements) if self.is_allowlist else self._denied(reading.statements, pair)
        )

    def _missing(self, statements: Sequence[Statement]) -> str | None:
        for row in statements:
            if not row.is_plain and not row.is_guess and not self._matches(row.text):
                return f"{_shown(row.text)} is not in the allowlist"
        return None

    def _denied(self, statements: Sequence[Statement], text: str) -> str | None:
        if self.is_allowlist:
            return None
        for row in statements:
            if any(self._matches(spelling) for spelling in row.spellings):
                return f"{_shown(row.text)} is in the denylist"
        return f"{_shown(text)} is in the denylist" if self._matches(text.strip()) else None

    def _matches(self, text: str) -> bool:
        return any(pattern.search(text) is not None for pattern in self.patterns)


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 60 else f"{line[:60]}…")
