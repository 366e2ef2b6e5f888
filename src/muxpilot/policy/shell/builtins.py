"""Commands of shells, and a few programs, that run others each in its own way.

Each answers whether it is nothing but a way to run what is judged in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from muxpilot.policy.shell import wrappers
from muxpilot.policy.shell.words import Word, joined

if TYPE_CHECKING:
    from tree_sitter import Node

    from muxpilot.policy.shell.reader import Reader

NOT_A_FILE = re.compile(r"-|/dev/(?:stdin|fd/.*)|/proc/.*")


def _bind(reader: Reader, words: Sequence[Word], node: Node) -> bool:
    """`bind '"q": "text"'`, and bindkey: then keys are not what they seem."""
    if any(not word.text.startswith("-") for word in words[1:]):
        reader.problems.append("it gives keys another meaning")
    return False


def _at(reader: Reader, words: Sequence[Word], node: Node) -> bool:
    reader.read_by_shell(node)
    return False


def _eval(reader: Reader, words: Sequence[Word], node: Node) -> bool:
    inner = words[2:] if len(words) > 1 and words[1].text == "--" else words[1:]
    if inner:
        reader.nested(joined(inner))
    return bool(inner)


def _source(reader: Reader, words: Sequence[Word], node: Node) -> bool:
    if len(words) == 1:
        reader.read_by_shell(node)  # fish does
    if len(words) > 1 and (not words[1].is_fixed or NOT_A_FILE.fullmatch(words[1].text)):
        reader.problems.append(f"what is sourced is known only to the shell: {words[1].source[:40]}")
    return False


def _trap(reader: Reader, words: Sequence[Word], node: Node) -> bool:
    if len(words) > 2 and words[1].text not in ("", "-") and not words[1].text.startswith("-"):
        reader.nested(words[1])
    return False


def _alias(reader: Reader, words: Sequence[Word], node: Node) -> bool:
    for word in words[1:]:
        _, equals, value = word.text.partition("=")
        if equals:
            reader.nested(Word(word.source, value, word.is_fixed))
    if len(words) > 2 and "=" not in words[1].text:
        reader.nested(joined(words[2:]))  # as fish has it
    return False


def _find(reader: Reader, words: Sequence[Word], node: Node) -> bool:
    starts = wrappers.FINDERS[words[0].text.rpartition("/")[2].lstrip("=")]
    for inner in wrappers.found_commands(words, starts):
        reader.simple(inner, node)
    return False


def _xargs(reader: Reader, words: Sequence[Word], node: Node) -> bool:
    replaces = any(word.text[:2] in ("-I", "-i") or word.text.startswith("--replace") for word in words)
    hole = next(iter(wrappers.option_values(words, ("-I",))), Word("{}", "{}")).text
    holes = [wrappers.with_holes(word, hole) if replaces else word for word in words]
    return reader.runner(wrappers.RUNNERS["xargs"], holes, node)


def _looking(reader: Reader, words: Sequence[Word], node: Node) -> bool:
    """`command -v rm` runs nothing."""
    if len(words) > 1 and words[1].text in ("-v", "-V"):
        return False
    return reader.runner(wrappers.RUNNERS["command"], words, node)


def _history(reader: Reader, words: Sequence[Word], node: Node) -> bool:
    if not any(word.text.startswith("-l") for word in words[1:]):
        reader.problems.append("it runs a line of the shell's history")
    return False


def _hash(reader: Reader, words: Sequence[Word], node: Node) -> bool:
    for value in wrappers.option_values(words[1:], ("-p",)):
        reader.simple([value], node)
    for word in words[1:]:
        _, equals, program = word.text.partition("=")
        if equals:
            reader.simple([Word(word.source, program, word.is_fixed)], node)
    return False


def _enable(reader: Reader, words: Sequence[Word], node: Node) -> bool:
    if any(re.match(r"-\w*f", word.text) for word in words[1:]):
        reader.problems.append("it loads commands from a file")
    return False


def _crontab(reader: Reader, words: Sequence[Word], node: Node) -> bool:
    if all(word.text in ("-", "-u") for word in words[1:]):
        reader.problems.append("it would run what a table says that is not known")
    return False


Special = Callable[["Reader", Sequence[Word], "Node"], bool]
SPECIAL: Mapping[str, Special] = {
    "eval": _eval,
    ".": _source,
    "source": _source,
    "trap": _trap,
    "alias": _alias,
    **dict.fromkeys(wrappers.FINDERS, _find),
    "xargs": _xargs,
    "command": _looking,
    "fc": _history,
    "hash": _hash,
    "bind": _bind,
    "bindkey": _bind,
    "at": _at,
    "batch": _at,
    "enable": _enable,
    "crontab": _crontab,
}
