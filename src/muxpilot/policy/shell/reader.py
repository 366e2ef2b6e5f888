"""Every statement of a shell text, however deep it is wrapped, found by walking its tree.

tree-sitter's bash grammar finds the simple commands; runners.py tells which of them run others. Whatever
cannot be known before the shell runs it is a problem, and a text with a problem is not judged harmless.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from muxpilot.policy.shell import guess, indirect_commands, wrappers
from muxpilot.policy.shell.builtins import NOT_A_FILE, SPECIAL
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
from muxpilot.policy.shell.words import Word, joined, unquoted
from muxpilot.records import record

if TYPE_CHECKING:
    from tree_sitter import Node

# The grammar's time may grow with the square of these: together they keep it to about a tenth of a second.
_LONGEST = 20_000
_MOST_OPERATORS = 600
_OPERATORS = re.compile(r"[|&;()<>{}\[\]!`]")
_DEEPEST = 8
_MOST_GUESSED = 20
_MOST_PLACES = 300

TOO_MUCH = f"it is longer than {_LONGEST} characters or has over {_MOST_OPERATORS} operators"
_PROMPT_EXPANSION = re.compile(r"@P\s*\}$")
_SETTING_EXPANSION = re.compile(r"\$\{(\w+)(?:\[[^]]*\])?:?=")
_UNREADABLE = "it is not shell that can be read"
# Never a program's name: the grammar lost its way before one of these.
_RESERVED = frozenset(
    "if then elif else fi while until for do done case esac select function { } [[ ]] in".split()
)


@record
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


def is_too_much(text: str) -> bool:
    return len(text) > _LONGEST or len(_OPERATORS.findall(text)) > _MOST_OPERATORS


class Reader:
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

    def otherwise(self, text: str) -> None:
        """Also what another shell would run. A comment is mostly no shell: then what expands is a problem."""
        inner = Reader(self._depth, is_guessing=self._is_guessing)
        inner.text(text)
        inner.guessed(text)
        self.statements += [replace(row, is_guess=True) for row in inner.statements]
        may_expand = re.search("[$`(]", text) is not None
        self.problems += [problem for problem in inner.problems if may_expand or problem != _UNREADABLE]

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
        for value in wrappers.option_values(words[1:], wrappers.TEXT_OPTIONS.get(name, ())):
            self.nested(value)
        if name in wrappers.SHELLS:
            return self._shell(words, node)
        if name in SPECIAL:
            return SPECIAL[name](self, words, node)
        if name in indirect_commands.NAMING:
            self._naming(name, words)
        if name in wrappers.INTERPRETERS:
            self._guess(name, words, node)
        if name in indirect_commands.EXPANDING:
            self._expanding(words)
        for text in indirect_commands.possible_commands(name, words):
            self.guessed(text)
        if indirect_commands.is_anywhere(name) and not self._is_guessing:
            self._anywhere(words, node)
        if name in wrappers.CONTAINERS:
            self._contained(words, node)
        runner = wrappers.RUNNERS.get(name)
        return runner is not None and self.runner(runner, words, node)

    def runner(self, runner: wrappers.Runner, words: Sequence[Word], node: Node) -> bool:
        assignments, inner = wrappers.inner_of(runner, words)
        for word in assignments:
            self.assigned(word.text, is_fixed=word.is_fixed)
        if not inner:
            return False
        if runner.is_text:
            self.nested(joined(inner))
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
                SPECIAL["source"](self, words[at : at + 2], node)
            at += 2 if is_valued else 1
        at += at < len(words) and words[at].text in (("-", "--") if has_text else ("--",))
        script = words[at] if at < len(words) else None
        if has_text and script is None:
            self.problems.append("what the inner shell runs is not there")
        elif has_text and script is not None:
            self.nested(script)
        elif script is None or NOT_A_FILE.fullmatch(script.text):
            self.read_by_shell(node)
        elif not script.is_fixed:
            self.problems.append(f"which script runs is known only to the shell: {script.source[:40]}")
        return has_text

    def read_by_shell(self, node: Node) -> None:
        """A shell that reads its statements from somewhere."""
        given = next(fed(node), Word("", "") if not self._is_fed else None)
        if given is None:
            self.problems.append("a shell would run what another program, or a file, gives it")
        elif given.text:
            self.nested(given)

    def nested(self, word: Word) -> None:
        if not word.is_fixed:
            self.problems.append(f"what an inner shell runs is known only to the shell: {word.source[:40]}")
        elif self._depth >= _DEEPEST or len(self.statements) > _MOST_OPERATORS:
            self.problems.append("it is nested too deep")
        elif is_too_much(word.text):
            self.problems.append(TOO_MUCH)
        else:
            inner = Reader(self._depth + 1, is_fed=True, is_guessing=self._is_guessing)
            inner.text(word.text)
            self.statements += inner.statements
            self.problems += inner.problems

    def _guess(self, name: str, words: Sequence[Word], node: Node) -> None:
        rules = wrappers.option_values(words[1:], ("-f", "--file", "--makefile"))
        if name in ("make", "gmake") and any(NOT_A_FILE.fullmatch(value.text) for value in rules):
            self.problems.append("make would read its rules from its input")
        given = (word for word in fed(node) if word is not None)
        for word in (*words[1:], *given):
            for text in (*guess.strings(word.text), word.text, *indirect_commands.escaped(name, word.text)):
                self.guessed(text)

    def guessed(self, text: str) -> None:
        self.statements += [Statement(piece, piece, is_guess=True) for piece in guess.pieces(text)]

    def _anywhere(self, words: Sequence[Word], node: Node, *, is_fed: bool = True) -> None:
        """Every word may begin the command; what is not known counts only where a shell would read it."""
        if len(words) > _MOST_PLACES:
            self.problems.append(f"where in its {len(words)} words the command begins is not known")
        for at in range(1, min(len(words), _MOST_PLACES)):
            inner = Reader(self._depth + 1, is_fed=is_fed, is_guessing=True)
            inner.simple(words[at : at + _MOST_GUESSED], node)
            self.statements += [replace(row, is_guess=True) for row in inner.statements]
            if words[at].text.rpartition("/")[2] in wrappers.SHELLS:
                self.problems += inner.problems

    def _naming(self, name: str, words: Sequence[Word]) -> None:
        variable = indirect_commands.set_unseen(name, words)
        if variable is not None:
            self.problems.append(f"it sets {variable} to what is known only to the shell")
        for word in words[1:]:
            if word.is_fixed and "[" in word.text and ("$(" in word.text or "`" in word.text):
                self.nested(Word(word.source, f": {word.text}"))

    def _expanding(self, words: Sequence[Word]) -> None:
        """`print -P '$(…)'` runs it; `print -z` and `-s` leave it for the next line, or for one recalled."""
        options = "".join(word.text for word in words[1:] if word.text.startswith("-"))
        if words[0].text == "print" and re.search("[sz]", options):
            self.problems.append("it writes a line that the shell would run later")
        for word in words[1:]:
            if word.is_fixed and ("$(" in word.text or "`" in word.text):
                self.nested(Word(word.source, f": {word.text}"))

    def _contained(self, words: Sequence[Word], node: Node) -> None:
        start = next((at for at, word in enumerate(words) if word.text in ("run", "exec")), None)
        if start is not None and not self._is_guessing:
            self._anywhere(words[start:], node, is_fed=self._is_fed)
        for at in range(2, len(words)):
            if words[at].text.rpartition("/")[2] in wrappers.SHELLS:
                self._shell(words[at:], node)
                return

    def assignment(self, node: Node) -> None:
        word = unquoted(source_of(node))
        self.assigned(word.text, is_fixed=word.is_fixed)

    def assigned(self, text: str, *, is_fixed: bool) -> None:
        name, _, value = text.partition("=")
        if wrappers.gives_meaning(name):
            self.nested(Word(text, value, is_fixed))
        name = name.partition("[")[0].rstrip("+")
        if wrappers.changes_what_runs(name):
            self.statements.append(Statement(text, text))
        if wrappers.is_run_by_somebody(name):
            self.nested(Word(text, value, is_fixed))
        elif name.startswith("BASH_FUNC_"):
            self.nested(Word(text, f"f {value}", is_fixed))
        elif is_fixed and ("$(" in value or "`" in value):
            # Arithmetic and prompts would run it later.
            self.nested(Word(text, f": {value}"))

    def declaration(self, node: Node) -> None:
        words = [unquoted(source_of(child)) for child in node.children]
        self.statements.append(Statement(" ".join(word.text for word in words), source_of(node)))
        self._naming("unset", words)
        is_reference = any(re.fullmatch(r"-\w*n\w*", word.text) for word in words)
        for word in words[1:]:
            name, equals, value = word.text.partition("=")
            if equals and word.source[:1] in ("'", '"', "$", "\\"):
                self.assigned(word.text, is_fixed=word.is_fixed)
            if equals and is_reference and wrappers.changes_what_runs(value.partition("[")[0]):
                self.problems.append(f"it gives {value} another name: {name}")

    def redirection(self, node: Node) -> None:
        if node.child_by_field_name("body") is None:
            text = " ".join(redirects_of(node))
            if text:
                self.statements.append(Statement(text, source_of(node)))

    def expansion(self, node: Node) -> None:
        found = _SETTING_EXPANSION.match(source_of(node))
        if found is not None and wrappers.changes_what_runs(found[1]):
            self.problems.append(f"it sets {found[1]} to what is known only to the shell")
        if _PROMPT_EXPANSION.search(source_of(node)):
            self.problems.append("it expands a variable as a prompt, which may run anything")

    def loop(self, node: Node) -> None:
        variable = node.child_by_field_name("variable")
        if variable is not None and wrappers.changes_what_runs(source_of(variable)):
            self.problems.append(f"it sets {source_of(variable)} to what is known only to the shell")

    def tested(self, node: Node) -> None:
        """`[ -v 'a[$(…)]' ]` runs what the subscript holds."""
        strings = [unquoted(source_of(item)) for item in walk(node) if item.type in ("raw_string", "string")]
        self._naming("test", [Word("test", "test"), *strings])


_VISITS = {
    "command": Reader.command,
    "variable_assignment": Reader.assignment,
    "declaration_command": Reader.declaration,
    "unset_command": Reader.declaration,
    "redirected_statement": Reader.redirection,
    "expansion": Reader.expansion,
    "for_statement": Reader.loop,
    "test_command": Reader.tested,
}
