"""The prompts of interactive programs: how each looks, and how its continuation prompt looks."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Any

from muxpilot.processes.decide import REMOTE_PROGRAMS
from muxpilot.records import record

_MOST_SEARCHED = 600
_LONGEST_PROMPT = 150
_NEVER = r"(?!)"
# The continuation prompts of programs that we do not know.
_COMMON_CONTINUATION = r"\.{2,}:?>?|[-.]*->|\||>>|\+|\S*[*'\"(]>"


class InputStyle(Enum):
    """How an input of several lines reaches a program as a whole."""

    LINES = "line by line, each at a prompt"
    PYTHON = "statement by statement: an empty line ends a block, and must not come inside one"
    CELL = "all of it as one paste"
    NODE = "in its editor mode: node runs each line that could end a statement"


@record
class ReplKind:
    """One kind of program. `prompt` and `continuation` are patterns without the blanks at their end.

    `programs` is a pattern for the program's name, where its prompt alone does not identify it.
    """

    name: str
    prompt: str
    continuation: str = _NEVER
    programs: str = ""
    style: InputStyle = InputStyle.LINES
    repeats_on_empty_line: bool = False  # an empty line would run the last command again
    has_blank_line_before: bool = False  # an empty line comes before each prompt


REPL_KINDS = (
    ReplKind("python", r">>>", r"\.\.\.", style=InputStyle.PYTHON),
    ReplKind("ipython", r"In \[\d+\]:", r"\.\.\.:", style=InputStyle.CELL, has_blank_line_before=True),
    ReplKind("pdb", r"\((?:Pdb|pdb\+\+)\)|ipdb>", r"\.\.\.:?", repeats_on_empty_line=True),
    ReplKind("sqlite", r"sqlite>", r"\.\.\.>|\(x\d+\.\.\.>"),
    ReplKind("gdb", r"\(gdb\)|\(lldb\)", r">", repeats_on_empty_line=True),
    ReplKind("mysql", r"mysql>|MariaDB \[[^\]]*\]>", r"[-'\"`]>|/\*>"),
    ReplKind(
        "irb", r"irb\([^)]*\):\d+(?::\d+)?>", r"irb\([^)]*\):\d+(?::\d+)?[*'\"\]]", style=InputStyle.CELL
    ),
    ReplKind("ghci", r"ghci>|Prelude>", r"ghci\||Prelude\|"),
    ReplKind("julia", r"julia>"),
    ReplKind("scala", r"scala>", r"\|"),
    ReplKind("jshell", r"jshell>", r"\.\.\.>"),
    ReplKind("php", r"php >", r"php [{('\"*]>?"),
    ReplKind("clojure", r"[\w.-]+=>", r"#_=>", programs="java|clojure|clj|lein|bb"),
    ReplKind("psql", r"[^\s=]*=[*!?]?[#>]", r"[^\s=]*[-*'\"$(^][*!?]?[#>]", programs="psql|postgres|pgcli"),
    ReplKind("node", r">", r"\.{3,}|\|", programs="node|nodejs", style=InputStyle.NODE),
    ReplKind("R", r">", r"\+", programs="R|Rterm"),
    ReplKind("lua", r">", r">>", programs=r"lua[\d.]*|luajit"),
)
# Kinds whose prompt no other program has. Inside ssh the program's name is not visible.
_BY_PROMPT = tuple(kind for kind in REPL_KINDS if not kind.programs)
_PSQL = next(kind for kind in REPL_KINDS if kind.name == "psql")
_REMOTE_PSQL_PROMPT = re.compile(r"\w+=[*!?]?[#>]")

# Finds a prompt in a line; returns a match or None.
FindPrompt = Callable[[str], Any]


class ReplPrompt:
    """The prompt that a dialogue waits for."""

    def __init__(self, kind: ReplKind, *, search: FindPrompt | None = None) -> None:
        """Use `search`, which finds the prompt that the caller described, in place of the kind's own."""
        self.kind = kind
        self.is_given = search is not None
        self.is_empty = not kind.prompt and search is None
        self._search = search
        self._end = re.compile(rf"(?:{kind.prompt})\Z")
        self._continuation = re.compile(rf"\s*(?:{kind.continuation})\s*")

    def without_prompt(self, text: str) -> str | None:
        """Return the text without the prompt at its end and the line end before; None if it has no prompt."""
        if self.is_empty:
            return text.removesuffix("\n") if text.endswith("\n") or not text else None
        if text.endswith("\n"):
            return None  # the cursor is on an empty line
        body = text.rstrip()
        line = body.rpartition("\n")[2][-_MOST_SEARCHED:]
        start = self._find_start(line, text[len(body) :].partition("\n")[0])
        if start is None:
            return None
        output = body[: len(body) - len(line) + start].removesuffix("\n")
        return output.removesuffix("\n") if self.kind.has_blank_line_before else output

    def asks_for_more(self, line: str) -> bool:
        return bool(self._continuation.fullmatch(line))

    def _find_start(self, line: str, blanks: str) -> int | None:
        if self._search is None:
            found = self._end.search(line) if line else None
        else:
            found = self._search(line + blanks) or self._search(line)
        return found.start() if found is not None else None


def recognize_prompt(line: str, program: str, *, search: FindPrompt | None = None) -> ReplPrompt:
    """Return the prompt that `line`, the text before the cursor, shows."""
    return ReplPrompt(_find_kind(line.rstrip(), program) or _make_kind(line), search=search)


def is_known_prompt(line: str, program: str) -> bool:
    return _find_kind(line.rstrip(), program) is not None


def text_typed_at_prompt(line: str, program: str) -> str:
    """Return the text that a person has typed at a known prompt; empty if none, or if that is not certain."""
    if is_known_prompt(line, program) or line.endswith(" "):
        return ""  # a question, which may begin like a prompt
    for kind in (*_BY_PROMPT, *(kind for kind in REPL_KINDS if _is_named(kind, program))):
        if found := re.match(rf"(?:{kind.prompt}) (?=\S)", line):
            return line[found.end() :].strip()
    return ""


def _find_kind(line: str, program: str) -> ReplKind | None:
    named = [kind for kind in REPL_KINDS if _is_named(kind, program)]
    for kind in (*named, *_BY_PROMPT):
        if re.search(rf"(?:{kind.prompt})\Z", line):
            return kind
    for kind in (*named, *_BY_PROMPT):
        if re.fullmatch(rf"\s*(?:{kind.continuation})", line) and _may_be(kind, program):
            return kind
    return _PSQL if _REMOTE_PSQL_PROMPT.fullmatch(line) else None


def _is_named(kind: ReplKind, program: str) -> bool:
    return bool(kind.programs and re.fullmatch(kind.programs, program))


def _may_be(kind: ReplKind, program: str) -> bool:
    """Return whether a program's name fits a kind. Continuation prompts of several kinds look the same."""
    names = (kind.name, kind.name.removeprefix("i"))
    return _is_named(kind, program) or program in REMOTE_PROGRAMS or program.startswith(names)


def _make_kind(line: str) -> ReplKind:
    """Return a kind for the prompt of an unknown program; the numbers in it may differ next time."""
    shown = line.strip()[-_LONGEST_PROMPT:]
    continuation = _NEVER if re.fullmatch(_COMMON_CONTINUATION, shown) else _COMMON_CONTINUATION
    return ReplKind("unknown", re.sub(r"\d+", r"\\d+", re.escape(shown)), continuation)
