"""Checks of README.md and docs/*.md: every page is linked, no link is dead, and every example is valid."""

from __future__ import annotations

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import jsonschema

from muxpilot.cli.arguments import build_parser
from muxpilot.config.parse import load_document
from muxpilot.config.scope import Scope
from muxpilot.tools import TOOLS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
INDEX = ROOT / "docs" / "README.md"
INTENTS = ROOT / "docs" / "intents.md"
PAGES = [README, *sorted(ROOT.glob("docs/*.md"))]
ONE_KEY = re.compile(
    r"send-(cancel|eof|escape|enter|tab|backspace|up|down|left|right|page-up|page-down|home|end)"
)
NUMBERS = {"14": "fourteen", "15": "fifteen"}  # tasks that are played; a new one needs its word here
LISTED = [tool for tool in TOOLS if tool.scopes and not ONE_KEY.fullmatch(tool.name)]


def blocks(language: str) -> list[str]:
    """Return the code blocks of this language in all pages; there must be some."""
    found = [
        block
        for page in PAGES
        for block in re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)
    ]
    assert found, language
    return found


def shown_commands() -> list[list[str]]:
    """Return every muxpilot command line that a page shows at a prompt."""
    lines = [line for page in PAGES for line in page.read_text().splitlines()]
    shown = [line.strip()[2:] for line in lines if line.strip().startswith("$ muxpilot ")]
    assert shown
    return [shlex.split(line) for line in shown]


# Commands in shell blocks that are neither muxpilot nor ./dev. Try a command before you add it.
OTHERS = [("pipx", ["install", ".[http]"])]


def test_the_index_finds_every_page() -> None:
    index = INDEX.read_text()
    assert "(docs/README.md)" in README.read_text()
    assert [page.name for page in PAGES[1:] if page != INDEX and f"]({page.name})" not in index] == []


def dead_links(page: Path) -> list[str]:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    return [
        f"{page.name}: {name}" for name in targets if "://" not in name and not (page.parent / name).exists()
    ]


def test_no_link_within_the_project_is_dead() -> None:
    assert [link for page in PAGES for link in dead_links(page)] == []


def test_the_index_has_every_tool_and_marks_the_default_ones() -> None:
    table = INDEX.read_text().partition("\n## Tools\n")[2].partition("\n## ")[0]
    shown = {tool.name: re.findall(rf"(?<![\w-])\**{tool.name}\**(?![\w-])", table) for tool in LISTED}
    assert shown == {
        tool.name: [f"**{tool.name}**" if Scope.AGENTIC in tool.scopes else tool.name] for tool in LISTED
    }


def test_every_command_line_in_the_docs_is_one() -> None:
    schemas = {tool.name: tool.input_schema for tool in TOOLS}
    for argv in shown_commands():
        build_parser().parse_args(argv[1:])
        for name, given in pairwise(argv):
            if name in schemas:
                jsonschema.validate(json.loads(given), schemas[name])


def is_command(line: str) -> bool:
    """Return whether a line of a shell block is a command that exists; one of muxpilot must also parse."""
    program, *rest = shlex.split(line, comments=True)
    if program == "muxpilot":
        build_parser().parse_args(rest)
        return True
    if program == "./dev":
        return re.search(rf"^    {rest[0]}\)$", (ROOT / "dev").read_text(), re.M) is not None
    return (program, rest) in OTHERS


def test_every_line_of_a_shell_block_is_a_command_that_there_is() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert [line for line in lines if not is_command(line)] == []


def test_every_json_in_the_docs_is_json() -> None:
    assert all(json.loads(text) for text in blocks("json"))


def test_every_configuration_in_the_docs_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "muxpilot.toml"
    for text in blocks("toml"):
        file.write_text(text)
        load_document(str(file))


def test_the_front_page_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 120


def test_the_figures_of_the_front_page_are_those_of_the_other_pages() -> None:
    """Compare calls, truth and tokens with the last rows of the page that a benchmark has written."""
    rows = {
        cells[0]: cells[1:]
        for cells in (
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in (README.read_text() + INTENTS.read_text()).splitlines()
            if line.startswith("|")
        )
    }
    tasks = re.findall(r" of (\d+) true", rows["all"][0])[0]
    calls, truth = rows[f"calls for {NUMBERS[tasks]} tasks of an agent"], rows["true answers"]
    played = rows["all"][: len(calls)]
    assert [re.findall(r"^\d+", cell) for cell in played] == [[count] for count in calls]
    assert [re.findall(rf"(\d+) of {tasks} true", cell) for cell in played] == [
        re.findall(r"^\d+", cell) for cell in truth
    ]
    listed = rows["tokens of tools/list, once"][1 : len(calls)]
    assert rows["tokens of `tools/list`"][1:] == listed
