"""Every statement that a shell would run for a text, however deep it is wrapped.

tree-sitter's bash grammar finds the simple commands; runners.py tells which of them run others. Whatever
cannot be known before the shell runs it is a problem, and a text with a problem is not judged harmless.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from muxpilot.policy.shell import escapes, loose, runners
from muxpilot.policy.shell.tree import (
    fed,
    is_misread,
    parsed,
    redirects,
    redirects_of,
    source_of,
    walk,
    words_of,
)
from muxpilot.policy.shell.words import Word, unquoted

if TYPE_CHECKING:
    from tree_sitter import Node

# The grammar's time may grow with the square of these: together they keep it to about a tenth of a second.
_LONGEST = 20_000
_MOST_OPERATORS = 600
_OPERATORS = re.compile(r"[|&;()<>{}\[\]!`]")
_DEEPEST = 8
_MOST_GUESSED = 20
_MOST_PLACES = 300

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SINGLE_QUOTED = re.compile(r"'[^']*'")
# What an interactive shell replaces by a line of its history.
_HISTORY = re.compile(r"(?<![\\$\[{(])!(?=[\w!?$^*#-])|(?:^|\n)\^")
_PROMPT_EXPANSION = re.compile(r"@P\s*\}$")
_TOO_MUCH = f"it is longer than {_LONGEST} characters or has over {_MOST_OPERATORS} operators"
_SETTING_EXPANSION = re.compile(r"\$\{(\w+)(?:\[[^]]*\])?:?=")
_UNREADABLE = "it is not shell that can be read"
# Never a program's name: the grammar lost its way before one of these.
_RESERVED = frozenset(
    "if then elif else fi while until for do done case esac select function { } [[ in".split()
)
_NOT_A_FILE = re.compile(r"-|/dev/(?:stdin|fd/.*)|/proc/.*")


@dataclass(frozen=True, slots=True)
class Statement:
    """`text` is what is judged: words without quotes, then redirections.

    `is_plain`: it only runs another statement, which is judged in its place. `is_guess`: it may be one.
    """

    text: str
    source: str
    is_plain: bool = False
    is_guess: bool = False

    @property
    def spellings(self) -> tuple[str, ...]:
        """Also by its name alone: `/bin/rm` is `rm`."""
        name, blank, rest = self.text.partition(" ")
        return (self.text, self.source, f"{name.rpartition('/')[2].lstrip('=')}{blank}{rest}")


@dataclass(frozen=True, slots=True)
class Reading:
    """`problem` says why the text cannot be judged; `is_shell` is false where the grammar does not fit."""

    statements: tuple[Statement, ...]
    problem: str | None = None
    is_shell: bool = True


def read(text: str) -> Reading:
    """The statements of a text that somebody wants a shell to run."""
    if _is_too_much(text):
        return Reading((), _TOO_MUCH)
    reader = _Reader()
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if _CONTROLS.search(plain):
        reader.problems.append("it holds control characters, which edit the line")
    if _HISTORY.search(_SINGLE_QUOTED.sub("''", plain)):
        reader.problems.append("it may recall a line of the shell's history")
    reader.text(plain)
    problem = reader.problems[0] if reader.problems else None
    return Reading(tuple(reader.statements), problem, reader.is_shell)


def read_variable(pair: str) -> Reading:
    """What NAME=value in the environment of a shell would make it run."""
    reader = _Reader()
    reader.assigned(pair, is_fixed=True)
    return Reading(tuple(reader.statements), reader.problems[0] if reader.problems else None)


def _is_too_much(text: str) -> bool:
    return len(text) > _LONGEST or len(_OPERATORS.findall(text)) > _MOST_OPERATORS


class _Reader:
    def __init__(self, depth: int = 0, *, is_fed: bool = False, is_guessing: bool = False) -> None:
        self.statements: list[Statement] = []
        self.problems: list[str] = []
        self.is_shell = True
        self._depth = depth
        self._is_fed = is_fed
        self._is_guessing = is_guessing

    def text(self, text: str) -> None:
        root = parsed(text)
        if root.has_error:
            self.is_shell = False
            self.problems.append(_UNREADABLE)
        for node in walk(root):
            if is_misread(node):
                self.problems.append(_UNREADABLE)
            visit = _VISITS.get(node.type)
            if visit is not None:
                visit(self, node)

    def command(self, node: Node) -> None:
        words = [unquoted(source) for source in words_of(node)]
        if words:
            self.simple(words, node, redirects=redirects(node))

    def simple(self, words: Sequence[Word], node: Node, *, redirects: Sequence[str] = ()) -> None:
        name = words[0].text.rpartition("/")[2].lstrip("=")
        if not words[0].is_fixed and name != "[":
            self.problems.append(f"which program runs is known only to the shell: {words[0].source[:40]}")
        if words[0].source in _RESERVED:
            self.problems.append(_UNREADABLE)
        is_plain = self._runs_others(name, words, node)
        text = " ".join([*(word.text for word in words), *redirects])
        self.statements.append(Statement(text, " ".join(word.source for word in words), is_plain))

    def _runs_others(self, name: str, words: Sequence[Word], node: Node) -> bool:
        """Judge what this program runs; true if it is nothing but a way to run that."""
        for value in runners.option_values(words[1:], runners.TEXT_OPTIONS.get(name, ())):
            self._nested(value)
        if name in runners.SHELLS:
            return self._shell(words, node)
        if name in _SPECIAL:
            return _SPECIAL[name](self, words, node)
        if name in escapes.NAMING:
            self._naming(name, words)
        if name in runners.INTERPRETERS:
            self._guess(name, words, node)
        for text in escapes.possible_commands(name, words):
            self._guessed(text)
        if escapes.is_anywhere(name) and not self._is_guessing:
            self._anywhere(words, node)
        if name in ("docker", "podman", "kubectl", "nerdctl", "lxc"):
            self._contained(words, node)
        runner = runners.RUNNERS.get(name)
        return runner is not None and self._runner(runner, words, node)

    def _runner(self, runner: runners.Runner, words: Sequence[Word], node: Node) -> bool:
        assignments, inner = runners.inner_of(runner, words)
        for word in assignments:
            self.assigned(word.text, is_fixed=word.is_fixed)
        if not inner:
            return False
        if runner.is_text:
            self._nested(_joined(inner))
        else:
            self.simple(inner, node)
        return runner.is_plain

    def _shell(self, words: Sequence[Word], node: Node) -> bool:
        has_text, at = False, 1
        while at < len(words) and words[at].text[:1] in ("-", "+") and words[at].text not in ("-", "--"):
            option = words[at].text
            has_text = has_text or option == "--command" or (option[:2] != "--" and "c" in option)
            is_valued = option in ("--rcfile", "--init-file") or (option[:2] != "--" and option[-1] in "oO")
            if is_valued and option[:2] == "--":
                self.source(words[at : at + 2], node)
            at += 2 if is_valued else 1
        at += at < len(words) and words[at].text in (("-", "--") if has_text else ("--",))
        script = words[at] if at < len(words) else None
        if has_text and script is None:
            self.problems.append("what the inner shell runs is not there")
        elif has_text and script is not None:
            self._nested(script)
        elif script is None or _NOT_A_FILE.fullmatch(script.text):
            self._read_by_shell(node)
        elif not script.is_fixed:
            self.problems.append(f"which script runs is known only to the shell: {script.source[:40]}")
        return has_text

    def _read_by_shell(self, node: Node) -> None:
        """A shell that reads its statements from somewhere."""
        given = next(fed(node), Word("", "") if not self._is_fed else None)
        if given is None:
            self.problems.append("a shell would run what another program, or a file, gives it")
        elif given.text:
            self._nested(given)

    def _nested(self, word: Word) -> None:
        if not word.is_fixed:
            self.problems.append(f"what an inner shell runs is known only to the shell: {word.source[:40]}")
        elif self._depth >= _DEEPEST or len(self.statements) > _MOST_OPERATORS:
            self.problems.append("it is nested too deep")
        elif _is_too_much(word.text):
            self.problems.append(_TOO_MUCH)
        else:
            inner = _Reader(self._depth + 1, is_fed=True, is_guessing=self._is_guessing)
            inner.text(word.text)
            self.statements += inner.statements
            self.problems += inner.problems

    def _guess(self, name: str, words: Sequence[Word], node: Node) -> None:
        rules = runners.option_values(words[1:], ("-f", "--file", "--makefile"))
        if name in ("make", "gmake") and any(_NOT_A_FILE.fullmatch(value.text) for value in rules):
            self.problems.append("make would read its rules from its input")
        given = (word for word in fed(node) if word is not None)
        for word in (*words[1:], *given):
            for text in (*loose.strings(word.text), word.text, *escapes.escaped(name, word.text)):
                self._guessed(text)

    def _guessed(self, text: str) -> None:
        self.statements += [Statement(piece, piece, is_guess=True) for piece in loose.pieces(text)]

    def _anywhere(self, words: Sequence[Word], node: Node) -> None:
        """Every word may begin the command; what is not known counts only where a shell would read it."""
        if len(words) > _MOST_PLACES:
            self.problems.append(f"where in its {len(words)} words the command begins is not known")
        for at in range(1, min(len(words), _MOST_PLACES)):
            inner = _Reader(self._depth + 1, is_fed=True, is_guessing=True)
            inner.simple(words[at : at + _MOST_GUESSED], node)
            self.statements += [replace(row, is_guess=True) for row in inner.statements]
            if words[at].text.rpartition("/")[2] in runners.SHELLS:
                self.problems += inner.problems

    def _naming(self, name: str, words: Sequence[Word]) -> None:
        variable = escapes.set_unseen(name, words)
        if variable is not None:
            self.problems.append(f"it sets {variable} to what is known only to the shell")
        for word in words[1:]:
            if word.is_fixed and "[" in word.text and ("$(" in word.text or "`" in word.text):
                self._nested(Word(word.source, f": {word.text}"))

    def _contained(self, words: Sequence[Word], node: Node) -> None:
        for at in range(2, len(words)):
            if words[at].text.rpartition("/")[2] in runners.SHELLS:
                self._shell(words[at:], node)
                return

    def assignment(self, node: Node) -> None:
        word = unquoted(source_of(node))
        self.assigned(word.text, is_fixed=word.is_fixed)

    def assigned(self, text: str, *, is_fixed: bool) -> None:
        name, _, value = text.partition("=")
        name = name.partition("[")[0].rstrip("+")
        if runners.changes_what_runs(name):
            self.statements.append(Statement(text, text))
        if runners.is_run_by_somebody(name):
            self._nested(Word(text, value, is_fixed))
        elif name.startswith("BASH_FUNC_"):
            self._nested(Word(text, f"f {value}", is_fixed))
        elif is_fixed and ("$(" in value or "`" in value):
            # Arithmetic and prompts would run it later.
            self._nested(Word(text, f": {value}"))

    def declaration(self, node: Node) -> None:
        words = [unquoted(source_of(child)) for child in node.children]
        self.statements.append(Statement(" ".join(word.text for word in words), source_of(node)))
        self._naming("unset", words)
        is_reference = any(re.fullmatch(r"-\w*n\w*", word.text) for word in words)
        for word in words[1:]:
            name, equals, value = word.text.partition("=")
            if equals and word.source[:1] in ("'", '"', "$", "\\"):
                self.assigned(word.text, is_fixed=word.is_fixed)
            if equals and is_reference and runners.changes_what_runs(value.partition("[")[0]):
                self.problems.append(f"it gives {value} another name: {name}")

    def redirection(self, node: Node) -> None:
        if node.child_by_field_name("body") is None:
            text = " ".join(redirects_of(node))
            if text:
                self.statements.append(Statement(text, source_of(node)))

    def expansion(self, node: Node) -> None:
        found = _SETTING_EXPANSION.match(source_of(node))
        if found is not None and runners.changes_what_runs(found[1]):
            self.problems.append(f"it sets {found[1]} to what is known only to the shell")
        if _PROMPT_EXPANSION.search(source_of(node)):
            self.problems.append("it expands a variable as a prompt, which may run anything")

    def loop(self, node: Node) -> None:
        variable = node.child_by_field_name("variable")
        if variable is not None and runners.changes_what_runs(source_of(variable)):
            self.problems.append(f"it sets {source_of(variable)} to what is known only to the shell")

    def bind(self, words: Sequence[Word], node: Node) -> bool:
        """`bind '"q": "text"'`, and bindkey: then keys are not what they seem."""
        if any(not word.text.startswith("-") for word in words[1:]):
            self.problems.append("it gives keys another meaning")
        return False

    def at(self, words: Sequence[Word], node: Node) -> bool:
        self._read_by_shell(node)
        return False

    def eval(self, words: Sequence[Word], node: Node) -> bool:
        inner = words[2:] if len(words) > 1 and words[1].text == "--" else words[1:]
        if inner:
            self._nested(_joined(inner))
        return bool(inner)

    def source(self, words: Sequence[Word], node: Node) -> bool:
        if len(words) > 1 and (not words[1].is_fixed or _NOT_A_FILE.fullmatch(words[1].text)):
            self.problems.append(f"what is sourced is known only to the shell: {words[1].source[:40]}")
        return False

    def trap(self, words: Sequence[Word], node: Node) -> bool:
        if len(words) > 2 and words[1].text not in ("", "-") and not words[1].text.startswith("-"):
            self._nested(words[1])
        return False

    def alias(self, words: Sequence[Word], node: Node) -> bool:
        for word in words[1:]:
            _, equals, value = word.text.partition("=")
            if equals:
                self._nested(Word(word.source, value, word.is_fixed))
        return False

    def find(self, words: Sequence[Word], node: Node) -> bool:
        for inner in runners.found_commands(words):
            self.simple(inner, node)
        return False

    def xargs(self, words: Sequence[Word], node: Node) -> bool:
        replaces = any(word.text[:2] in ("-I", "-i") or word.text.startswith("--replace") for word in words)
        hole = next(iter(runners.option_values(words, ("-I",))), Word("{}", "{}")).text
        holes = [runners.with_holes(word, hole) if replaces else word for word in words]
        return self._runner(runners.RUNNERS["xargs"], holes, node)

    def looking(self, words: Sequence[Word], node: Node) -> bool:
        """`command -v rm` runs nothing."""
        if len(words) > 1 and words[1].text in ("-v", "-V"):
            return False
        return self._runner(runners.RUNNERS["command"], words, node)

    def history(self, words: Sequence[Word], node: Node) -> bool:
        if not any(word.text.startswith("-l") for word in words[1:]):
            self.problems.append("it runs a line of the shell's history")
        return False

    def hash(self, words: Sequence[Word], node: Node) -> bool:
        for value in runners.option_values(words[1:], ("-p",)):
            self.simple([value], node)
        return False


_VISITS = {
    "command": _Reader.command,
    "variable_assignment": _Reader.assignment,
    "declaration_command": _Reader.declaration,
    "unset_command": _Reader.declaration,
    "redirected_statement": _Reader.redirection,
    "expansion": _Reader.expansion,
    "for_statement": _Reader.loop,
}
_SPECIAL = {
    "eval": _Reader.eval,
    ".": _Reader.source,
    "source": _Reader.source,
    "trap": _Reader.trap,
    "alias": _Reader.alias,
    "find": _Reader.find,
    "xargs": _Reader.xargs,
    "command": _Reader.looking,
    "fc": _Reader.history,
    "hash": _Reader.hash,
    "bind": _Reader.bind,
    "bindkey": _Reader.bind,
    "at": _Reader.at,
    "batch": _Reader.at,
}


def _joined(words: Sequence[Word]) -> Word:
    return Word(
        " ".join(word.source for word in words),
        " ".join(word.text for word in words),
        all(word.is_fixed for word in words),
    )
