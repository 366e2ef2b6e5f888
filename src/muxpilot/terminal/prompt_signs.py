"""Recognize prompts and questions by the text on the screen, where no mark and no process shows them."""

from __future__ import annotations

import re

from muxpilot.lazy_pattern import lazy_pattern
from muxpilot.terminal.text import render_lines

# The characters that prompts end with, the surest first. Each set includes the one before.
CLASSIC_SIGNS = "$#%"  # what Bourne and C shells print by default
SHELL_SIGNS = CLASSIC_SIGNS + ">\u00bb\u03bb\u203a\u276f\u279c\u27e9"  # of prompt themes
THEME_SIGNS = SHELL_SIGNS + "\u25b6\u2717\u2713\u00b1"  # other output also ends with these
# Unknown interactive programs: the signs that their prompt may be recognized by.
PROGRAM_SIGNS = frozenset(CLASSIC_SIGNS + ">")
_QUESTION_SIGNS = THEME_SIGNS + "])?:"  # installers and REPLs ask with these, too

_CLASSIC_PROMPT = lazy_pattern(rf"[{CLASSIC_SIGNS}]\s*\Z")
_SHELL_PROMPT = lazy_pattern(rf"(?<!\d%)(?<=[{THEME_SIGNS}])\s*\Z")  # not the progress message 50%
_PLACE = lazy_pattern(r"[@~/\\]")
_PROMPT_AND_BLANK = lazy_pattern(f"[{SHELL_SIGNS}] +$")
_SIGN_AND_TEXT = lazy_pattern(rf"(?<!\d%)(?<=[{SHELL_SIGNS}]) (\S.*)\Z")
_LINE_PROMPT = lazy_pattern(r"\S.*[:>)?]\s*\Z")
_KEY_QUESTION = lazy_pattern(
    r"(?i)\b(key|press|hit|arrow[- ]keys)\b|<\w+> to |[\[(]\s*y\s*/\s*n|[\[(]\s*\w(/\w)+\s*[\])]"
)
# A prompt for a secret. Over ssh or in a container the terminal's echo says nothing about it.
_ASKS_FOR_SECRET = lazy_pattern(
    r"(?i)(?:pass(?:word|phrase|code)|\bpin\b|verification code|secret|token)[^\n]{0,60}[:?]\s*$"
)
_QUESTION = lazy_pattern(rf"[{re.escape(_QUESTION_SIGNS)}]\s*\Z")


def looks_like_shell_prompt(line: str) -> bool:
    return bool(_SHELL_PROMPT.search(line))


def looks_like_classic_shell_prompt(line: str) -> bool:
    """Return True for the default prompts of shells only: `>` is also the prompt of many programs."""
    return bool(_CLASSIC_PROMPT.search(line))


def looks_like_remote_shell_prompt(line: str) -> bool:
    """Return True if the line also ends with a blank: for a remote shell there is no other evidence.

    A prompt with `>` must also show a user, a host or a folder: `sqlite>`, `>>>` and `test>` do not.
    """
    if not looks_like_shell_prompt(line) or line[-1:] != " ":
        return False
    return not line.rstrip().endswith(">") or bool(_PLACE.search(line))


def ends_with_prompt_and_blank(line: str) -> bool:
    """Return True if the line is a prompt after which text can be typed.

    `:` and `)` are not accepted here: too many lines of output end with them.
    """
    return bool(_PROMPT_AND_BLANK.search(line))


def looks_like_question(line: str) -> bool:
    """Return True if an unfinished line before the cursor looks as if its program asks for input."""
    return bool(_QUESTION.search(line))


def looks_like_line_prompt(line: str) -> bool:
    """Return True if a program that reads keys seems to edit a line: `name: `, but not `press any key: `."""
    return bool(_LINE_PROMPT.search(line)) and not _KEY_QUESTION.search(line)


def asks_for_secret(line: str) -> bool:
    return _ASKS_FOR_SECRET.search(line.rstrip()) is not None


def text_after_sign(line: str) -> str:
    """Return the text after the first sign and blank of a prompt; empty if the line has none."""
    found = _SIGN_AND_TEXT.search(line)
    return found[1].strip() if found is not None else ""


def text_typed_after(prompt: bytes, since: bytes) -> str:
    """Return the text after a prompt, given all bytes that the pane printed since the prompt was shown."""
    before, now = render_lines(prompt)[-1].rstrip(), render_lines(prompt + since)[-1].rstrip()
    return now.removeprefix(before).strip()
