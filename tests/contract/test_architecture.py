"""docs/architecture.md says only what is so: its functions, phases, marks and packages exist."""

from __future__ import annotations

import ast
import re

from muxpilot.shells.osc133 import MarkKind
from muxpilot.shells.shell_stack import Phase
from tests.contract.source import ROOT, SOURCE, files, package_of, tree

PAGE = (ROOT / "docs" / "architecture.md").read_text()
REFERENCE = re.compile(r"`([\w/]+\.py)(?::([\w.]+))?`")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def members(node: ast.Module | ast.ClassDef) -> dict[str, ast.AST]:
    """Return the functions, classes and constants that are defined directly in a module or class."""
    found: dict[str, ast.AST] = {}
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[child.name] = child
        elif isinstance(child, ast.Assign | ast.AnnAssign):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            found |= {target.id: child for target in targets if isinstance(target, ast.Name)}
    return found


def exists(path: str, qualified_name: str | None) -> bool:
    file = SOURCE / path if (SOURCE / path).is_file() else ROOT / path
    if not file.is_file():
        return False
    node: ast.AST = tree(file)
    for name in qualified_name.split(".") if qualified_name else ():
        if not isinstance(node, ast.Module | ast.ClassDef) or name not in members(node):
            return False
        node = members(node)[name]
    return True


def test_every_function_that_the_page_names_exists() -> None:
    references = REFERENCE.findall(PAGE)
    assert len(references) > 50
    assert [":".join(found) for found in references if not exists(found[0], found[1] or None)] == []


def test_the_three_walks_are_lists_of_functions() -> None:
    for tool in ("create-session", "execute-command", "start-and-watch"):
        walk = section(f"What happens on {tool}")
        assert len([found for found in REFERENCE.findall(walk) if found[1]]) >= 7, tool


def test_the_table_of_phases_has_every_phase_and_every_mark() -> None:
    text = section("The phases of a shell")
    rows = {line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")}
    assert rows >= {phase.name for phase in Phase}
    assert [kind.name for kind in MarkKind if kind.name not in text] == []


def test_every_package_is_in_the_layer_picture() -> None:
    picture = section("The layers")
    names = {package_of(path) for path in files()} - {"__init__", "__main__", "call_progress"}
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", picture)) == []


def test_a_failing_case_is_shown_with_its_log() -> None:
    shown = section("How to debug").partition("failing case: begin -->")[2].partition("<!--")[0]
    assert "MUXPILOT_LOG=debug" in shown
    assert "waiting for the prompt" in shown
