"""`muxpilot install`: the command that it writes is found later, by a client with another PATH."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muxpilot.mcp_clients import program
from tests.cli.conftest import Run


def put_program(folder: Path) -> Path:
    """Put a program `muxpilot` into a folder, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "muxpilot"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def put_venv(prefix: Path) -> Path:
    (prefix / "bin").mkdir(parents=True)
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return put_program(prefix / "bin")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "UV_CACHE_DIR", "PIPX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def written_by(run: Run, tmp_path: Path) -> list[str]:
    assert run("install", "cursor")[0] == 0
    entry = json.loads((tmp_path / ".cursor/mcp.json").read_text())["mcpServers"]["muxpilot"]
    return [entry["command"], *entry["args"]]


def test_a_program_on_everyones_path_is_named(run: Run, tmp_path: Path, programs: Path) -> None:
    put_program(programs)
    assert written_by(run, tmp_path) == ["muxpilot"]


def test_a_link_into_a_venv_is_named_as_pipx_and_uv_tool_make_it(
    run: Run, tmp_path: Path, programs: Path
) -> None:
    (programs / "muxpilot").symlink_to(put_venv(tmp_path / "home/.local/share/uv/tools/muxpilot"))
    assert written_by(run, tmp_path) == ["muxpilot"]


def test_a_program_in_a_venv_is_written_with_its_path(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put_venv(tmp_path / "venv")
    monkeypatch.setenv("PATH", str(path.parent))
    assert written_by(run, tmp_path) == [str(path)]


@pytest.mark.parametrize("name", ["muxpilot", "tmux-mcp"])
def test_a_program_that_is_started_by_its_path_is_written_whatever_is_on_the_path(
    run: Run, tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    put_program(programs)
    own = put_program(tmp_path / "opt")
    monkeypatch.setattr("sys.argv", [str(own.with_name(name)), "install"])
    assert written_by(run, tmp_path) == [str(own)]


def test_a_link_on_the_path_to_the_program_that_runs_is_named(
    run: Run, tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = put_venv(tmp_path / "venv")
    (programs / "muxpilot").symlink_to(own)
    monkeypatch.setattr("sys.argv", [str(own), "install"])
    assert written_by(run, tmp_path) == ["muxpilot"]


ORIGINS = [
    (None, "muxpilot"),
    (
        {"url": "file:///tmp/a%20b/muxpilot-0.2.0-py3-none-any.whl"},
        "/tmp/a b/muxpilot-0.2.0-py3-none-any.whl",
    ),
    (
        {"url": "https://example.org/x.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
        "git+https://example.org/x.git@abc",
    ),
]


@pytest.mark.parametrize(("origin", "requirement"), ORIGINS)
@pytest.mark.parametrize(
    ("cache", "runner"),
    [
        (".cache/uv/archive-v0/x", ["uvx", "--from"]),
        (".local/share/pipx/.cache/x", ["pipx", "run", "--spec"]),
    ],
)
def test_a_program_in_a_cache_is_written_as_the_line_that_runs_it_again(
    run: Run,
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    cache: str,
    runner: list[str],
    origin: dict[str, str] | None,
    requirement: str,
) -> None:
    class Told:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return json.dumps(origin) if origin else None

    monkeypatch.setattr(program, "distribution", lambda name: Told())
    monkeypatch.setenv("PATH", str(put_venv(home / cache).parent))
    assert written_by(run, tmp_path) == [*runner, requirement, "muxpilot"]


def test_a_client_with_a_window_gets_the_whole_path(run: Run, home: Path, programs: Path) -> None:
    path = put_program(programs)
    assert run("install", "windsurf")[0] == 0
    file = home / ".codeium/windsurf/mcp_config.json"
    assert json.loads(file.read_text())["mcpServers"]["muxpilot"]["command"] == str(path)
