"""What a prompt looks like, where only its look can tell."""

from __future__ import annotations

import re

from muxpilot.terminal.text import text_lines

# How the prompts of shells end; what asks a person something may end in others, too.
_SIGNS = "$#%>\u276f\u279c\u03bb\u00bb\u203a\u25b6\u27e9\u2717\u2713\u00b1"
_SHELL_PROMPT = re.compile(rf"(?<!\d%)(?<=[{_SIGNS}])\s*\Z")  # not 50%
_QUESTION = re.compile(rf"[{_SIGNS}\])?:]\s*\Z")


def looks_like_a_shell(line: str) -> bool:
    return bool(_SHELL_PROMPT.search(line))


def looks_like_a_far_shell(line: str) -> bool:
    """The same where nothing else tells: a blank behind the sign, too."""
    return looks_like_a_shell(line) and line[-1:] == " "


def looks_like_a_question(line: str) -> bool:
    """Something that stands before the cursor and was not finished with a line end."""
    return bool(_QUESTION.search(line))


def typed_after(prompt: bytes, since: bytes) -> str:
    """What stands behind a prompt now, of all that came since it was shown."""
    before, now = text_lines(prompt)[-1].rstrip(), text_lines(prompt + since)[-1].rstrip()
    return now.removeprefix(before).strip()
