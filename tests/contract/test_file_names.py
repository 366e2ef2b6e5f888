"""Checks that the files which docstrings, comments and documents name exist."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.contract.source import ROOT, docstring_nodes

FOLDERS = ("src", "tests", "bench", "docs", "hooks", "release")
# A path or a base name.
FILE = re.compile(r"(?<![\w./<*-])(?:[\w.-]+/)*[\w-]+\.py\b")
# `bench/NAME.py` and `test_X.py` stand for any name.
PLACEHOLDER = re.compile(r"(?:^|[/_])[A-Z]+\.py$")
# Files of other people's projects that texts use as examples.
EXAMPLES = frozenset({"error_handler.py"})


def python_files() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def prose(path: Path) -> Iterator[str]:
    """Yield the docstrings and comments of a Python file."""
    text = path.read_text()
    if not FILE.search(text):  # saves most of the time
        return
    yield from (str(node.value) for node in docstring_nodes(ast.parse(text)))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def texts() -> Iterator[tuple[Path, str]]:
    """Yield every text that may name a file, with the file that holds it."""
    for path in python_files():
        yield from ((path, text) for text in prose(path))
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        if path.name != "CHANGELOG.md":  # names files of older versions too
            yield path, path.read_text()


def test_every_python_file_that_a_text_names_exists() -> None:
    endings = set()
    for path in python_files():
        parts = path.relative_to(ROOT).parts
        endings |= {"/".join(parts[start:]) for start in range(len(parts))}
    wrong = [
        f"{path.relative_to(ROOT)} names {name}"
        for path, text in texts()
        for name in FILE.findall(text)
        if name not in endings | EXAMPLES and not PLACEHOLDER.search(name)
    ]
    assert wrong == []
