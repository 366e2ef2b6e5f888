"""`muxpilot install`: the right file for each client, and nothing else in it changes."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from muxpilot.cli.install import CLIENTS
from tests.cli.conftest import Run

STDIO: dict[str, Any] = {"command": "COMMAND", "args": ["ARGS"]}


ENTRIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "claude": (".mcp.json", "mcpServers", {"type": "stdio", **STDIO}),
    "codex": ("home/.codex/config.toml", "mcp_servers", STDIO),
    "cursor": (".cursor/mcp.json", "mcpServers", STDIO),
    "vscode": (".vscode/mcp.json", "servers", {"type": "stdio", **STDIO}),
    "opencode": (
        "opencode.json",
        "mcp",
        {"type": "local", "command": ["COMMAND", "ARGS"], "enabled": True},
    ),
}


def entry_of(client: str, *args: str) -> Any:
    """Return the entry for a machine where muxpilot is not on the PATH."""
    command = [sys.executable, "-m", "muxpilot", *args]
    entry = dict(ENTRIES[client][2])
    if client == "opencode":
        return entry | {"command": command}
    return entry | {"command": command[0], "args": command[1:]}


def parse_file(path: Path) -> Any:
    return tomllib.loads(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home in the test's own folder: ENTRIES names the files below that folder."""
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    return path


@pytest.fixture
def hide_muxpilot_from_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert shutil.which("muxpilot") is None


def test_every_client_is_tried() -> None:
    assert set(ENTRIES) == set(CLIENTS)


@pytest.mark.usefixtures("hide_muxpilot_from_path")
@pytest.mark.parametrize("client", ENTRIES)
def test_install_writes_a_new_file(run: Run, tmp_path: Path, client: str) -> None:
    file, key, _ = ENTRIES[client]
    code, out, err = run("--scope", "all", "--socket", "/tmp/ö x", "--channel", "install", client)
    assert (code, err) == (0, "")
    assert str(tmp_path / file) in out
    wanted = entry_of(client, "--scope", "all", "--socket", "/tmp/ö x", "--channel")
    assert parse_file(tmp_path / file) == {key: {"muxpilot": wanted}}


@pytest.mark.usefixtures("hide_muxpilot_from_path")
@pytest.mark.parametrize("client", ENTRIES)
def test_install_keeps_what_is_there_and_may_be_repeated(run: Run, tmp_path: Path, client: str) -> None:
    file, key, _ = ENTRIES[client]
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".toml":
        path.write_text(f'# mine\nmodel = "x"\n\n[{key}.other]\ncommand = "o" # "ö"')
    else:
        path.write_text(json.dumps({"model": "x", key: {"other": {"command": "o"}}}))
    path.chmod(0o600)
    before = path.read_text()
    assert run("install", client)[0] == 0
    found = parse_file(path)
    assert found["model"] == "x"
    assert found[key] == {"other": {"command": "o"}, "muxpilot": entry_of(client)}
    assert path.stat().st_mode & 0o777 == 0o600
    if path.suffix == ".toml":
        assert path.read_text().startswith(before)
    again = path.read_text()
    assert run("install", client)[0] == 0
    assert path.read_text() == again
    assert {entry.name for entry in path.parent.iterdir()} - {"home"} == {path.name}, "nothing beside it"


BROKEN = {
    ".json": ["{", "[]", '{"KEY": []}', '{"KEY": "x"}', "// comment\n{}", b"\xff\xfe"],
    ".toml": ["[", "KEY = 3", "KEY = {other = {}}", "[KEY.muxpilot]\ncommand = 'mine'", b"\xff\xfe"],
}


@pytest.mark.usefixtures("hide_muxpilot_from_path")
@pytest.mark.parametrize(
    ("client", "content"),
    [(client, content) for client in ENTRIES for content in BROKEN[Path(ENTRIES[client][0]).suffix]],
)
def test_install_refuses_what_it_cannot_add_to_and_leaves_it(
    run: Run, tmp_path: Path, client: str, content: str | bytes
) -> None:
    file, key, _ = ENTRIES[client]
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content if isinstance(content, bytes) else content.replace("KEY", key).encode()
    path.write_bytes(data)
    code, out, err = run("install", client)
    assert (code, out) == (2, "")
    assert err.startswith(f"muxpilot: {path} ")
    assert err.count("\n") == 1
    assert path.read_bytes() == data


@pytest.mark.usefixtures("hide_muxpilot_from_path")
@pytest.mark.parametrize("client", ENTRIES)
def test_install_print_only_shows(run: Run, tmp_path: Path, client: str) -> None:
    file, key, _ = ENTRIES[client]
    code, out, err = run("install", client, "--print")
    assert (code, err) == (0, f"# {tmp_path / file}\n")
    shown = tomllib.loads(out) if file.endswith(".toml") else json.loads(out)
    assert shown == {key: {"muxpilot": entry_of(client)}}
    assert {path.name for path in tmp_path.iterdir()} == {"home"}
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.usefixtures("hide_muxpilot_from_path")
def test_install_writes_through_a_link(run: Run, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    (tmp_path / ".mcp.json").symlink_to(real)
    assert run("install", "claude")[0] == 0
    assert (tmp_path / ".mcp.json").is_symlink()
    assert json.loads(real.read_text())["mcpServers"]["muxpilot"] == entry_of("claude")


def test_install_names_the_program_where_it_is_on_the_path(run: Run, tmp_path: Path, programs: Path) -> None:
    (programs / "muxpilot").write_text("#!/bin/sh\n")
    (programs / "muxpilot").chmod(0o755)
    assert run("install", "cursor")[0] == 0
    assert parse_file(tmp_path / ".cursor/mcp.json")["mcpServers"]["muxpilot"]["command"] == "muxpilot"


def test_codex_is_found_where_its_home_is(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    assert run("install", "codex")[0] == 0
    assert "muxpilot" in parse_file(tmp_path / "elsewhere/config.toml")["mcp_servers"]


def test_install_into_a_folder_that_cannot_be_made_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".cursor").write_text("a file")
    code, _, err = run("install", "cursor")
    assert code == 2
    assert "cannot be" in err
    assert (tmp_path / ".cursor").read_text() == "a file"
