"""What ships beside the program: a Claude Code plugin with agent and skills, a bundle, a registry entry."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
import urllib.request
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from muxpilot.scopes import dialect_of
from muxpilot.servers import Servers
from muxpilot.toolkit.spec import Scope
from muxpilot.tools import TOOLS
from tests.server.node_programs import INSTALL_LIMIT_S, node_programs

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
_CLAUDE = shutil.which("claude")
TEXTS = sorted([*ROOT.glob("skills/*/SKILL.md"), *ROOT.glob("agents/*.md")])


def read(name: str) -> Any:
    return json.loads((ROOT / name).read_text())


def head_of(path: Path) -> dict[str, str]:
    """The plain fields of the front matter."""
    found = re.match(r"---\n(.*?)\n---\n", path.read_text(), re.DOTALL)
    assert found is not None
    rows = (line.partition(": ") for line in found[1].splitlines() if not line.startswith(" "))
    return {name: text for name, _, text in rows}


def test_versions_are_those_of_the_project() -> None:
    bundle = tomllib.loads((ROOT / "mcpb" / "pyproject.toml").read_text())["project"]
    assert read(".claude-plugin/plugin.json")["version"] == VERSION
    assert read("mcpb/manifest.json")["version"] == bundle["version"] == VERSION
    assert bundle["dependencies"] == [f"muxpilot=={VERSION}"]
    registry = read("server.json")
    assert [registry["version"], *(row["version"] for row in registry["packages"])] == [VERSION, VERSION]


def test_the_plugin_starts_the_server_in_a_scope_that_there_is() -> None:
    [server] = read(".mcp.json")["mcpServers"].values()
    assert server["command"] == "muxpilot"
    assert Scope(server["args"][server["args"].index("--scope") + 1]) is Scope.AGENTIC
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", read(".claude-plugin/plugin.json")["name"])


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.parent.name + "/" + path.name)
def test_a_skill_or_agent_says_what_it_is_for(path: Path) -> None:
    head = head_of(path)
    name = path.stem if path.parent.name == "agents" else path.parent.name
    assert head["name"] == name
    assert 40 < len(head["description"]) <= 1024
    assert "Use it when" in head["description"]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.parent.name + "/" + path.name)
def test_every_tool_that_a_text_names_is_there(path: Path) -> None:
    dialect = dialect_of(Scope.DEBUG, Servers("/tmp/mx-none/s"))
    assert dialect is not None
    known = {tool.name for tool in TOOLS if tool.scopes} | {tool.exposed for tool in dialect.tools}
    named = set(re.findall(r"`([a-z]+(?:[-_][a-z]+)+)`", path.read_text()))
    assert named
    assert named <= known


def test_the_agent_carries_the_debug_scope_itself() -> None:
    """So that only it pays for the tools."""
    text = (ROOT / "agents" / "tmux-debug.md").read_text()
    assert 'args: ["--scope", "debug"]' in text
    assert "debug" not in (ROOT / ".mcp.json").read_text()


def test_the_registry_entry_keeps_the_registrys_rules() -> None:
    entry = read("server.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert len(entry["description"]) <= 100
    scopes = entry["packages"][0]["packageArguments"][0]
    assert scopes["choices"] == [scope.value for scope in Scope]


def test_the_registry_entry_keeps_its_published_schema() -> None:
    entry = read("server.json")
    try:
        with urllib.request.urlopen(entry["$schema"], timeout=10) as answer:
            schema = json.load(answer)
    except OSError as error:
        pytest.skip(f"the schema cannot be fetched: {error}")
    jsonschema.validate(entry, schema)


@pytest.mark.timeout(2 * INSTALL_LIMIT_S)
def test_the_bundle_is_valid_and_packs(tmp_path: Path) -> None:
    programs = node_programs()
    if isinstance(programs, str):
        pytest.skip(programs)
    modules = programs / "node_modules"
    cli = [str(modules / ".bin/node"), str(modules / "@anthropic-ai/mcpb/dist/cli/cli.js")]
    folder = tmp_path / "bundle"
    shutil.copytree(ROOT / "mcpb", folder)
    for argv in (
        ("validate", str(folder / "manifest.json")),
        ("pack", str(folder), str(tmp_path / "x.mcpb")),
    ):
        done = subprocess.run([*cli, *argv], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "x.mcpb").stat().st_size > 500


def test_the_plugin_is_valid_by_claudes_own_word(tmp_path: Path) -> None:
    claude = _CLAUDE
    if claude is None:
        pytest.skip("claude is not installed")
    done = subprocess.run(
        [claude, "plugin", "validate", str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
    )
    assert done.returncode == 0, done.stdout + done.stderr
