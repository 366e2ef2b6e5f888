"""The front page and the pages behind it: all are linked, no link is dead, and what they show would run."""

from __future__ import annotations

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest

from muxpilot.cli.main import _parser
from muxpilot.config.parse import load
from muxpilot.config.scope import Scope
from muxpilot.toolkit.spec import Tool
from muxpilot.tools import TOOLS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
INDEX = ROOT / "docs" / "README.md"
PAGES = [README, *sorted(ROOT.glob("docs/*.md"))]
ONE_KEY = re.compile(
    r"send-(cancel|eof|escape|enter|tab|backspace|up|down|left|right|page-up|page-down|home|end)"
)
LISTED = [tool for tool in TOOLS if tool.scopes and not ONE_KEY.fullmatch(tool.name)]


def blocks(language: str) -> list[str]:
    found = [
        block
        for page in PAGES
        for block in re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)
    ]
    assert found, language
    return found


def typed() -> list[list[str]]:
    """Every muxpilot command line that a page shows at a prompt."""
    lines = [line for page in PAGES for line in page.read_text().splitlines()]
    shown = [line.strip()[2:] for line in lines if line.strip().startswith("$ muxpilot ")]
    assert shown
    return [shlex.split(line) for line in shown]


SHELL_LINES = [line for block in blocks("sh") for line in block.splitlines()]
OTHERS = [("pip", ["install", "."])]


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.name)
def test_the_index_finds_every_page(page: Path) -> None:
    if page == INDEX:
        assert "(docs/README.md)" in README.read_text()
    else:
        assert f"]({page.name})" in INDEX.read_text(), f"link {page.name} in docs/README.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_within_the_project_is_dead(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    dead = [name for name in targets if "://" not in name and not (page.parent / name).exists()]
    assert dead == []


@pytest.mark.parametrize("tool", LISTED, ids=lambda tool: tool.name)
def test_the_front_page_has_every_tool_and_marks_the_default_ones(tool: Tool) -> None:
    table = README.read_text().partition("\n## Tools\n")[2].partition("\n## ")[0]
    is_default = Scope.AGENTIC in tool.scopes
    [shown] = re.findall(rf"(?<![\w-])\**{tool.name}\**(?![\w-])", table)
    assert shown == (f"**{tool.name}**" if is_default else tool.name)


@pytest.mark.parametrize("argv", typed(), ids=" ".join)
def test_every_command_line_in_the_docs_is_one(argv: list[str]) -> None:
    _parser().parse_args(argv[1:])
    schemas = {tool.name: tool.input_schema for tool in TOOLS}
    for name, given in pairwise(argv):
        if name in schemas:
            jsonschema.validate(json.loads(given), schemas[name])


@pytest.mark.parametrize("line", SHELL_LINES)
def test_every_line_of_a_shell_block_is_a_command_that_there_is(line: str) -> None:
    program, *rest = shlex.split(line, comments=True)
    if program == "muxpilot":
        _parser().parse_args(rest)
    elif program == "./dev":
        assert re.search(rf"^    {rest[0]}\)$", (ROOT / "dev").read_text(), re.M)
    else:
        assert (program, rest) in OTHERS, "add it to OTHERS, once it is tried"


@pytest.mark.parametrize("text", blocks("json"))
def test_every_json_in_the_docs_is_json(text: str) -> None:
    assert json.loads(text)


@pytest.mark.parametrize("text", blocks("toml"))
def test_every_configuration_in_the_docs_is_taken(text: str, tmp_path: Path) -> None:
    file = tmp_path / "muxpilot.toml"
    file.write_text(text)
    load(str(file))
