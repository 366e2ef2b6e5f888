"""Rewrite texts that zsh or fish read differently, so that bash's grammar reads them as those shells do."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from muxpilot.policy.shell.tree import parse, source_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_OPENING = re.compile(r"[;&|`'\"$(<>\\]")
_IN_SINGLE_QUOTES = re.compile(r"\\([\\'])")
_FISH_WORDS = re.compile(r"'((?:[^'\\]|\\.)*)'|\"(?:[^\"\\]|\\.)*\"|\\.", re.DOTALL)


def other_readings(text: str, *, is_at_prompt: bool) -> Iterator[tuple[str, str]]:
    """Yield why another shell reads the text differently, and the text rewritten as that shell reads it."""
    if is_at_prompt:
        yield from _prompt_readings(text)
    if "\\'" in text:
        fish = _FISH_WORDS.sub(_requote_for_fish, text)
        if fish != text:
            yield "fish takes a quote after a backslash for text", fish


def _prompt_readings(text: str) -> Iterator[tuple[str, str]]:
    nodes = list(walk(parse(text)))
    comments = [node for node in nodes if node.type == "comment"]
    if any(_OPENING.search(source_of(node)) for node in comments):
        yield "zsh may take a comment for words", _escape_comments(text, comments)
    for node in nodes:
        if node.type == "heredoc_body":
            yield "fish has no here-documents, and would run what is in one", source_of(node)


def _escape_comments(text: str, comments: list[Node]) -> str:
    """Escape `#`: at its prompt zsh has no comments, unless the option interactive_comments is on."""
    data = text.encode()
    for start in sorted((node.start_byte for node in comments), reverse=True):
        data = data[:start] + b"\\" + data[start:]
    return data.decode("utf-8", "replace")


def _requote_for_fish(found: re.Match[str]) -> str:
    if found[1] is None or "\\" not in found[1]:
        return found[0]
    return shlex.quote(_IN_SINGLE_QUOTES.sub(r"\1", found[1]))
