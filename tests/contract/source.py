"""The source tree as the contract tests see it: files, imports, functions, classes and docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "muxpilot"

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


class Definition(NamedTuple):
    """A function or class, where it is and whether it is a method."""

    path: str
    node: AnyFunction | ast.ClassDef
    owner: ast.ClassDef | None

    def __str__(self) -> str:
        return f"{self.path}:{self.node.lineno} {self.node.name}"


@cache
def files() -> tuple[Path, ...]:
    return tuple(sorted(SOURCE.rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def place(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def package_of(path: Path) -> str:
    """Return the first part of a file's path: `tmux` for tmux/ids.py, `app` for app.py."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Yield every module that a file imports, anywhere in it, type-checking imports too."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            if node.module == "muxpilot":
                yield from (f"muxpilot.{alias.name}" for alias in node.names if alias.name != "__version__")
            else:
                yield node.module or ""


def imported_names(path: Path) -> Iterator[str]:
    """Yield the full name of everything that a file imports from another module: `a.b.c` for `c` of `a.b`."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def docstring_nodes(module: ast.Module) -> Iterator[ast.Constant]:
    """Yield the docstrings of a module and of everything in it."""
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | AnyFunction) and ast.get_docstring(node) is not None:
            first = node.body[0]
            assert isinstance(first, ast.Expr)
            assert isinstance(first.value, ast.Constant)
            yield first.value


@cache
def definitions() -> tuple[Definition, ...]:
    """Return every function and class of the source, methods and nested ones too."""
    return tuple(found for path in files() for found in _inside(place(path), tree(path), None))


def _inside(path: str, node: ast.AST, owner: ast.ClassDef | None) -> Iterator[Definition]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, AnyFunction | ast.ClassDef):
            yield Definition(path, child, owner)
        yield from _inside(path, child, child if isinstance(child, ast.ClassDef) else None)
