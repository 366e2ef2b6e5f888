"""Guess what a text that is not shell would run if a shell read it. Guesses err on the safe side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from muxpilot.patterns import compile_regex
from muxpilot.policy.shell.words import decode_ansi_c


def _compile_linear(pattern: str) -> Any:
    """Compile with RE2, whose time is linear in the length of a hostile text."""
    return compile_regex(pattern, "pattern")


_ANSI_C = _compile_linear(r"(?s)\$'((?:[^'\\]|\\.)*)'")
_QUOTES = re.compile(r"\\\n|[\\'\"]")
_SEPARATORS = re.compile(r"[;&|(){}`\n\r]+|[<>$]\(")
# Operators of bash that contain a separator but do not separate commands.
_REDIRECTION = re.compile(r"[<>]&|>\||&>>?")
_ASSIGNMENT = r"[A-Za-z_]\w*=[^\s<>]*"
_BEFORE = (
    rf"(?:\s*(?:{_ASSIGNMENT}|if|then|elif|else|while|until|do|time|exec|eval|command|builtin|env|nohup|!|-|and|or|"
    r"not|begin|coproc|sudo|doas|setsid|nice|always|noglob|nocorrect|repeat\s+\S+|#+|"
    rf"(?:{_ASSIGNMENT})?\d*[<>]+&?\s*\S+)\s+)"
)
_LEADING = _compile_linear(f"^{_BEFORE}+")
_WORD = r"[^\s;&|()`{}<>]*"
# A command's name that only the shell knows, or one that another command prints.
_UNKNOWN = _compile_linear(
    rf"(?:^|[;&|()`{{}}\n]){_BEFORE}*\s*{_WORD}\$[\w{{(=~^+@*#?!$-]|"
    rf"(?:^|[;&|{{}}\n]|[\s;&|({{]\(){_BEFORE}*\s*{_WORD}[`*?\[]|"
    r"\b\w*sh\s+-\S[^;&|\n]*[$`]|\b(?:eval|source|exec|command|env|nohup|trap|\w*sh|\.)\s+=?\("
)
_FISH = re.compile(r"(?:\\(?:[xX][0-9a-fA-F]{1,2}|[uU][0-9a-fA-F]{1,8}|[0-7]{1,3}))+")
_STRING = _compile_linear(r"""(?s)'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`([^`]*)`""")


def split_commands(text: str) -> Iterator[str]:
    """Yield the text without quotes, cut wherever a shell could begin another command."""
    known = _FISH.sub(lambda found: decode_ansi_c(found[0].replace("X", "x")), text)
    plain = _QUOTES.sub("", _ANSI_C.sub(lambda found: decode_ansi_c(found[1]), known))
    # A shell may stop at an error in the first line, and run the others.
    lines = (line for line in text.replace("\\\n", "\n").split("\n")[1:])
    cut = [piece for reading in _redirection_variants(plain) for piece in _SEPARATORS.split(reading)]
    for piece in (*cut, *lines):
        words = " ".join(_LEADING.sub("", f"{piece} ").split())
        if words:
            yield words


def hides_a_command(text: str) -> bool:
    """Return whether what a shell would run cannot even be guessed."""
    return any(_UNKNOWN.search(reading) is not None for reading in _redirection_variants(text))


def _redirection_variants(text: str) -> tuple[str, ...]:
    """Return the text as it is, and with `2>&1`, `>|f` and `&>f` as bash reads them, not as separators."""
    redirected = _REDIRECTION.sub("> ", text)
    return (text,) if redirected == text else (text, redirected)


def find_strings(code: str) -> Iterator[str]:
    """Yield the string literals of a program in another language."""
    for found in _STRING.finditer(code):
        yield next(group for group in found.groups() if group is not None)
