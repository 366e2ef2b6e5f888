"""Checks that docs/ is complete: generated pages are fresh, and the others name everything that exists."""

from __future__ import annotations

import argparse
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

from muxpilot.cli.arguments import build_parser
from muxpilot.config.model import SHELL_TYPES
from muxpilot.config.scope import Scope
from muxpilot.mcp_clients.table import CLIENTS
from muxpilot.protocol import revisions as revisions_module
from muxpilot.protocol import rpc_errors
from muxpilot.server.fd_streams import LARGEST_LINE
from muxpilot.server.prompts import PROMPTS
from muxpilot.server.stdio import MOST_UNANSWERED
from muxpilot.tmux import version
from muxpilot.toolkit.spec import Tool
from muxpilot.tools import RESOURCES, TOOLS

DOCS = Path(__file__).parents[2] / "docs"
NAMES = [
    *SHELL_TYPES,
    *(scope.value for scope in Scope),
    "TMUX_MCP_SCOPE",
    "TMUX_MCP_SOCKET",
]


def read(page: str) -> str:
    return (DOCS / page).read_text()


def test_the_tool_reference_is_what_the_tools_say() -> None:
    generate = runpy.run_path(str(DOCS / "generate.py"))
    assert read("tools.md") == generate["document"](), "stale: run ./dev docs"


def test_the_man_page_is_what_the_parser_says() -> None:
    generate = runpy.run_path(str(DOCS / "generate.py"))
    assert read("muxpilot.1") == generate["manual"](), "stale: run ./dev docs"


def missing_from_row(tool: Tool) -> Iterator[str]:
    """Yield the arguments and answer fields that a tool's row in docs/tools.md does not name."""
    [row] = [line for line in read("tools.md").splitlines() if f"| **{tool.name}**<br>" in line]
    for name in tool.input_schema["properties"]:
        if name != "socket" and not re.search(rf"`{name}(\?| =|`)", row):
            yield f"{tool.name} {name}"
    for name in (tool.output_schema or {}).get("properties", {}):
        if not re.search(rf"\b{name}\b", row.split(" | ")[2]):
            yield f"{tool.name} {name}"


def test_the_tool_reference_has_every_argument_and_field() -> None:
    assert [name for tool in TOOLS if tool.scopes for name in missing_from_row(tool)] == []


def flags(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from (flag for flag in action.option_strings if flag.startswith("--"))
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield f"muxpilot {name}"
                yield from flags(inner)


def test_every_flag_and_subcommand_is_in_the_docs() -> None:
    page = read("cli.md")
    every = sorted(set(flags(build_parser())))
    assert [flag for flag in every if not re.search(rf"`{flag}[` ]", page)] == []


def test_every_name_that_a_person_may_give_is_in_the_docs() -> None:
    page = read("cli.md")
    assert [name for name in NAMES if f"`{name}`" not in page] == []


def test_every_client_and_its_files_are_in_the_docs() -> None:
    rows = {line.split("`")[1]: line for line in read("clients.md").splitlines() if line.startswith("| `")}
    assert set(CLIENTS) <= set(rows)
    for name, client in CLIENTS.items():
        names = [*client.project[:1], client.user[0].rpartition("/")[2], f"`{client.section}`"]
        assert [word for word in names if word not in rows[name]] == [], name


def test_every_version_of_tmux_that_makes_a_difference_is_in_the_docs() -> None:
    rows = read("versions.md").splitlines()
    table = {name: value for name, value in vars(version).items() if name.isupper() and name != "OLDEST"}
    wanted = [".".join(map(str, value)) for name, value in table.items() if not name.startswith("_")]
    assert len(wanted) > 5
    for number in set(wanted):
        assert sum(row.startswith(f"| {number} |") for row in rows) >= wanted.count(number), number


def test_the_limits_of_the_wire_are_in_the_docs() -> None:
    page = read("cli.md")
    assert f"above {LARGEST_LINE >> 20} MB" in page
    assert f"{MOST_UNANSWERED} requests are" in page


def test_every_error_code_and_revision_is_in_the_docs() -> None:
    page = read("writing-clients.md")
    codes = {value for name, value in vars(rpc_errors).items() if name.isupper() and isinstance(value, int)}
    assert [code for code in sorted(codes) if f"| {code} |" not in page] == []
    revisions = re.findall(r'^ +"(20\d\d-\d\d-\d\d)",$', Path(revisions_module.__file__).read_text(), re.M)
    assert len(revisions) > 4
    assert [name for name in revisions if name not in page] == []


def test_the_tools_that_only_the_scope_all_has_are_in_the_docs() -> None:
    [row] = [line for line in read("scopes.md").splitlines() if line.startswith("Only `--scope all` has: ")]
    only_all = {tool.name for tool in TOOLS if set(tool.scopes) == {Scope.ALL}}
    assert set(re.findall(r"`([a-z-]+)`", row.partition(":")[2])) == only_all


def test_every_resource_is_in_the_docs() -> None:
    page = read("resources.md")
    assert [row.template for row in RESOURCES if f"| `{row.template}` |" not in page] == []


def test_every_prompt_and_argument_is_in_the_docs() -> None:
    page = read("resources.md")
    wrong = []
    for prompt in PROMPTS.values():
        names = [row.name if row.is_required else f"{row.name}?" for row in prompt.arguments]
        if f"| `{prompt.name}` | {', '.join(names)} |" not in page:
            wrong.append(prompt.name)
    assert wrong == []
