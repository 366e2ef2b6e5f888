"""Builtins of shells, and a few programs, that run other commands, each in its own way.

Each function adds what its command runs to a reader. It returns True if the command does nothing else, so
that only what it runs is judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from muxpilot.policy.shell import wrappers
from muxpilot.policy.shell.words import Word, join_words

if TYPE_CHECKING:
    from tree_sitter import Node

NOT_A_FILE = re.compile(r"-|/dev/(?:stdin|fd/.*)|/proc/.*")


class CommandSink(Protocol):
    """The part of `reader.StatementReader` that these functions use."""

    problems: list[str]

    def read_simple_command(self, words: Sequence[Word], node: Node) -> None: ...

    def read_wrapper(self, wrapper: wrappers.Wrapper, words: Sequence[Word], node: Node) -> bool: ...

    def read_standard_input(self, node: Node) -> None: ...

    def read_nested(self, word: Word) -> None: ...


def _bind(reader: CommandSink, words: Sequence[Word], node: Node) -> bool:
    """Note `bind '"q": "text"'` and bindkey: keys have another meaning after them."""
    if any(not word.text.startswith("-") for word in words[1:]):
        reader.problems.append("it gives keys another meaning")
    return False


def _at(reader: CommandSink, words: Sequence[Word], node: Node) -> bool:
    reader.read_standard_input(node)
    return False


def _eval(reader: CommandSink, words: Sequence[Word], node: Node) -> bool:
    inner = words[2:] if len(words) > 1 and words[1].text == "--" else words[1:]
    if inner:
        reader.read_nested(join_words(inner))
    return bool(inner)


def _source(reader: CommandSink, words: Sequence[Word], node: Node) -> bool:
    if len(words) == 1:
        reader.read_standard_input(node)  # fish reads stdin here
    if len(words) > 1 and (not words[1].is_fixed or NOT_A_FILE.fullmatch(words[1].text)):
        reader.problems.append(f"what is sourced is known only to the shell: {words[1].source[:40]}")
    return False


def _trap(reader: CommandSink, words: Sequence[Word], node: Node) -> bool:
    if len(words) > 2 and words[1].text not in ("", "-") and not words[1].text.startswith("-"):
        reader.read_nested(words[1])
    return False


def _alias(reader: CommandSink, words: Sequence[Word], node: Node) -> bool:
    for word in words[1:]:
        _, equals, value = word.text.partition("=")
        if equals:
            reader.read_nested(Word(word.source, value, word.is_fixed))
    if len(words) > 2 and "=" not in words[1].text:
        reader.read_nested(join_words(words[2:]))  # fish: `alias NAME COMMAND`
    return False


def _find(reader: CommandSink, words: Sequence[Word], node: Node) -> bool:
    starts = wrappers.FINDERS[words[0].text.rpartition("/")[2].lstrip("=")]
    for inner in wrappers.split_find_commands(words, starts):
        reader.read_simple_command(inner, node)
    return False


def _xargs(reader: CommandSink, words: Sequence[Word], node: Node) -> bool:
    replaces = any(word.text[:2] in ("-I", "-i") or word.text.startswith("--replace") for word in words)
    hole = next(iter(wrappers.option_values(words, ("-I",))), Word("{}", "{}")).text
    holes = [wrappers.with_placeholder(word, hole) if replaces else word for word in words]
    return reader.read_wrapper(wrappers.WRAPPERS["xargs"], holes, node)


def _command(reader: CommandSink, words: Sequence[Word], node: Node) -> bool:
    """Read `command CMD`; `command -v rm` runs nothing."""
    if len(words) > 1 and words[1].text in ("-v", "-V"):
        return False
    return reader.read_wrapper(wrappers.WRAPPERS["command"], words, node)


def _history(reader: CommandSink, words: Sequence[Word], node: Node) -> bool:
    if not any(word.text.startswith("-l") for word in words[1:]):
        reader.problems.append("it runs a line of the shell's history")
    return False


def _hash(reader: CommandSink, words: Sequence[Word], node: Node) -> bool:
    for value in wrappers.option_values(words[1:], ("-p",)):
        reader.read_simple_command([value], node)
    for word in words[1:]:
        _, equals, program = word.text.partition("=")
        if equals:
            reader.read_simple_command([Word(word.source, program, word.is_fixed)], node)
    return False


def _enable(reader: CommandSink, words: Sequence[Word], node: Node) -> bool:
    if any(re.match(r"-\w*f", word.text) for word in words[1:]):
        reader.problems.append("it loads commands from a file")
    return False


def _crontab(reader: CommandSink, words: Sequence[Word], node: Node) -> bool:
    if all(word.text in ("-", "-u") for word in words[1:]):
        reader.problems.append("it would run what a table says that is not known")
    return False


Special = Callable[[CommandSink, Sequence[Word], "Node"], bool]
SPECIAL: Mapping[str, Special] = {
    "eval": _eval,
    ".": _source,
    "source": _source,
    "trap": _trap,
    "alias": _alias,
    **dict.fromkeys(wrappers.FINDERS, _find),
    "xargs": _xargs,
    "command": _command,
    "fc": _history,
    "hash": _hash,
    "bind": _bind,
    "bindkey": _bind,
    "at": _at,
    "batch": _at,
    "enable": _enable,
    "crontab": _crontab,
}
