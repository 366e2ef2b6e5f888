"""The prompts of interactive programs: which stands there, which may follow, which asks for the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Any

from muxpilot.processes.decide import REMOTE
from muxpilot.records import record

_LOOKED_AT = 600
_LONGEST_PROMPT = 150
_NEVER = r"(?!)"
# How programs that we do not know ask for the rest of an input.
_COMMON_MORE = r"\.{2,}:?>?|[-.]*->|\||>>|\+|\S*[*'\"(]>"


class Style(Enum):
    """How several lines reach a program whole."""

    LINES = "line by line, each at a prompt"
    PYTHON = "statement by statement: an empty line ends a block, and must not come inside one"
    CELL = "all of it as one paste"
    NODE = "in its editor mode: a line that could end a statement would"


@record
class Kind:
    """One kind of program; `prompt` and `more` are without the blanks at their end.

    `programs` names the program where its prompt alone would not tell it.
    """

    name: str
    prompt: str
    more: str = _NEVER
    programs: str = ""
    style: Style = Style.LINES
    skips_blank: bool = False  # an empty line would repeat the last command
    blank_before: bool = False  # an empty line stands before each prompt


KINDS = (
    Kind("python", r">>>", r"\.\.\.", style=Style.PYTHON),
    Kind("ipython", r"In \[\d+\]:", r"\.\.\.:", style=Style.CELL, blank_before=True),
    Kind("pdb", r"\((?:Pdb|pdb\+\+)\)|ipdb>", r"\.\.\.:?", skips_blank=True),
    Kind("sqlite", r"sqlite>", r"\.\.\.>|\(x\d+\.\.\.>"),
    Kind("gdb", r"\(gdb\)|\(lldb\)", r">", skips_blank=True),
    Kind("mysql", r"mysql>|MariaDB \[[^\]]*\]>", r"[-'\"`]>|/\*>"),
    Kind("irb", r"irb\([^)]*\):\d+(?::\d+)?>", r"irb\([^)]*\):\d+(?::\d+)?[*'\"\]]", style=Style.CELL),
    Kind("ghci", r"ghci>|Prelude>", r"ghci\||Prelude\|"),
    Kind("julia", r"julia>"),
    Kind("scala", r"scala>", r"\|"),
    Kind("jshell", r"jshell>", r"\.\.\.>"),
    Kind("php", r"php >", r"php [{('\"*]>?"),
    Kind("clojure", r"[\w.-]+=>", r"#_=>", programs="java|clojure|clj|lein|bb"),
    Kind("psql", r"[^\s=]*=[*!?]?[#>]", r"[^\s=]*[-*'\"$(^][*!?]?[#>]", programs="psql|postgres|pgcli"),
    Kind("node", r">", r"\.{3,}|\|", programs="node|nodejs", style=Style.NODE),
    Kind("R", r">", r"\+", programs="R|Rterm"),
    Kind("lua", r">", r">>", programs=r"lua[\d.]*|luajit"),
)
# Prompts that nothing else has, wherever the program runs: inside ssh its name is not seen.
_BY_LOOK = tuple(kind for kind in KINDS if not kind.programs)
_PSQL_AFAR = next(kind for kind in KINDS if kind.name == "psql")

Search = Callable[[str], Any]


class Prompt:
    """The prompt that is waited for."""

    def __init__(self, kind: Kind, *, search: Search | None = None) -> None:
        self.kind = kind
        self.is_given = search is not None
        self.is_empty = not kind.prompt and search is None
        self._search = search
        self._end = re.compile(rf"(?:{kind.prompt})\Z")
        self._more = re.compile(rf"\s*(?:{kind.more})\s*")

    def cut(self, text: str) -> str | None:
        """The text without the prompt at its end and the line end before that; None if none is there."""
        if self.is_empty:
            return text.removesuffix("\n") if text.endswith("\n") or not text else None
        if text.endswith("\n"):
            return None  # the cursor stands on a line of its own
        body = text.rstrip()
        line = body.rpartition("\n")[2][-_LOOKED_AT:]
        start = self._start(line, text[len(body) :].partition("\n")[0])
        if start is None:
            return None
        output = body[: len(body) - len(line) + start].removesuffix("\n")
        return output.removesuffix("\n") if self.kind.blank_before else output

    def asks_for_more(self, line: str) -> bool:
        return bool(self._more.fullmatch(line))

    def _start(self, line: str, blanks: str) -> int | None:
        if self._search is None:
            found = self._end.search(line) if line else None
        else:
            found = self._search(line + blanks) or self._search(line)
        return found.start() if found is not None else None


def prompt_of(line: str, program: str, *, search: Search | None = None) -> Prompt:
    """By what stands before the cursor; `search` finds a prompt that somebody described."""
    return Prompt(_known(line.rstrip(), program) or _unknown(line), search=search)


def is_known(line: str, program: str) -> bool:
    return _known(line.rstrip(), program) is not None


def typed_behind(line: str, program: str) -> str:
    """What somebody has typed behind a prompt that we know; empty if nothing, or if that cannot be told."""
    if is_known(line, program) or line.endswith(" "):
        return ""  # a question, which may begin like a prompt
    for kind in (*_BY_LOOK, *(kind for kind in KINDS if _is_named(kind, program))):
        if found := re.match(rf"(?:{kind.prompt}) (?=\S)", line):
            return line[found.end() :].strip()
    return ""


def _known(line: str, program: str) -> Kind | None:
    named = [kind for kind in KINDS if _is_named(kind, program)]
    for kind in (*named, *_BY_LOOK):
        if re.search(rf"(?:{kind.prompt})\Z", line):
            return kind
    for kind in (*named, *_BY_LOOK):
        if re.fullmatch(rf"\s*(?:{kind.more})", line) and _may_be(kind, program):
            return kind
    is_afar = re.fullmatch(r"\w+=[*!?]?[#>]", line)
    return _PSQL_AFAR if is_afar else None


def _is_named(kind: Kind, program: str) -> bool:
    return bool(kind.programs and re.fullmatch(kind.programs, program))


def _may_be(kind: Kind, program: str) -> bool:
    """Continuations look alike: the program's name must go with it, where that is seen."""
    names = (kind.name, kind.name.removeprefix("i"))
    return _is_named(kind, program) or program in REMOTE or program.startswith(names)


def _unknown(line: str) -> Kind:
    """A prompt as it stands there, whatever its numbers are next time."""
    shown = line.strip()[-_LONGEST_PROMPT:]
    more = _NEVER if re.fullmatch(_COMMON_MORE, shown) else _COMMON_MORE
    return Kind("unknown", re.sub(r"\d+", r"\\d+", re.escape(shown)), more)
