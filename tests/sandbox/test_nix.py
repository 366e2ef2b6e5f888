"""The Nix module, evaluated on stub packages: the contents of a sandbox. Nothing is built."""

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


def evaluate(folder: Path, expression: str) -> subprocess.CompletedProcess[str]:
    names = f"let nix = {NIX}; pkgs = import {STUB}; in with import nix {{ inherit pkgs; }}; "
    return instantiate(folder, "--eval", "--strict", "--json", "-E", names + expression)


def value(folder: Path, expression: str) -> Any:
    done = evaluate(folder, expression)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_sandbox_debug_profile_has_the_server_and_tmux(tmp_path: Path) -> None:
    box = value(tmp_path, "mkSandbox { profile = profiles.base; mcp = { tmux-debug = { }; }; }")
    assert {"/nix/store/stub-muxpilot", "/nix/store/stub-tmux"} <= set(box["profile"]["packages"])
    server = {"command": "muxpilot", "args": ["--scope", "debug"], "env": {}}
    assert box["mcpServers"] == {"tmux-debug": server}
    script = box["package"]["text"]
    assert "--unshare-all" in script
    assert "--share-net" not in script
    assert "/nix/store/stub-muxpilot/bin:/nix/store/stub-tmux/bin" in script


def test_a_sandbox_without_a_workspace_does_not_take_the_folder_that_it_is_started_in(tmp_path: Path) -> None:
    script = value(tmp_path, "(mkSandbox { profile = profiles.base; }).package.text")
    for given in ([], [""], [str(tmp_path / "none")]):
        done = subprocess.run(["bash", "-c", script, "sandbox", *given], capture_output=True, timeout=20)
        assert done.returncode == 2


def test_auditing_is_two_settings_of_the_server(tmp_path: Path) -> None:
    wanted = '{ audit = "/workspace/.debug-audit.log"; auditFull = "/workspace/.debug-audit/"; }'
    box = f"(mkSandbox {{ profile = profiles.rust; mcp.tmux-debug = {wanted}; }})"
    assert value(tmp_path, f"{box}.mcpServers.tmux-debug.env") == {
        "TMUX_DEBUG_AUDIT": "/workspace/.debug-audit.log",
        "TMUX_DEBUG_AUDIT_FULL": "/workspace/.debug-audit/",
    }


@pytest.mark.parametrize(("profile", "tool"), [("rust", "cargo"), ("python", "python3"), ("base", "git")])
def test_profile_composition_with_every_profile_takes_nothing_away(
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
    done = evaluate(tmp_path, "(mkSandbox { profile = profiles.base; mcp.nope = { }; }).mcpServers")
    assert done.returncode != 0
    assert "Unknown MCP server: nope. Known: tmux-debug." in done.stderr
    done = evaluate(tmp_path, "(mkSandbox { profile = profiles.base; mcp.tmux-debug.adit = 1; }).mcpServers")
    assert done.returncode != 0
    assert "adit" in done.stderr


def test_a_sandbox_is_a_development_shell_and_an_image_of_the_same(tmp_path: Path) -> None:
    box = value(tmp_path, "mkSandbox { profile = profiles.rust; env.A = 1; mcp.tmux-debug = { }; }")
    assert (box["type"], box["packages"]) == ("derivation", [box["package"]])
    image = box["image"]
    assert image["contents"] == box["profile"]["packages"]
    assert image["config"]["WorkingDir"] == "/workspace"
    assert {"A=1", f"MCP_CONFIG={box['config']}"} <= set(image["config"]["Env"])


def test_the_flake_offers_the_package_the_module_and_a_shell_for_each_system(tmp_path: Path) -> None:
    flake = f"(import {NIX}/flake.nix).outputs"
    packages = "{ x86_64-linux = pkgs; aarch64-linux = pkgs; }"
    stub = f"{{ self = {{ }}; nixpkgs = {{ inherit (pkgs) lib; legacyPackages = {packages}; }}; }}"
    found = value(
        tmp_path,
        f"with {flake} {stub}; {{ inherit packages; shells = devShells; profiles = builtins.mapAttrs"
        " (_: module: builtins.attrNames module.profiles) lib; }",
    )
    systems = {"x86_64-linux", "aarch64-linux"}
    assert all(set(part) == systems for part in found.values())
    for system in systems:
        assert found["packages"][system] == dict.fromkeys(("muxpilot", "default"), "/nix/store/stub-muxpilot")
        assert found["profiles"][system] == ["base", "python", "rust"]
        server = found["shells"][system]["debug"]["mcpServers"]["tmux-debug"]
        assert server["env"] == {"TMUX_DEBUG_AUDIT": "/workspace/.debug-audit.log"}


def test_the_package_has_tmux_beside_it(tmp_path: Path) -> None:
    package = value(tmp_path, 'removeAttrs (pkgs.callPackage (nix + "/package.nix") { }) [ "outPath" "src" ]')
    assert package["makeWrapperArgs"] == ["--prefix PATH : /nix/store/stub-tmux/bin"]
    assert package["meta"]["mainProgram"] == "muxpilot"


def test_the_package_names_what_the_project_needs() -> None:
    import tomllib

    project = tomllib.loads((NIX.parent / "pyproject.toml").read_text())["project"]
    text = (NIX / "package.nix").read_text()
    assert f'version = "{project["version"]}"' in text
    for row in (*project["dependencies"], *project["optional-dependencies"]["http"]):
        assert row.split(">")[0].split("[")[0] in text
