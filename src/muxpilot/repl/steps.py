"""Splits an input of any number of lines into steps; each step is typed at one prompt."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from enum import Enum

from muxpilot.errors import BadInput
from muxpilot.processes.repl_prompts import InputStyle, ReplKind
from muxpilot.records import record

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_COMPOUND = (
    *(ast.If, ast.For, ast.While, ast.With, ast.Try, ast.TryStar, ast.Match),
    *(ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith),
)
_GOES_ON = re.compile(r"(?:else|elif|except|finally)\b|[)\]}]")
_KILL_INDENT, _END_OF_EDITOR = "\x15", "\x04"


class InputMethod(Enum):
    """How a step is given to the program."""

    TYPING = "keys, and Enter"
    PASTING = "a paste, bracketed where the program wants that, and Enter"
    BYTES = "exactly these bytes"


@record
class InputStep:
    """A text that is typed at one prompt.

    `echo_lines` is how many lines its echo has, `last_echo_line` the text of the last, which shows where the
    echo ends. `may_need_empty_line`: one more empty line ends it, if the program still waits for it then.
    """

    text: str
    method: InputMethod
    echo_lines: int = 1
    last_echo_line: str = ""
    may_need_empty_line: bool = False


def validate_input(text: str) -> str:
    """Return the input with plain line ends; raise BadInput for what no keyboard can type."""
    text = text.replace("\r\n", "\n")
    if found := _CONTROL.search(text):
        raise BadInput(
            f"The argument 'input' holds the control character \\x{ord(found[0]):02x}.",
            "Write it as an escape of the language, or press keys with send-keys.",
        )
    return text


def split_into_steps(kind: ReplKind, text: str, *, goes_on: bool) -> list[InputStep]:
    """Return the steps of an input. `goes_on`: the program has a part of an input, and waits for the rest."""
    text = text.rstrip("\n")
    lines = text.split("\n")
    if kind.style is InputStyle.PYTHON:
        return _continue_statement(text) if goes_on else list(_split_statements(text))
    if kind.style is InputStyle.CELL:
        return [_paste_step(text, may_need_empty_line=_ends_in_block(text))]
    if kind.style is InputStyle.NODE and not goes_on:
        text = text.replace("\t", "    ")
        if len(lines) > 1 and not text.lstrip().startswith("."):
            return [_editor_step(text.split("\n"))]
        lines = text.split("\n")
    kept = [line for line in lines if line.strip()] or lines[:1] if kind.repeats_on_empty_line else lines
    return [InputStep(line, InputMethod.TYPING, last_echo_line=line) for line in kept]


def _paste_step(text: str, *, may_need_empty_line: bool = False) -> InputStep:
    return InputStep(
        text, InputMethod.PASTING, text.count("\n") + 1, text.rpartition("\n")[2], may_need_empty_line
    )


def _editor_step(lines: Sequence[str]) -> InputStep:
    """Return a step for node's editor mode; each line first removes the indentation that node adds."""
    typed = "\r".join(f"{_KILL_INDENT}{line}" for line in lines)
    return InputStep(f".editor\r{typed}{_END_OF_EDITOR}", InputMethod.BYTES, len(lines) + 2, lines[-1])


def _continue_statement(text: str) -> list[InputStep]:
    return [_paste_step(f"{text}\n" if text[:1].isspace() else text)]


def _split_statements(text: str) -> Iterator[InputStep]:
    """Yield one step for each statement of a Python program."""
    try:
        with warnings.catch_warnings(action="ignore"):
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from _split_blocks(text)
        return
    lines = text.split("\n")
    if not body:
        yield _paste_step(lines[-1])
    at = 0
    while at < len(body):
        group = [body[at]]
        while at + len(group) < len(body) and _first_line(body[at + len(group)]) <= _last_line(group[-1]):
            group.append(body[at + len(group)])
        at += len(group)
        yield _statement_step(group, lines[_first_line(group[0]) - 1 : _last_line(group[-1])])


def _statement_step(nodes: Sequence[ast.stmt], lines: Sequence[str]) -> InputStep:
    """Return the step for some statements. An empty line would end a block, so it gets a blank.

    Empty lines in strings stay as they are.
    """
    if not any(isinstance(node, _COMPOUND) for node in nodes):
        return _paste_step("\n".join(lines))
    begin = _first_line(nodes[0])
    strings = set(_lines_inside_strings(nodes))
    kept = [line or ("" if begin + at in strings else " ") for at, line in enumerate(lines)]
    return _paste_step("\n".join(kept) + "\n")


def _lines_inside_strings(nodes: Sequence[ast.stmt]) -> Iterator[int]:
    for statement in nodes:
        for node in ast.walk(statement):
            if isinstance(node, ast.JoinedStr) or (
                isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
            ):
                yield from range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _split_blocks(text: str) -> Iterator[InputStep]:
    """Yield the steps of a text that our Python cannot parse, by its indentation.

    It is of another version, or has a mistake in it.
    """
    block: list[str] = []
    for line in text.split("\n"):
        if line[:1].strip() and block and not _GOES_ON.match(line):
            yield _block_step(block)
            block = []
        block.append(line)
    yield _block_step(block)


def _block_step(lines: Sequence[str]) -> InputStep:
    text = "\n".join(lines).rstrip()
    if "\n" not in text:
        return _paste_step(text)
    return _paste_step("\n".join(line or " " for line in text.split("\n")) + "\n")


def _ends_in_block(text: str) -> bool:
    """Return whether a Python program ends inside a block that only an empty line closes."""
    try:
        with warnings.catch_warnings(action="ignore"):
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "\n" in text and text.rpartition("\n")[2][:1].isspace()
    return bool(body) and isinstance(body[-1], _COMPOUND)
