"""What a text might run if a shell read it, for text that is not shell: a guess on the safe side."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muxpilot.policy.shell.words import ansi_c

_ANSI_C = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_QUOTES = re.compile(r"\\\n|[\\'\"]")
_SEPARATORS = re.compile(r"[;&|(){}`\n\r]+|[<>$]\(")
_LEADING = re.compile(
    r"(?:\s*(?:[A-Za-z_]\w*=\S*|if|then|elif|else|while|until|do|time|exec|command|env|nohup|!|\d*[<>]+&?\s*\S+)\s+)+"
)
_STRING = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|`([^`]*)`", re.DOTALL)


def pieces(text: str) -> Iterator[str]:
    """Without any quotes, cut wherever a shell could begin another command."""
    plain = _QUOTES.sub("", _ANSI_C.sub(lambda found: ansi_c(found[1]), text))
    for piece in _SEPARATORS.split(plain):
        words = " ".join(_LEADING.sub("", f"{piece} ", count=1).split())
        if words:
            yield words


def strings(code: str) -> Iterator[str]:
    """The string literals of a program in another language."""
    for found in _STRING.finditer(code):
        yield next(group for group in found.groups() if group is not None)
