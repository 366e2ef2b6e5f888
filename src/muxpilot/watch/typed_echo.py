"""Recognize the echo of typed text: a prompt with that text after it is not output of a program."""

from __future__ import annotations

from collections.abc import Sequence

from muxpilot.terminal.prompt_signs import ends_with_prompt_and_blank


def is_echo(line: str, typed: Sequence[str]) -> bool:
    """Return whether a line is a prompt followed by the last line of one of these texts."""
    shown = line.rstrip()
    for text in typed:
        wanted = text.rstrip().rpartition("\n")[2].strip()
        if wanted and shown.endswith(wanted) and ends_with_prompt_and_blank(shown.removesuffix(wanted)):
            return True
    return False
