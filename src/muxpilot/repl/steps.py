"""From an input of any number of lines to what is typed at one prompt after the other."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from enum import Enum

from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.repl.prompt_table import Kind, Style

_UNTYPED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_COMPOUND = (
    *(ast.If, ast.For, ast.While, ast.With, ast.Try, ast.TryStar, ast.Match),
    *(ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith),
)
_GOES_ON = re.compile(r"(?:else|elif|except|finally)\b|[)\]}]")
_KILL_INDENT, _END_OF_EDITOR = "\x15", "\x04"


class By(Enum):
    TYPING = "keys, and Enter"
    PASTING = "a paste, bracketed where the program wants that, and Enter"
    BYTES = "exactly these bytes"


@record
class Step:
    """What is typed at one prompt.

    `newlines`: how many lines its echo has. `shown`: what the last of them shows, to know it by.
    `may_close`: an empty line more ends it, if the program still waits for one then.
    """

    text: str
    by: By
    newlines: int = 1
    shown: str = ""
    may_close: bool = False


def checked(text: str) -> str:
    """The input with plain line ends; what no keyboard can type is refused."""
    text = text.replace("\r\n", "\n")
    if found := _UNTYPED.search(text):
        raise BadInput(
            f"The argument 'input' holds the control character \\x{ord(found[0]):02x}.",
            "Write it as an escape of the language, or press keys with send-keys.",
        )
    return text


def steps_of(kind: Kind, text: str, *, goes_on: bool) -> list[Step]:
    """`goes_on`: the program has a part of an input already, and waits for the rest."""
    text = text.rstrip("\n")
    lines = text.split("\n")
    if kind.style is Style.PYTHON:
        return _continued(text) if goes_on else list(_statements(text))
    if kind.style is Style.CELL:
        return [_pasted(text, may_close=_ends_block(text))]
    if kind.style is Style.NODE and not goes_on:
        text = text.replace("\t", "    ")
        if len(lines) > 1 and not text.lstrip().startswith("."):
            return [_in_editor(text.split("\n"))]
        lines = text.split("\n")
    kept = [line for line in lines if line.strip()] or lines[:1] if kind.skips_blank else lines
    return [Step(line, By.TYPING, shown=line) for line in kept]


def _pasted(text: str, *, may_close: bool = False) -> Step:
    return Step(text, By.PASTING, text.count("\n") + 1, text.rpartition("\n")[2], may_close)


def _in_editor(lines: Sequence[str]) -> Step:
    """Each line without the indentation that node puts there by itself."""
    typed = "\r".join(f"{_KILL_INDENT}{line}" for line in lines)
    return Step(f".editor\r{typed}{_END_OF_EDITOR}", By.BYTES, len(lines) + 2, lines[-1])


def _continued(text: str) -> list[Step]:
    return [_pasted(f"{text}\n" if text[:1].isspace() else text)]


def _statements(text: str) -> Iterator[Step]:
    """One step for each statement of a Python program."""
    try:
        with warnings.catch_warnings(action="ignore"):
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from _blocks(text)
        return
    lines = text.split("\n")
    if not body:
        yield _pasted(lines[-1])
    at = 0
    while at < len(body):
        group = [body[at]]
        while at + len(group) < len(body) and _first(body[at + len(group)]) <= _last(group[-1]):
            group.append(body[at + len(group)])
        at += len(group)
        yield _statement(group, lines[_first(group[0]) - 1 : _last(group[-1])])


def _statement(nodes: Sequence[ast.stmt], lines: Sequence[str]) -> Step:
    """An empty line would end a block: one that stands in it gets a blank, unless it is in a string."""
    if not any(isinstance(node, _COMPOUND) for node in nodes):
        return _pasted("\n".join(lines))
    begin = _first(nodes[0])
    strings = set(_inside_strings(nodes))
    kept = [line or ("" if begin + at in strings else " ") for at, line in enumerate(lines)]
    return _pasted("\n".join(kept) + "\n")


def _inside_strings(nodes: Sequence[ast.stmt]) -> Iterator[int]:
    for statement in nodes:
        for node in ast.walk(statement):
            if isinstance(node, ast.JoinedStr) or (
                isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
            ):
                yield from range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _blocks(text: str) -> Iterator[Step]:
    """What is not Python of ours, by its indentation alone: another version's, or with a mistake in it."""
    block: list[str] = []
    for line in text.split("\n"):
        if line[:1].strip() and block and not _GOES_ON.match(line):
            yield _block(block)
            block = []
        block.append(line)
    yield _block(block)


def _block(lines: Sequence[str]) -> Step:
    text = "\n".join(lines).rstrip()
    if "\n" not in text:
        return _pasted(text)
    return _pasted("\n".join(line or " " for line in text.split("\n")) + "\n")


def _ends_block(text: str) -> bool:
    """Whether a Python program ends inside a block that only an empty line closes."""
    try:
        with warnings.catch_warnings(action="ignore"):
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "\n" in text and text.rpartition("\n")[2][:1].isspace()
    return bool(body) and isinstance(body[-1], _COMPOUND)
