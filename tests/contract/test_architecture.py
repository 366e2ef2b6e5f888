"""docs/architecture.md says only what is so: its functions, phases, marks and packages exist."""

from __future__ import annotations

import ast
import re

from muxpilot.people.questions import TRANSITIONS as QUESTION_TRANSITIONS
from muxpilot.shells.command_phases import TRANSITIONS as COMMAND_TRANSITIONS
from muxpilot.shells.osc133 import MarkKind
from muxpilot.shells.shell_phases import TRANSITIONS, Phase, ShellEvent
from tests.contract.source import ROOT, SOURCE, definitions, files, package_of, tree

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


def table_rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]


def listed_phases(cell: str) -> set[str]:
    """Return the phases in a cell of the page's table: "all", "all but X", or names."""
    everything = {phase.name for phase in Phase}
    names = set(re.findall(r"[A-Z]{3,}", cell))
    return everything - names if cell.startswith("all") else names


def test_the_table_of_phases_is_what_the_code_does() -> None:
    text = section("The phases of a shell")
    rows = [row for row in table_rows(text) if len(row) == 4 and row[0] != "event (the reason in the log)"]
    listed = [(row[0], listed_phases(row[1]), row[2], row[3]) for row in rows]
    assert listed == [
        (row.event.value, {phase.name for phase in row.before}, row.after.name, row.action.value)
        for row in TRANSITIONS
    ]
    assert [kind.name for kind in MarkKind if not re.search(rf"\b{kind.name}\b", text)] == []


def test_no_phase_and_event_have_two_rows() -> None:
    pairs = [(phase, row.event) for row in TRANSITIONS for phase in row.before]
    assert len(pairs) == len(set(pairs))
    assert {event for _, event in pairs} == set(ShellEvent)


def test_only_the_table_changes_the_phase_of_a_shell() -> None:
    assigned = [
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "shells").glob("*.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for part in ast.walk(target)
        if isinstance(part, ast.Attribute) and part.attr == "phase" and isinstance(part.ctx, ast.Store)
    ]
    assert assigned == ["shells/shell_phases.py"]


def test_the_table_of_a_commands_life_is_that_of_the_code() -> None:
    rows = [row for row in table_rows(section("The life of a command")) if row[0] != "status"]
    listed = [(row[0].strip("`"), row[1], row[2].strip("`")) for row in rows]
    assert listed == [
        (status.value, event.name, transition.status.value)
        for (status, event), transition in COMMAND_TRANSITIONS.items()
    ]


def test_only_the_table_changes_a_commands_status() -> None:
    """Look for assignments to the status of a command in shells/."""
    wrong = [
        f"{item}: {ast.unparse(node)}"
        for item in definitions()
        if item.path.startswith("shells/") and not isinstance(item.node, ast.ClassDef)
        for node in ast.walk(item.node)
        if isinstance(node, ast.Assign)
        and re.search(r"\bCommandStatus\.|command\.status\b", ast.unparse(node).rpartition(" = ")[0])
    ]
    assert wrong == []


def test_the_table_of_a_questions_phases_is_that_of_the_code() -> None:
    rows = [row for row in table_rows(section("The phases of a question")) if row[0] != "phase"]
    assert [tuple(cell.partition(":")[0] for cell in row) for row in rows] == [
        (before.name, event.name, after.name) for (before, event), after in QUESTION_TRANSITIONS.items()
    ]


def test_every_package_is_in_the_layer_picture() -> None:
    picture = section("The layers")
    names = {package_of(path) for path in files()} - {"__init__", "__main__", "call_log", "call_progress"}
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", picture)) == []


def test_a_failing_case_is_shown_with_its_log() -> None:
    shown = section("How to debug").partition("failing case: begin -->")[2].partition("<!--")[0]
    assert "MUXPILOT_LOG=debug" in shown
    assert "waiting for the prompt" in shown
