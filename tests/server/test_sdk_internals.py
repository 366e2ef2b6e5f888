"""The SDK's internals are imported in one module, so that an upgrade of the SDK begins there."""

from __future__ import annotations

from tests.contract.source import files, imports, place

PUBLIC = (
    "mcp.server.context",
    "mcp.server.lowlevel",
    "mcp.server.session",
    "mcp.server.streamable_http_manager",
    "mcp.server.subscriptions",
    "mcp.shared.exceptions",
)


def test_one_module_imports_the_internals_of_the_sdk() -> None:
    wrong = [
        f"{place(path)} imports {name}"
        for path in files()
        for name in imports(path)
        if name.split(".")[0] == "mcp" and name not in PUBLIC and path.name != "sdk_internals.py"
    ]
    assert wrong == []


def test_no_other_module_reads_private_attributes_of_the_sdk() -> None:
    wrong = [
        f"{place(path)}:{number}"
        for path in files()
        if place(path).startswith("server/") and path.name != "sdk_internals.py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "session._" in line or "ctx._" in line
    ]
    assert wrong == []
