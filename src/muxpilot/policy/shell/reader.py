"""Find every statement of a shell text, however deeply it is nested, by walking its syntax tree.

tree-sitter's bash grammar finds the simple commands; wrappers.py, builtin_commands.py and
indirect_commands.py know which of them run others. Whatever is known only when the shell runs is a problem:
a text with one is never judged harmless.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from muxpilot.policy.shell import guess, indirect_commands, wrappers
from muxpilot.policy.shell.builtin_commands import NOT_A_FILE, SPECIAL
from muxpilot.policy.shell.tree import (
    all_redirects,
    find_input,
    is_misread,
    parse,
    redirects_of,
    source_of,
    walk,
    words_of,
)
from muxpilot.policy.shell.words import Word, join_words, unquote
from muxpilot.records import record
from muxpilot.shell_table.rows import POLICY_NAMES

if TYPE_CHECKING:
    from tree_sitter import Node

# The parser's time may grow with the square of these. Together they limit it to about 0.1 s.
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
# Reserved words are never a program's name: the grammar has misread the text before one.
_RESERVED = frozenset(
    "if then elif else fi while until for do done case esac select function { } [[ ]] in".split()
)


@record
class Statement:
    """One statement. `text` is judged: words without quotes, then redirections.

    `is_plain`: it only runs another statement, which is judged instead. `is_guess`: it may be a statement.
    """

    text: str
    source: str
    is_plain: bool = False
    is_guess: bool = False

    @property
    def spellings(self) -> tuple[str, ...]:
        """Return the texts to compare with patterns, also with the bare program name: `/bin/rm` is `rm`."""
        name, blank, rest = self.text.partition(" ")
        return (self.text, self.source, f"{name.rpartition('/')[2].lstrip('=')}{blank}{rest}")


def is_too_much(text: str) -> bool:
    return len(text) > _LONGEST or len(_OPERATORS.findall(text)) > _MOST_OPERATORS


class StatementReader:
    """Collects the statements and problems of a text, and of the texts that are nested in it.

    `is_fed`: another program or file gives the text its input. `is_guessing`: its statements are guesses.
    """

    def __init__(self, depth: int = 0, *, is_fed: bool = False, is_guessing: bool = False) -> None:
        self.statements: list[Statement] = []
        self.problems: list[str] = []
        self.is_shell = True
        self._depth = depth
        self._is_fed = is_fed
        self._is_guessing = is_guessing

    def read_text(self, text: str) -> None:
        """Add the statements of a text."""
        root = parse(text)
        if root.has_error:
            self.is_shell = False
            self.problems.append(_UNREADABLE)
        for node in walk(root):
            if is_misread(node):
                self.problems.append(_UNREADABLE)
            visit = _VISITORS.get(node.type)
            if visit is not None:
                visit(self, node)

    def read_as_other_shell(self, text: str) -> None:
        """Add what another shell would run. Most comments are not shell: in them only expansions count."""
        inner = StatementReader(self._depth, is_guessing=self._is_guessing)
        inner.read_text(text)
        inner.add_guesses(text)
        self.statements += [replace(row, is_guess=True) for row in inner.statements]
        may_expand = re.search("[$`(]", text) is not None
        self.problems += [problem for problem in inner.problems if may_expand or problem != _UNREADABLE]

    def visit_command(self, node: Node) -> None:
        words = [unquote(source) for source in words_of(node)]
        if words:
            self.read_simple_command(words, node, redirects=all_redirects(node))

    def read_simple_command(
        self, words: Sequence[Word], node: Node, *, redirects: Sequence[str] = ()
    ) -> None:
        """Add a simple command and what it runs."""
        name = words[0].text.rpartition("/")[2].lstrip("=")
        if not words[0].is_fixed and name != "[":
            self.problems.append(f"which program runs is known only to the shell: {words[0].source[:40]}")
        if words[0].source in _RESERVED:
            self.problems.append(_UNREADABLE)
        is_plain = self._read_what_it_runs(name, words, node)
        text = " ".join([*(word.text for word in words), *redirects])
        self.statements.append(Statement(text, " ".join(word.source for word in words), is_plain))

    def _read_what_it_runs(self, name: str, words: Sequence[Word], node: Node) -> bool:
        """Add what this program runs. Return True if it does nothing else."""
        for value in wrappers.option_values(words[1:], wrappers.TEXT_OPTIONS.get(name, ())):
            self.read_nested(value)
        if name in POLICY_NAMES:
            return self._read_shell(words, node)
        if name in SPECIAL:
            return SPECIAL[name](self, words, node)
        if name in indirect_commands.READS_VARIABLE_NAME:
            self._check_variable_names(name, words)
        if name in wrappers.INTERPRETERS:
            self._guess_from_interpreter(name, words, node)
        if name in indirect_commands.EXPANDS_TEXT:
            self._read_expanded_text(words)
        for text in indirect_commands.possible_commands(name, words):
            self.add_guesses(text)
        if indirect_commands.may_start_anywhere(name) and not self._is_guessing:
            self._read_from_every_word(words, node)
        if name in wrappers.CONTAINERS:
            self._read_container_command(words, node)
        wrapper = wrappers.WRAPPERS.get(name)
        return wrapper is not None and self.read_wrapper(wrapper, words, node)

    def read_wrapper(self, wrapper: wrappers.Wrapper, words: Sequence[Word], node: Node) -> bool:
        """Add the inner command of a wrapper. Return True if only that is judged."""
        assignments, inner = wrappers.split_inner_command(wrapper, words)
        for word in assignments:
            self.read_assignment(word.text, is_fixed=word.is_fixed)
        if not inner:
            return False
        if wrapper.is_text:
            self.read_nested(join_words(inner))
        else:
            self.read_simple_command(inner, node)
        return wrapper.is_plain

    def _read_shell(self, words: Sequence[Word], node: Node) -> bool:
        """Add what an inner shell runs. Return True if that is the value of `-c`, which is judged instead."""
        call = wrappers.parse_shell_call(words)
        for file in call.start_files:
            SPECIAL["source"](self, file, node)
        script = call.script
        if call.has_text and script is None:
            self.problems.append("what the inner shell runs is not there")
        elif call.has_text and script is not None:
            self.read_nested(script)
        elif script is None or NOT_A_FILE.fullmatch(script.text):
            self.read_standard_input(node)
        elif not script.is_fixed:
            self.problems.append(f"which script runs is known only to the shell: {script.source[:40]}")
        return call.has_text

    def read_standard_input(self, node: Node) -> None:
        """Add what a shell would read from its standard input."""
        given = next(find_input(node), Word("", "") if not self._is_fed else None)
        if given is None:
            self.problems.append("a shell would run what another program, or a file, gives it")
        elif given.text:
            self.read_nested(given)

    def read_nested(self, word: Word) -> None:
        """Add the statements of a word that an inner shell would run."""
        if not word.is_fixed:
            self.problems.append(f"what an inner shell runs is known only to the shell: {word.source[:40]}")
        elif self._depth >= _DEEPEST or len(self.statements) > _MOST_OPERATORS:
            self.problems.append("it is nested too deep")
        elif is_too_much(word.text):
            self.problems.append(TOO_MUCH)
        else:
            inner = StatementReader(self._depth + 1, is_fed=True, is_guessing=self._is_guessing)
            inner.read_text(word.text)
            self.statements += inner.statements
            self.problems += inner.problems

    def _guess_from_interpreter(self, name: str, words: Sequence[Word], node: Node) -> None:
        rules = wrappers.option_values(words[1:], ("-f", "--file", "--makefile"))
        if name in ("make", "gmake") and any(NOT_A_FILE.fullmatch(value.text) for value in rules):
            self.problems.append("make would read its rules from its input")
        given = (word for word in find_input(node) if word is not None)
        for word in (*words[1:], *given):
            for text in (
                *guess.find_strings(word.text),
                word.text,
                *indirect_commands.shell_escapes(name, word.text),
            ):
                self.add_guesses(text)

    def add_guesses(self, text: str) -> None:
        self.statements += [Statement(piece, piece, is_guess=True) for piece in guess.split_commands(text)]

    def _read_from_every_word(self, words: Sequence[Word], node: Node, *, is_fed: bool = True) -> None:
        """Add commands that begin at each word. Their problems count only where the word is a shell."""
        if len(words) > _MOST_PLACES:
            self.problems.append(f"where in its {len(words)} words the command begins is not known")
        for at in range(1, min(len(words), _MOST_PLACES)):
            inner = StatementReader(self._depth + 1, is_fed=is_fed, is_guessing=True)
            inner.read_simple_command(words[at : at + _MOST_GUESSED], node)
            self.statements += [replace(row, is_guess=True) for row in inner.statements]
            if words[at].text.rpartition("/")[2] in POLICY_NAMES:
                self.problems += inner.problems

    def _check_variable_names(self, name: str, words: Sequence[Word]) -> None:
        variable = indirect_commands.find_variable_set(name, words)
        if variable is not None:
            self.problems.append(f"it sets {variable} to what is known only to the shell")
        for word in words[1:]:
            if word.is_fixed and "[" in word.text and ("$(" in word.text or "`" in word.text):
                self.read_nested(Word(word.source, f": {word.text}"))

    def _read_expanded_text(self, words: Sequence[Word]) -> None:
        """Add what `print -P '$(…)'` runs. `print -z` and `-s` put a line where the shell runs it later."""
        options = "".join(word.text for word in words[1:] if word.text.startswith("-"))
        if words[0].text == "print" and re.search("[sz]", options):
            self.problems.append("it writes a line that the shell would run later")
        for word in words[1:]:
            if word.is_fixed and ("$(" in word.text or "`" in word.text):
                self.read_nested(Word(word.source, f": {word.text}"))

    def _read_container_command(self, words: Sequence[Word], node: Node) -> None:
        start = next((at for at, word in enumerate(words) if word.text in ("run", "exec")), None)
        if start is not None and not self._is_guessing:
            self._read_from_every_word(words[start:], node, is_fed=self._is_fed)
        for at in range(2, len(words)):
            if words[at].text.rpartition("/")[2] in POLICY_NAMES:
                self._read_shell(words[at:], node)
                return

    def visit_assignment(self, node: Node) -> None:
        word = unquote(source_of(node))
        self.read_assignment(word.text, is_fixed=word.is_fixed)

    def read_assignment(self, text: str, *, is_fixed: bool) -> None:
        """Add what NAME=value makes a shell run, now or later."""
        name, _, value = text.partition("=")
        if wrappers.redefines_name(name):
            self.read_nested(Word(text, value, is_fixed))
        name = name.partition("[")[0].rstrip("+")
        if wrappers.changes_what_runs(name):
            self.statements.append(Statement(text, text))
        if wrappers.is_run_later(name):
            self.read_nested(Word(text, value, is_fixed))
        elif name.startswith("BASH_FUNC_"):
            self.read_nested(Word(text, f"f {value}", is_fixed))
        elif is_fixed and ("$(" in value or "`" in value):
            # Arithmetic and prompts run it later.
            self.read_nested(Word(text, f": {value}"))

    def visit_declaration(self, node: Node) -> None:
        """Add a `declare`, `export`, `unset` … statement and what its values run."""
        words = [unquote(source_of(child)) for child in node.children]
        self.statements.append(Statement(" ".join(word.text for word in words), source_of(node)))
        self._check_variable_names("unset", words)
        is_reference = any(re.fullmatch(r"-\w*n\w*", word.text) for word in words)
        for word in words[1:]:
            name, equals, value = word.text.partition("=")
            if equals and word.source[:1] in ("'", '"', "$", "\\"):
                self.read_assignment(word.text, is_fixed=word.is_fixed)
            if equals and is_reference and wrappers.changes_what_runs(value.partition("[")[0]):
                self.problems.append(f"it gives {value} another name: {name}")

    def visit_redirection(self, node: Node) -> None:
        """Add a statement that has only redirections."""
        if node.child_by_field_name("body") is None:
            text = " ".join(redirects_of(node))
            if text:
                self.statements.append(Statement(text, source_of(node)))

    def visit_expansion(self, node: Node) -> None:
        """Note expansions that set a variable or run its value."""
        found = _SETTING_EXPANSION.match(source_of(node))
        if found is not None and wrappers.changes_what_runs(found[1]):
            self.problems.append(f"it sets {found[1]} to what is known only to the shell")
        if _PROMPT_EXPANSION.search(source_of(node)):
            self.problems.append("it expands a variable as a prompt, which may run anything")

    def visit_loop(self, node: Node) -> None:
        variable = node.child_by_field_name("variable")
        if variable is not None and wrappers.changes_what_runs(source_of(variable)):
            self.problems.append(f"it sets {source_of(variable)} to what is known only to the shell")

    def visit_test(self, node: Node) -> None:
        """Add what a subscript in a test runs: `[ -v 'a[$(…)]' ]`."""
        strings = [unquote(source_of(item)) for item in walk(node) if item.type in ("raw_string", "string")]
        self._check_variable_names("test", [Word("test", "test"), *strings])


_VISITORS = {
    "command": StatementReader.visit_command,
    "variable_assignment": StatementReader.visit_assignment,
    "declaration_command": StatementReader.visit_declaration,
    "unset_command": StatementReader.visit_declaration,
    "redirected_statement": StatementReader.visit_redirection,
    "expansion": StatementReader.visit_expansion,
    "for_statement": StatementReader.visit_loop,
    "test_command": StatementReader.visit_test,
}
