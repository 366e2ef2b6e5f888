"""The Nix module, evaluated on stub packages: what a sandbox would hold. Nothing is built."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

NIX = Path(__file__).parents[2] / "nix"
STUB = Path(__file__).with_name("stub.nix")
LIMIT_S = 60


def instantiate(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("nix-instantiate")
    if program is None:
        pytest.skip("nix-instantiate is not installed (Debian: nix-bin)")
    local = {name: str(folder / name) for name in ("NIX_STATE_DIR", "NIX_STORE_DIR", "NIX_LOG_DIR")}
    return subprocess.run(
        [program, *argv],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        env={**os.environ, "HOME": str(folder), **local},
    )


def evaluated(folder: Path, expression: str) -> subprocess.CompletedProcess[str]:
    names = f"let pkgs = import {STUB}; muxpilot = import {NIX} {{ inherit pkgs; }}; in with muxpilot; "
    return instantiate(folder, "--eval", "--strict", "--json", "-E", names + expression)


def value(folder: Path, expression: str) -> Any:
    done = evaluated(folder, expression)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_profile_opts_in_to_the_server_and_gets_it_with_tmux(tmp_path: Path) -> None:
    box = value(tmp_path, "mkSandbox { profile = profiles.base; mcp = { tmux-debug = { }; }; }")
    assert {"/nix/store/stub-muxpilot", "/nix/store/stub-tmux"} <= set(box["profile"]["packages"])
    server = {"command": "muxpilot", "args": ["--scope", "debug"], "env": {}}
    assert box["mcpServers"] == {"tmux-debug": server}
    script = box["package"]["text"]
    assert "--unshare-all" in script
    assert "--share-net" not in script
    assert "/nix/store/stub-muxpilot/bin:/nix/store/stub-tmux/bin" in script


def test_auditing_is_two_settings_of_the_server(tmp_path: Path) -> None:
    wanted = '{ audit = "/workspace/.debug-audit.log"; auditFull = "/workspace/.debug-audit/"; }'
    box = f"(mkSandbox {{ profile = profiles.rust; mcp.tmux-debug = {wanted}; }})"
    assert value(tmp_path, f"{box}.mcpServers.tmux-debug.env") == {
        "TMUX_DEBUG_AUDIT": "/workspace/.debug-audit.log",
        "TMUX_DEBUG_AUDIT_FULL": "/workspace/.debug-audit/",
    }


@pytest.mark.parametrize(("profile", "tool"), [("rust", "cargo"), ("python", "python3"), ("base", "git")])
def test_it_composes_with_every_profile_and_takes_nothing_away(
    tmp_path: Path, profile: str, tool: str
) -> None:
    plain = value(tmp_path, f"(mkSandbox {{ profile = profiles.{profile}; }}).profile")
    debug = value(
        tmp_path, f"(mkSandbox {{ profile = profiles.{profile}; mcp.tmux-debug = {{ }}; }}).profile"
    )
    assert f"/nix/store/stub-{tool}" in plain["packages"]
    added = debug["packages"][len(plain["packages"]) :]
    assert debug["packages"][: len(plain["packages"])] == plain["packages"]
    assert added == ["/nix/store/stub-muxpilot", "/nix/store/stub-tmux"]


def test_a_profile_of_ones_own_keeps_its_environment(tmp_path: Path) -> None:
    own = '{ name = "own"; packages = [ pkgs.git ]; env = { A = "it\'s"; }; }'
    box = value(tmp_path, f"mkSandbox {{ profile = {own}; env.B = 2; net = true; mcp.tmux-debug = {{ }}; }}")
    assert box["profile"]["env"] == {"A": "it's", "B": 2}
    script = box["package"]["text"]
    assert "--setenv 'A' 'it'\\''s'" in script
    assert "--share-net" in script


def test_an_unknown_server_and_an_unknown_setting_are_refused_by_name(tmp_path: Path) -> None:
    done = evaluated(tmp_path, "(mkSandbox { profile = profiles.base; mcp.nope = { }; }).mcpServers")
    assert done.returncode != 0
    assert "Unknown MCP server: nope. Known: tmux-debug." in done.stderr
    done = evaluated(tmp_path, "(mkSandbox { profile = profiles.base; mcp.tmux-debug.adit = 1; }).mcpServers")
    assert done.returncode != 0
    assert "adit" in done.stderr


@pytest.mark.parametrize("name", sorted(path.name for path in NIX.glob("*.nix")))
def test_every_file_parses(tmp_path: Path, name: str) -> None:
    done = instantiate(tmp_path, "--parse", str(NIX / name))
    assert done.returncode == 0, done.stderr


def test_the_package_names_what_the_project_needs() -> None:
    import tomllib

    project = tomllib.loads((NIX.parent / "pyproject.toml").read_text())["project"]
    text = (NIX / "package.nix").read_text()
    assert f'version = "{project["version"]}"' in text
    for row in project["dependencies"]:
        assert row.split(">")[0].split("[")[0] in text
