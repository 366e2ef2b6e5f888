"""Which package may import which: one table for all of them, and no exceptions."""

from __future__ import annotations

import re
import sys

from tests.contract.source import SOURCE, files, imported_names, imports, package_of, place

# Standard library only; every package may import these.
BASE = frozenset("errors records trace tasks file_lock lazy_pattern timing".split())

# Each row is what the package imports, no more. A comment gives the reason where a row differs from the order
# of the design: cli, server, view > app > dispatch, dialects, policy, audit, tools > toolkit > watch, repl,
# reading, record, pictures > shells > terminal, processes > tmux.
LAYERS: dict[str, str] = {
    "errors": "",
    "records": "",
    "trace": "errors",
    "tasks": "trace",
    "file_lock": "",
    "lazy_pattern": "",
    "timing": "records",
    # The setting `shell.type` takes the names of the table, which is plain data.
    "config": "shell_table",
    "patterns": "",
    "terminal": "",
    # config: the patterns are settings, and a bad one is told with its line.
    "redaction": "config patterns terminal",
    # config.environment: where journals are kept depends on HOME and two other variables. processes: whether
    # the program of a pipe still runs, and the owner of a record.
    "journal": "config processes",
    # The rows spell marks and line errors with the constants of terminal/escapes.py.
    "shell_table": "terminal",
    # Whether a program is a shell is a fact of the table.
    "processes": "shell_table",
    # config.environment: only config reads the environment, and tmux needs TMUX_TMPDIR, SHELL and all that a
    # new server passes on. processes: the owner of a session, the tmux server and the holder of a lock are
    # processes. terminal: tmux/ reads and writes a few escape sequences, all of which are spelled there.
    # shell_table: a shell that tmux starts gets its marks by the arguments of its row.
    # journal: the streams of panes are kept there.
    "tmux": "config journal processes shell_table terminal",
    # Jobs are recorded in the journal's folders, and continued on the streams of panes.
    "jobs": "journal tmux",
    # What runs in a session decides whether it is idle. journal: muxpilots watch a folder that they share.
    "idle_sessions": "journal processes shell_table tmux",
    # config.workspace_name: the name of a workspace is a setting, and names of panes are of the same form.
    "workspace": "config tmux",
    # config.environment: the folder of the sockets depends on HOME. protocol: a question as clients get it.
    "people": "config processes protocol terminal tmux",
    "shells": "journal processes shell_table terminal tmux",
    "repl": "processes shells terminal tmux",
    "watch": "jobs journal patterns processes reading shell_table shells terminal tmux",
    "reading": "terminal tmux",
    "pictures": "terminal",
    "record": "jobs journal pictures shells terminal tmux",
    "files": "tmux",
    "buffers": "patterns",
    # config.scope: a tool says in which scopes it is offered. workspace: a target may be the name of a pane.
    "toolkit": "config terminal tmux workspace",
    # A tool may put a question to the person who uses the client.
    "calls": "protocol tmux toolkit workspace",
    # redaction: a text is redacted before it is cut.
    "tools": "buffers calls files idle_sessions jobs patterns people pictures processes reading record "
    "redaction repl shells terminal tmux toolkit watch workspace",
    # tools: a dialect is a table over them.
    "dialects": "config processes terminal tmux toolkit tools workspace",
    # workspace: a pane that a call would open is judged before it has an id.
    "policy": "config patterns processes shell_table tmux toolkit workspace",
    # redaction: both use the same table of secrets.
    "audit": "calls config processes redaction terminal tmux toolkit",
    "call_progress": "calls",
    "call_log": "calls tmux toolkit",
    # A call that a person must allow first is put to them.
    "approvals": "calls people tmux",
    # people: no call types where a person answers a question.
    "dispatch": "call_log call_progress calls config people protocol tmux toolkit workspace",
    "resources": "calls terminal tmux toolkit",
    "app": "approvals audit calls config dialects dispatch idle_sessions jobs journal people policy record "
    "redaction resources shell_table shells tmux tools watch workspace",
    "protocol": "",
    "web": "config",
    "server": "app calls config protocol redaction resources toolkit watch web",
    # people: the page lists open questions and passes on the answers.
    "view": "app calls config people pictures processes terminal tmux web",
    # config.environment: where a client keeps its files depends on variables.
    "mcp_clients": "config",
    # shells, journal: run, wait and logs follow a command; clean asks which muxpilots still live.
    "cli": "app audit calls config files idle_sessions journal mcp_clients pictures policy processes record "
    "redaction server shell_table shells terminal tmux toolkit tools view web workspace",
    "__init__": "tmux",
    "__main__": "cli",
}

# Who may import what is not ours and not in the standard library.
LIBRARIES = {
    "re2": "patterns",
    "rapidfuzz": "patterns",
    "tree_sitter": "policy",
    "tree_sitter_bash": "policy",
    "httptools": "web",
    "uvicorn": "web",
}


def test_every_package_has_a_row() -> None:
    assert {package_of(path) for path in files()} - set(LAYERS) == set()
    assert set(LAYERS) - {package_of(path) for path in files()} == set()


def layers_of_the_page() -> list[set[str]]:
    """Return the rows of the first table in docs/architecture.md, from the top."""
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text()
    table = page.partition("\n## The layers\n")[2].partition("| --- | --- |\n")[2].partition("\n\n")[0]
    return [set(re.findall(r"`(\w+)`", line.split("|")[1])) for line in table.splitlines()]


def test_the_page_has_every_package_above_what_it_imports() -> None:
    rows = layers_of_the_page()
    height = {package: -number for number, row in enumerate(rows) for package in row}
    ours = set(LAYERS) - {"__init__", "__main__"}
    assert sum(map(len, rows)) == len(height)
    assert set(height) == ours
    imported = {
        package: set(LAYERS[package].split()) | (set() if package in BASE else BASE) for package in ours
    }
    wrong = [
        (package, name) for package in ours for name in imported[package] if height[name] >= height[package]
    ]
    assert wrong == []


def test_each_row_is_what_the_package_imports() -> None:
    """A missing word is a new dependency; a word too many allows what no file needs."""
    assert {package: " ".join(sorted(_packages_used(package))) for package in LAYERS} == LAYERS


def _packages_used(package: str) -> set[str]:
    names = (name.split(".") for path in files() if package_of(path) == package for name in imports(path))
    used = {parts[1] for parts in names if parts[0] == "muxpilot" and len(parts) > 1}
    return used - {package} - (BASE if package not in BASE else set())


def test_tmux_reads_the_environment_and_no_settings() -> None:
    """The settings are far above tmux; the module of the environment imports nothing of ours."""
    used = {
        name
        for path in files()
        if package_of(path) == "tmux"
        for name in imported_names(path)
        if name.startswith("muxpilot.config")
    }
    assert used == {"muxpilot.config.environment"}
    for module in ("__init__", "environment"):
        path = SOURCE / "config" / f"{module}.py"
        assert [name for name in imports(path) if name.startswith("muxpilot")] == []


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
    open_rows = {package: set(row.split()) for package, row in LAYERS.items()}
    while ready := [name for name, needs in open_rows.items() if not needs & open_rows.keys()]:
        for name in ready:
            del open_rows[name]
    assert open_rows == {}


# command_answers: execute-command and run-on give the same answer. act_and_see: all tools that type take
# `until`.
SHARED_BY_TOOLS = (
    "muxpilot.tools.context",
    "muxpilot.tools.command_answers",
    "muxpilot.tools.act_and_see",
)


def test_tools_do_not_import_each_other() -> None:
    wrong = [
        f"{place(path)} imports {name}"
        for path in files()
        if place(path).startswith("tools/") and not place(path).endswith("__init__.py")
        for name in imports(path)
        if name.startswith("muxpilot.tools.") and name not in SHARED_BY_TOOLS
    ]
    assert wrong == []


def test_only_config_reads_the_environment() -> None:
    wrong = [
        place(path)
        for path in files()
        if package_of(path) != "config" and any(word in path.read_text() for word in ("os.environ", "getenv"))
    ]
    assert wrong == []
