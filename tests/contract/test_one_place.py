"""One home for each piece of knowledge: escape sequences, widths, /proc, terminals, tasks, file locks."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contract.source import docstring_nodes, files, imports, package_of, place, tree

# How text, bytes and regular expressions spell ESC.
ESCAPES = re.compile(r"\x1b|\x9b|\\x1b|\\x9b|\\u001b|\\U0000001b|\\033|\\e\[|\\N\{ESCAPE\}", re.IGNORECASE)
# A pattern for the rest of a control sequence, to which ESC might be added from elsewhere.
PARAMETERS = re.compile(r"\[0-(?:9;|\?|9:;)[^\]]*\][*+?]|\[@-~\]|\\\[\[0-9\]?;?")
# These print sequences from shell scripts that they write; a shell spells ESC in its own way.
SHELL_SCRIPTS = {"shells/loader.py", "tmux/objects/launch.py"}


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the text and bytes literals of a file with their lines; docstrings are left out."""
    skipped = set(map(id, docstring_nodes(tree(path))))
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and id(node) not in skipped:
            yield node.lineno, node.value if isinstance(node.value, str) else node.value.decode("latin-1")


def find_literals(is_wrong: Callable[[str], bool], *, home: str) -> list[str]:
    """List the literals outside the package `home` for which the check is true."""
    return [
        f"{place(path)}:{line}"
        for path in files()
        if package_of(path) != home
        for line, text in literals(path)
        if is_wrong(text)
    ]


def importers(*modules: str) -> set[str]:
    return {place(path) for path in files() if set(modules) & set(imports(path))}


def test_each_exemption_from_a_lint_rule_has_its_reason() -> None:
    found = (
        f"{place(path)}:{number}"
        for path in files()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "# noqa" in line and not re.search(r"# noqa: [A-Z0-9, ]+ - \w", line)
    )
    assert list(found) == []


def test_escape_sequences_are_spelled_in_one_module() -> None:
    """Other modules import a named constant or pattern from `terminal/escapes.py`, or use its tokenizer."""
    spelled = find_literals(lambda text: ESCAPES.search(text) is not None, home="")
    assert {place.partition(":")[0] for place in spelled} == {"terminal/escapes.py", *SHELL_SCRIPTS}


def test_the_forms_of_sequences_are_patterns_of_one_module() -> None:
    """A module may not build a pattern of its own around an imported ESC."""
    spelled = find_literals(lambda text: PARAMETERS.search(text) is not None, home="")
    assert {place.partition(":")[0] for place in spelled} == {"terminal/escapes.py"}


def test_no_escape_character_is_made_of_its_number() -> None:
    """`chr(27)`, `bytes([0x1b])` and the like would pass the tests above."""
    made = {
        place(path)
        for path in files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value in (0x1B, 0x9B)
    }
    # `$'\\e'` in the words of a shell, and the number that ends reverse video.
    assert made == {"policy/shell/words.py", "terminal/style.py"}


@pytest.mark.parametrize(
    "text", ["\x1b[m", "\\x1b", r"\033[0m", "\\u001b", "\x9b0m", r"\e[1m", r"\x1B\[", "\\N{ESCAPE}"]
)
def test_every_spelling_of_an_escape_character_is_found(text: str) -> None:
    assert ESCAPES.search(text)


@pytest.mark.parametrize("text", [r"[0-9;]*m", r"[0-?]*[ -/]*[@-~]", r"[0-9;:]*m", r"[0-9;]+[A-Z]"])
def test_every_spelling_of_parameters_is_found(text: str) -> None:
    assert PARAMETERS.search(text)


def test_the_numbers_of_the_alternate_screen_are_in_one_module() -> None:
    modules = {
        place(path)
        for path in files()
        for _, text in literals(path)
        if "1047" in text  # older programs use it; each spelling of the match has it
    }
    assert modules == {"terminal/escapes.py"}


def test_unicode_properties_are_asked_for_in_one_module() -> None:
    assert importers("unicodedata", "wcwidth") == {"terminal/width.py"}


def test_processes_are_looked_up_in_one_package() -> None:
    """Paths in /proc, and the settings of terminals."""
    assert find_literals(lambda text: text.startswith("/proc/"), home="processes") == []
    assert {name.partition("/")[0] for name in importers("termios", "tty")} <= {"processes"}


def test_sets_of_tasks_are_kept_in_one_module() -> None:
    """Other modules use `tasks.TaskSet`, which logs failures and cancels in one way."""
    words = ("set[asyncio.Task", "list[asyncio.Task")
    users = {place(path) for path in files() if any(word in path.read_text() for word in words)}
    assert users == {"tasks.py"}


def test_files_are_locked_in_one_module() -> None:
    users = {place(path) for path in files() if "fcntl.flock" in path.read_text()}
    assert users == {"file_lock.py"}
