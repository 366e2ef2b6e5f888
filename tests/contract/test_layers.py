"""Which package may import which: one table for all of them, and no exceptions."""

from __future__ import annotations

import sys

from tests.contract.source import files, imports, package_of, place

# Standard library only; every package may import these.
BASE = frozenset("errors records trace tasks file_lock timing".split())

# Speaks tmux, and what stands on it without knowing what a tool is.
TERMINALS = frozenset("terminal processes shell_table tmux".split())
SUBSYSTEMS = frozenset("shells repl watch reading pictures record".split())
TOOLS = frozenset("toolkit calls tools".split())
CALLS = frozenset("dispatch resources dialects policy audit".split())

LAYERS: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "records": frozenset(),
    "trace": frozenset({"errors"}),
    "tasks": frozenset({"trace"}),
    "file_lock": frozenset(),
    "timing": frozenset({"records"}),
    "config": frozenset({"shell_table"}),
    "patterns": frozenset(),
    "shell_table": frozenset({"terminal"}),
    "terminal": frozenset(),
    "processes": frozenset({"shell_table"}),
    "tmux": frozenset({"config", "processes", "shell_table", "terminal"}),
    "shells": TERMINALS,
    "repl": TERMINALS | {"shells", "patterns"},
    "watch": TERMINALS | {"shells", "patterns"},
    "reading": TERMINALS | {"patterns"},
    "pictures": frozenset({"terminal"}),
    "record": TERMINALS | {"shells", "pictures"},
    "files": frozenset({"tmux"}),
    "buffers": frozenset({"patterns"}),
    "toolkit": frozenset({"config", "terminal", "tmux"}),
    "calls": frozenset({"toolkit", "tmux"}),
    "tools": TERMINALS | SUBSYSTEMS | {"toolkit", "calls", "patterns", "files", "buffers"},
    "dialects": frozenset({"config", "calls", "toolkit", "tools", "tmux", "terminal", "processes"}),
    "policy": frozenset(
        {"config", "calls", "toolkit", "tmux", "patterns", "terminal", "shell_table", "processes"}
    ),
    "audit": frozenset({"config", "calls", "toolkit", "tmux", "terminal", "processes"}),
    "call_progress": frozenset({"calls"}),
    "dispatch": frozenset({"calls", "call_progress", "config", "toolkit", "tmux"}),
    "resources": frozenset({"dispatch", "calls", "toolkit", "tmux", "terminal"}),
    "app": TERMINALS | SUBSYSTEMS | TOOLS | CALLS | {"config"},
    "web": frozenset({"config"}),
    "server": frozenset({"app", "dispatch", "resources", "calls", "config", "toolkit", "watch", "web"}),
    "view": TERMINALS | {"app", "dispatch", "calls", "config", "pictures", "web"},
    "cli": TERMINALS
    | SUBSYSTEMS
    | TOOLS
    | CALLS
    | {"app", "config", "files", "server", "view", "web", "patterns"},
    "__init__": frozenset({"tmux"}),
    "__main__": frozenset({"cli"}),
}

# Who may import what is not ours and not in the standard library.
LIBRARIES = {
    "re2": "patterns",
    "rapidfuzz": "patterns",
    "tree_sitter": "policy",
    "tree_sitter_bash": "policy",
    "mcp": "server",
    "mcp_types": "server",
    "anyio": "server",
    "pydantic": "server",
    "starlette": "server",
    "uvicorn": "web",
}


def test_every_package_has_a_row() -> None:
    assert {package_of(path) for path in files()} - set(LAYERS) == set()
    assert set(LAYERS) - {package_of(path) for path in files()} == set()


def test_packages_import_only_what_their_row_allows() -> None:
    wrong = []
    for path in files():
        package = package_of(path)
        base = BASE if package not in BASE else frozenset()
        allowed = LAYERS[package] | base | {package}
        for name in imports(path):
            root, _, rest = name.partition(".")
            if root == "muxpilot" and rest and rest.partition(".")[0] not in allowed:
                wrong.append(f"{place(path)} imports {name}")
    assert wrong == []


def test_libraries_are_imported_in_one_package_each() -> None:
    wrong = []
    for path in files():
        for name in imports(path):
            root = name.partition(".")[0]
            if root == "muxpilot" or root in sys.stdlib_module_names:
                continue
            if LIBRARIES.get(root) != package_of(path):
                wrong.append(f"{place(path)} imports {name}")
    assert wrong == []


def test_no_package_imports_another_in_a_circle() -> None:
    open_rows = dict(LAYERS)
    while ready := [name for name, needs in open_rows.items() if not needs & open_rows.keys()]:
        for name in ready:
            del open_rows[name]
    assert open_rows == {}


def test_tools_do_not_import_each_other() -> None:
    wrong = [
        f"{place(path)} imports {name}"
        for path in files()
        if place(path).startswith("tools/") and not place(path).endswith("__init__.py")
        for name in imports(path)
        if name.startswith("muxpilot.tools.") and name != "muxpilot.tools.context"
    ]
    assert wrong == []


def test_only_config_reads_the_environment() -> None:
    wrong = [
        place(path)
        for path in files()
        if package_of(path) != "config" and any(word in path.read_text() for word in ("os.environ", "getenv"))
    ]
    assert wrong == []
