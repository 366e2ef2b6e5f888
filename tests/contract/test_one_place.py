"""One home for each piece of knowledge: escape sequences, widths, /proc, terminals, tasks, file locks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.contract.source import docstring_nodes, files, imports, package_of, place, tree

# How text, bytes and regular expressions spell ESC. `\033` in a shell script is the script's own.
ESCAPES = ("\x1b", "\\x1b", "\x9b", "\\x9b", "\\u001b")


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


def test_escape_sequences_are_spelled_in_one_module() -> None:
    """Other modules import a named constant or pattern from `terminal/escapes.py`, or use its tokenizer."""
    spelled = find_literals(lambda text: any(sign in text for sign in ESCAPES), home="")
    assert {place.partition(":")[0] for place in spelled} == {"terminal/escapes.py"}


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
