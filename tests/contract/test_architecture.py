"""docs/architecture.md says only what is so: its functions, phases, marks and packages exist."""

from __future__ import annotations

import ast
import re

from muxpilot.shells.command_phases import TRANSITIONS
from muxpilot.shells.osc133 import MarkKind
from muxpilot.shells.shell_stack import Phase
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


def phase_changes() -> set[tuple[str, str, str]]:
    """Return the reason, the new phase and the function of every `enter(Phase.X, why=…)` in shells/."""
    found = set()
    for item in definitions():
        if isinstance(item.node, ast.ClassDef) or not item.path.startswith("shells/"):
            continue
        for call in ast.walk(item.node):
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".enter"):
                phase = ast.unparse(call.args[0]).removeprefix("Phase.")
                found |= {(why, phase, item.node.name) for why in reasons(item.node, call)}
    return found


def reasons(function: ast.AST, call: ast.Call) -> set[str]:
    """Return the texts that `why` may have: given directly, or assigned to the variable `why` before."""
    given = next(keyword.value for keyword in call.keywords if keyword.arg == "why")
    sources = [given] if isinstance(given, ast.Constant) else assigned(function, ast.unparse(given))
    nodes = (node for source in sources for node in ast.walk(source))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def assigned(function: ast.AST, name: str) -> list[ast.expr]:
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]
    ]


def test_the_table_of_phases_is_what_the_code_does() -> None:
    text = section("The phases of a shell")
    rows = [row for row in table_rows(text) if len(row) == 4 and row[0] != "reason in the log"]
    listed = {(row[0], row[2], row[3].strip("`").rpartition(".")[2]) for row in rows if row[0][0] != "("}
    assert listed == phase_changes()
    assert {row[2] for row in rows} == {phase.name for phase in Phase}
    assert [kind.name for kind in MarkKind if not re.search(rf"\b{kind.name}\b", text)] == []


def test_the_table_of_a_commands_life_is_that_of_the_code() -> None:
    rows = [row for row in table_rows(section("The life of a command")) if row[0] != "status"]
    listed = [(row[0].strip("`"), row[1], row[2].strip("`")) for row in rows]
    assert listed == [
        (status.value, event.name, transition.status.value)
        for (status, event), transition in TRANSITIONS.items()
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


def test_every_package_is_in_the_layer_picture() -> None:
    picture = section("The layers")
    names = {package_of(path) for path in files()} - {"__init__", "__main__", "call_progress"}
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", picture)) == []


def test_a_failing_case_is_shown_with_its_log() -> None:
    shown = section("How to debug").partition("failing case: begin -->")[2].partition("<!--")[0]
    assert "MUXPILOT_LOG=debug" in shown
    assert "waiting for the prompt" in shown
