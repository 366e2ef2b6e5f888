"""Texts that zsh or fish read otherwise than bash, written so that bash reads them as they do."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from muxpilot.policy.shell.tree import parsed, source_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_OPENING = re.compile(r"[;&|`'\"$(<>\\]")
_IN_SINGLE_QUOTES = re.compile(r"\\([\\'])")
_FISH_WORDS = re.compile(r"'((?:[^'\\]|\\.)*)'|\"(?:[^\"\\]|\\.)*\"|\\.", re.DOTALL)


def readings(text: str, *, is_at_prompt: bool) -> Iterator[tuple[str, str]]:
    """Why some shell may read it otherwise, and the text as it does."""
    if is_at_prompt:
        yield from _at_prompt(text)
    if "\\'" in text:
        fish = _FISH_WORDS.sub(_as_fish, text)
        if fish != text:
            yield "fish takes a quote behind a backslash for text", fish


def _at_prompt(text: str) -> Iterator[tuple[str, str]]:
    nodes = list(walk(parsed(text)))
    comments = [node for node in nodes if node.type == "comment"]
    if any(_OPENING.search(source_of(node)) for node in comments):
        yield "zsh may take a comment for words", _without_comments(text, comments)
    for node in nodes:
        if node.type == "heredoc_body":
            yield "fish has no here-documents, and would run what is in one", source_of(node)


def _without_comments(text: str, comments: list[Node]) -> str:
    """At its prompt zsh has no comments, unless it is told to."""
    data = text.encode()
    for start in sorted((node.start_byte for node in comments), reverse=True):
        data = data[:start] + b"\\" + data[start:]
    return data.decode("utf-8", "replace")


def _as_fish(found: re.Match[str]) -> str:
    if found[1] is None or "\\" not in found[1]:
        return found[0]
    return shlex.quote(_IN_SINGLE_QUOTES.sub(r"\1", found[1]))
