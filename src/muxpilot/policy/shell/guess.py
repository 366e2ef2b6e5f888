"""What a text might run if a shell read it, for text that is not shell: a guess on the safe side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from muxpilot.patterns import compiled
from muxpilot.policy.shell.words import ansi_c


def _steady(pattern: str) -> Any:
    """By RE2: the text is hostile, and takes time in proportion to its length."""
    return compiled(pattern, "pattern")


_ANSI_C = _steady(r"(?s)\$'((?:[^'\\]|\\.)*)'")
_QUOTES = re.compile(r"\\\n|[\\'\"]")
_SEPARATORS = re.compile(r"[;&|(){}`\n\r]+|[<>$]\(")
# Operators that hold a separator and are none, in bash.
_REDIRECTION = re.compile(r"[<>]&|>\||&>>?")
_ASSIGNMENT = r"[A-Za-z_]\w*=[^\s<>]*"
_BEFORE = (
    rf"(?:\s*(?:{_ASSIGNMENT}|if|then|elif|else|while|until|do|time|exec|eval|command|builtin|env|nohup|!|-|and|or|"
    r"not|begin|coproc|sudo|doas|setsid|nice|always|noglob|nocorrect|repeat\s+\S+|#+|"
    rf"(?:{_ASSIGNMENT})?\d*[<>]+&?\s*\S+)\s+)"
)
_LEADING = _steady(f"^{_BEFORE}+")
_WORD = r"[^\s;&|()`{}<>]*"
# A name that only the shell knows, or text for it that another command prints.
_UNKNOWN = _steady(
    rf"(?:^|[;&|()`{{}}\n]){_BEFORE}*\s*{_WORD}\$[\w{{(=~^+@*#?!$-]|"
    rf"(?:^|[;&|{{}}\n]|[\s;&|({{]\(){_BEFORE}*\s*{_WORD}[`*?\[]|"
    r"\b\w*sh\s+-\S[^;&|\n]*[$`]|\b(?:eval|source|exec|command|env|nohup|trap|\w*sh|\.)\s+=?\("
)
_FISH = re.compile(r"(?:\\(?:[xX][0-9a-fA-F]{1,2}|[uU][0-9a-fA-F]{1,8}|[0-7]{1,3}))+")
_STRING = _steady(r"""(?s)'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`([^`]*)`""")


def pieces(text: str) -> Iterator[str]:
    """Without any quotes, cut wherever a shell could begin another command."""
    known = _FISH.sub(lambda found: ansi_c(found[0].replace("X", "x")), text)
    plain = _QUOTES.sub("", _ANSI_C.sub(lambda found: ansi_c(found[1]), known))
    lines = (line for line in text.replace("\\\n", "\n").split("\n")[1:])  # the first may end in an error
    cut = [piece for reading in _readings(plain) for piece in _SEPARATORS.split(reading)]
    for piece in (*cut, *lines):
        words = " ".join(_LEADING.sub("", f"{piece} ").split())
        if words:
            yield words


def hides_a_command(text: str) -> bool:
    """Whether what it would run, if a shell read it, cannot even be guessed."""
    return any(_UNKNOWN.search(reading) is not None for reading in _readings(text))


def _readings(text: str) -> tuple[str, ...]:
    """As it is, and as bash takes `2>&1`, `>|f` and `&>f`: for others `&` ends a command there."""
    redirected = _REDIRECTION.sub("> ", text)
    return (text,) if redirected == text else (text, redirected)


def strings(code: str) -> Iterator[str]:
    """The string literals of a program in another language."""
    for found in _STRING.finditer(code):
        yield next(group for group in found.groups() if group is not None)
