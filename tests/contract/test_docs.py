"""The docs say what there is: what can be generated is, the rest is checked."""

from __future__ import annotations

import argparse
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from muxpilot.cli.install import CLIENTS
from muxpilot.cli.main import _parser
from muxpilot.config import SHELL_TYPES
from muxpilot.config.scope import Scope
from muxpilot.resources import ROWS
from muxpilot.server.fd_streams import LARGEST_LINE
from muxpilot.server.prompts import PROMPTS, Prompt
from muxpilot.server.stdio import MOST_UNANSWERED
from muxpilot.toolkit.spec import Tool
from muxpilot.tools import TOOLS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_tool_reference_is_what_the_tools_say() -> None:
    generate = runpy.run_path(str(DOCS / "generate.py"))
    assert (DOCS / "tools.md").read_text() == generate["document"](), "stale: run ./dev docs"


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.scopes], ids=lambda tool: tool.name)
def test_the_tool_reference_has_every_argument_and_field(tool: Tool) -> None:
    [row] = [
        line for line in (DOCS / "tools.md").read_text().splitlines() if f"| **{tool.name}**<br>" in line
    ]
    for name in tool.input_schema["properties"]:
        assert name == "socket" or re.search(rf"`{name}(\?| =|`)", row), name
    for name in (tool.output_schema or {}).get("properties", {}):
        assert re.search(rf"\b{name}\b", row.split(" | ")[2]), name


def _flags(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from (flag for flag in action.option_strings if flag.startswith("--"))
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield f"muxpilot {name}"
                yield from _flags(inner)


@pytest.mark.parametrize("flag", sorted(set(_flags(_parser()))))
def test_every_flag_and_subcommand_is_in_the_docs(flag: str) -> None:
    assert re.search(rf"`{flag}[` ]", (DOCS / "cli.md").read_text())


@pytest.mark.parametrize(
    "word",
    [
        *CLIENTS,
        *SHELL_TYPES,
        *(scope.value for scope in Scope),
        "TMUX_MCP_SCOPE",
        "TMUX_MCP_SOCKET",
        "CODEX_HOME",
    ],
)
def test_every_name_that_a_person_may_give_is_in_the_docs(word: str) -> None:
    assert f"`{word}`" in (DOCS / "cli.md").read_text()


def test_the_limits_of_the_wire_are_in_the_docs() -> None:
    text = (DOCS / "cli.md").read_text()
    assert f"above {LARGEST_LINE >> 20} MB" in text
    assert f"{MOST_UNANSWERED} requests are" in text


@pytest.mark.parametrize("template", [row.template for row in ROWS])
def test_every_resource_is_in_the_docs(template: str) -> None:
    assert f"| `{template}` |" in (DOCS / "resources.md").read_text()


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=list(PROMPTS))
def test_every_prompt_and_argument_is_in_the_docs(prompt: Prompt) -> None:
    names = [row.name if row.is_required else f"{row.name}?" for row in prompt.arguments]
    assert f"| `{prompt.name}` | {', '.join(names)} |" in (DOCS / "resources.md").read_text()
