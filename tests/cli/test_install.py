"""`muxpilot install`: the right file for each client, and nothing else in it changes."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from muxpilot.cli import arguments
from muxpilot.cli.install import BACKUP_SUFFIX
from muxpilot.mcp_clients.json_text import read_json
from muxpilot.mcp_clients.table import CLIENTS
from tests.cli.conftest import Run

STDIO: dict[str, Any] = {"command": "COMMAND", "args": "ARGS"}
TYPED: dict[str, Any] = {"type": "stdio", **STDIO}
TMUX = ["TMUX", "TMUX_PANE", "TMUX_TMPDIR"]
GOOSE = {"enabled": True, "type": "stdio", "name": "muxpilot", "description": "tmux for agents"}
GOOSE_REST: dict[str, Any] = {"cmd": "COMMAND", "args": "ARGS", "envs": {}, "env_keys": [], "timeout": 300}

# Where each client's entry stands: the file, below the test's folder, the section, and the entry.
ENTRIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "claude": (".mcp.json", "mcpServers", TYPED),
    "codex": ("home/.codex/config.toml", "mcp_servers", STDIO | {"env_vars": TMUX}),
    "cursor": (".cursor/mcp.json", "mcpServers", STDIO),
    "vscode": (".vscode/mcp.json", "servers", TYPED),
    "opencode": ("opencode.json", "mcp", {"type": "local", "command": "BOTH", "enabled": True}),
    "gemini": (".gemini/settings.json", "mcpServers", STDIO),
    "qwen": (".qwen/settings.json", "mcpServers", STDIO),
    "copilot": (".mcp.json", "mcpServers", TYPED),
    "amp": (".amp/settings.json", "amp.mcpServers", STDIO),
    "droid": (".factory/mcp.json", "mcpServers", TYPED | {"disabled": False}),
    "auggie": ("home/.augment/settings.json", "mcpServers", TYPED | {"env": {}}),
    "cline": ("home/.cline/data/settings/cline_mcp_settings.json", "mcpServers", {"transport": TYPED}),
    "claude-desktop": ("home/.config/Claude/claude_desktop_config.json", "mcpServers", STDIO),
    "zed": ("home/.config/zed/settings.json", "context_servers", {"source": "custom", **STDIO, "env": {}}),
    "windsurf": ("home/.codeium/windsurf/mcp_config.json", "mcpServers", STDIO),
    "goose": ("home/.config/goose/config.yaml", "extensions", GOOSE | GOOSE_REST),
}
USER_ENTRIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "claude": ("home/.claude.json", "mcpServers", TYPED),
    "cursor": ("home/.cursor/mcp.json", "mcpServers", STDIO),
    "vscode": ("home/.config/Code/User/mcp.json", "servers", TYPED),
    "opencode": ("home/.config/opencode/opencode.jsonc", "mcp", ENTRIES["opencode"][2]),
    "gemini": ("home/.gemini/settings.json", "mcpServers", STDIO),
    "qwen": ("home/.qwen/settings.json", "mcpServers", STDIO),
    "copilot": (
        "home/.copilot/mcp-config.json",
        "mcpServers",
        {"type": "local", **STDIO, "tools": ["*"]},
    ),
    "amp": ("home/.config/amp/settings.json", "amp.mcpServers", STDIO),
    "droid": ("home/.factory/mcp.json", "mcpServers", ENTRIES["droid"][2]),
}
CASES = [(name, False) for name in ENTRIES] + [(name, True) for name in ENTRIES]


def row_of(client: str, *, is_user: bool = False) -> tuple[str, str, dict[str, Any]]:
    """Return the row of a client. Those without a file for a folder have one row."""
    return USER_ENTRIES.get(client, ENTRIES[client]) if is_user else ENTRIES[client]


def fill(value: Any, command: list[str]) -> Any:
    if isinstance(value, dict):
        return {key: fill(each, command) for key, each in value.items()}
    words = {"COMMAND": command[0], "ARGS": command[1:], "BOTH": command}
    return words.get(value, value) if isinstance(value, str) else value


def entry_of(client: str, *args: str, is_user: bool = False) -> Any:
    """Return the entry for a machine where muxpilot is not on the PATH."""
    return fill(row_of(client, is_user=is_user)[2], [sys.executable, "-m", "muxpilot", *args])


def parse_text(name: str, text: str) -> Any:
    if name.endswith(".toml"):
        return tomllib.loads(text)
    return yaml.safe_load(text) if name.endswith(".yaml") else json.loads(text)


def parse_file(path: Path) -> Any:
    return parse_text(path.name, path.read_text())


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home in the test's own folder: ENTRIES names the files below that folder."""
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")  # macOS has other folders for programs with a window
    return path


@pytest.fixture
def hide_muxpilot_from_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert shutil.which("muxpilot") is None


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_every_client_is_tried() -> None:
    assert list(ENTRIES) == list(CLIENTS) == list(arguments.CLIENTS)
    assert set(USER_ENTRIES) == {name for name, row in CLIENTS.items() if row.project}


@pytest.mark.usefixtures("hide_muxpilot_from_path")
@pytest.mark.parametrize(("client", "is_user"), CASES)
def test_install_writes_a_new_file_and_uninstall_leaves_nothing(
    run: Run, tmp_path: Path, client: str, is_user: bool
) -> None:
    file, section, _ = row_of(client, is_user=is_user)
    where = ["--user"] if is_user else []
    flags = ["--scope", "all", "--socket", "/tmp/ö x", "--channel"]
    code, out, err = run(*flags, "install", client, *where)
    assert (code, err) == (0, "")
    assert f"Added muxpilot to {tmp_path / file}." in out
    wanted = entry_of(client, *flags, is_user=is_user)
    assert parse_file(tmp_path / file) == {section: {"muxpilot": wanted}}
    code, out, err = run("install", client, *where, "--uninstall")
    assert (code, err) == (0, "")
    assert str(tmp_path / file) in out
    assert files_below(tmp_path) == set()


def something_else(name: str, section: str) -> str:
    """Return a file with a setting and another server."""
    if name.endswith(".toml"):
        return f'# mine\nmodel = "x"\n\n[{section}.other]\ncommand = "o" # "ö"\n'
    if name.endswith(".yaml"):
        return f"# mine\n{section}:\n  other: # ö\n    cmd: o\nmodel: x\n"
    servers = f'"{section}": {{\n    "other": {{"command": "o"}} // "ö"\n  }}'
    return f'{{\n  // mine\n  "model": "x",\n  {servers} /* the end */\n}}\n'


@pytest.mark.usefixtures("hide_muxpilot_from_path")
@pytest.mark.parametrize(("client", "is_user"), CASES)
def test_install_keeps_what_is_there_and_may_be_repeated(
    run: Run, tmp_path: Path, client: str, is_user: bool
) -> None:
    file, section, _ = row_of(client, is_user=is_user)
    where = ["--user"] if is_user else []
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    before = something_else(file, section)
    path.write_text(before)
    path.chmod(0o600)
    assert run("install", client, *where)[0] == 0
    text = path.read_text()
    found = read_json(text) if ".json" in path.name else parse_text(path.name, text)
    assert found["model"] == "x"
    other = {"cmd": "o"} if path.suffix == ".yaml" else {"command": "o"}
    assert found[section] == {"other": other, "muxpilot": entry_of(client, is_user=is_user)}
    kept = [line.rstrip(",") for line in before.splitlines() if line.strip() not in ("}", "{")]
    assert all(line.replace("} //", "}, //") in text for line in kept), text
    assert path.stat().st_mode & 0o777 == 0o600
    backup = path.with_name(path.name + BACKUP_SUFFIX)
    assert backup.read_text() == before
    assert backup.stat().st_mode & 0o777 == 0o600
    code, out, _ = run("install", client, *where)
    assert (code, path.read_text()) == (0, text)
    assert "already" in out
    assert files_below(tmp_path) == {file, file + BACKUP_SUFFIX}, "nothing else beside it"
    assert run("install", client, *where, "--uninstall")[0] == 0
    assert path.read_text() == before
    assert files_below(tmp_path) == {file}, "a backup that equals the file has gone"


@pytest.mark.usefixtures("hide_muxpilot_from_path")
@pytest.mark.parametrize("client", ENTRIES)
def test_an_entry_of_ours_is_changed_and_what_a_person_added_to_it_stays(
    run: Run, tmp_path: Path, client: str
) -> None:
    file, section, _ = ENTRIES[client]
    assert run("--scope", "all", "install", client)[0] == 0
    path = tmp_path / file
    if path.suffix == ".toml":
        path.write_text(path.read_text() + "startup_timeout_sec = 20 # slow\n\n[other]\n")
        kept: dict[str, Any] = {"startup_timeout_sec": 20}
    elif path.suffix == ".yaml":
        path.write_text(path.read_text().replace("timeout: 300", "timeout: 20 # slow"))
        kept = {"timeout": 20}
    else:
        path.write_text(path.read_text().replace('"muxpilot": {', '"muxpilot": {\n      "mine": 20, // slow'))
        kept = {"mine": 20}
    assert run("--scope", "classic", "install", client)[0] == 0
    text = path.read_text()
    assert "slow" in text
    found = read_json(text) if ".json" in file else parse_text(file, text)
    assert found[section]["muxpilot"] == entry_of(client, "--scope", "classic") | kept


BROKEN = {
    ".json": [
        "{",
        "[]",
        '{"KEY": []}',
        '{"KEY": "x"}',
        "{} {}",
        b"\xff\xfe",
        '{"a" 1}',
        '{"a": nope}',
        "{,}",
    ],
    ".toml": ["[", "KEY = 3", "KEY = {other = {}}", b"\xff\xfe"],
    ".yaml": ["KEY: [a]", "KEY:\n- a\n", "KEY: {other: {cmd: o}}", "\tKEY:\n", b"\xff\xfe", "--- a\n--- b\n"],
}
FOREIGN = {
    ".json": '{"KEY": {"muxpilot": {"command": "mine"}}}',
    ".toml": "[KEY.muxpilot]\ncommand = 'mine'",
    ".yaml": "KEY:\n  muxpilot:\n    cmd: mine\n",
}
REFUSED = [
    (client, content)
    for client in ENTRIES
    for suffix in [Path(ENTRIES[client][0]).suffix]
    for content in [*BROKEN[suffix], FOREIGN[suffix]]
]


@pytest.mark.usefixtures("hide_muxpilot_from_path")
@pytest.mark.parametrize(("client", "content"), REFUSED)
def test_install_refuses_what_it_cannot_add_to_and_leaves_it(
    run: Run, tmp_path: Path, client: str, content: str | bytes
) -> None:
    file, section, _ = ENTRIES[client]
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content if isinstance(content, bytes) else content.replace("KEY", section).encode()
    path.write_bytes(data)
    code, out, err = run("install", client)
    assert (code, out) == (2, "")
    assert err.startswith(f"muxpilot: {path} ")
    assert err.count("\n") == 1
    assert path.read_bytes() == data
    assert files_below(tmp_path) == {file}


@pytest.mark.usefixtures("hide_muxpilot_from_path")
@pytest.mark.parametrize("client", ENTRIES)
def test_install_print_only_shows(run: Run, tmp_path: Path, client: str) -> None:
    file, section, _ = ENTRIES[client]
    code, out, err = run("install", client, "--print")
    assert (code, err) == (0, f"# {tmp_path / file}\n")
    assert parse_text(file, out) == {section: {"muxpilot": entry_of(client)}}
    assert files_below(tmp_path) == set()


def test_uninstall_makes_a_backup_of_a_file_that_muxpilot_has_not_changed_before(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / ".mcp.json"
    before = '{"mcpServers": {"muxpilot": {"command": "muxpilot"}, "other": {"command": "o"}}}'
    path.write_text(before)
    assert run("install", "claude", "--uninstall")[0] == 0
    assert json.loads(path.read_text()) == {"mcpServers": {"other": {"command": "o"}}}
    assert path.with_name(path.name + BACKUP_SUFFIX).read_text() == before


def test_uninstall_says_where_it_found_nothing(run: Run, tmp_path: Path) -> None:
    code, out, err = run("install", "opencode", "--uninstall")
    assert (code, err) == (0, "")
    assert f"no muxpilot in {tmp_path}/opencode.json or {tmp_path}/opencode.jsonc" in out


def test_the_file_with_comments_is_the_one_that_opencode_reads(run: Run, tmp_path: Path) -> None:
    for name in ("opencode.json", "opencode.jsonc"):
        (tmp_path / name).write_text('{"mcp": {}}')
    assert run("install", "opencode")[0] == 0
    assert "muxpilot" in (tmp_path / "opencode.jsonc").read_text()
    assert "muxpilot" not in (tmp_path / "opencode.json").read_text()


def test_codexs_own_entry_is_accepted_and_gets_the_variables_of_tmux(
    run: Run, home: Path, programs: Path
) -> None:
    """Check the entry that `codex mcp add muxpilot -- muxpilot` writes: it has no arguments."""
    (programs / "muxpilot").write_text("#!/bin/sh\n")
    (programs / "muxpilot").chmod(0o755)
    path = home / ".codex/config.toml"
    path.parent.mkdir()
    own = '[mcp_servers.muxpilot]\ncommand = "muxpilot" # mine\n'
    path.write_text(own)
    assert run("install", "codex")[0] == 0
    assert path.read_text() == own + 'env_vars = ["TMUX", "TMUX_PANE", "TMUX_TMPDIR"]\n'


# As goose itself writes a file: it does so when an extension is added or switched on or off.
GOOSES_OWN = """\
GOOSE_PROVIDER: openai
extensions:
  muxpilot:
    enabled: false
    type: stdio
    name: muxpilot
    description: tmux for agents
    cmd: COMMAND
    args:
    - --scope
    - all
    - --socket
    - '/tmp/a #x: it''s'
    envs: {}
    env_keys: []
    timeout: 300
    bundled: null
    available_tools: []
  todo:
    enabled: true
    type: platform
GOOSE_MODEL: x
"""


def test_an_entry_that_goose_has_written_again_stays_as_it_is(run: Run, home: Path, programs: Path) -> None:
    (programs / "muxpilot").write_text("#!/bin/sh\n")
    (programs / "muxpilot").chmod(0o755)
    path = home / ".config/goose/config.yaml"
    path.parent.mkdir(parents=True)
    own = GOOSES_OWN.replace("COMMAND", str(programs / "muxpilot"))
    path.write_text(own)
    code, out, _ = run("--scope", "all", "--socket", "/tmp/a #x: it's", "install", "goose")
    assert (code, path.read_text()) == (0, own)
    assert "already" in out
    assert run("--scope", "classic", "install", "goose")[0] == 0
    entries = yaml.safe_load(own)
    entries["extensions"]["muxpilot"]["args"] = ["--scope", "classic"]
    assert parse_file(path) == entries
    assert run("install", "goose", "--uninstall")[0] == 0
    del entries["extensions"]["muxpilot"]
    assert parse_file(path) == entries


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("claude",), "approve it at the first start: run `claude`"),
        (("qwen",), "approve it at the first start: run `qwen`"),
        (("gemini",), "trust the folder"),
        (("copilot",), "trust the folder"),
        (("amp",), "`amp mcp approve muxpilot`"),
        (("vscode", "--user"), "trust the server"),
    ],
)
def test_install_names_the_step_that_a_client_asks_for(run: Run, argv: tuple[str, ...], words: str) -> None:
    assert words in run("install", *argv)[1]
    assert words in run("install", *argv)[1], "also when it is repeated"


def test_no_step_is_named_where_there_is_none(run: Run) -> None:
    assert run("install", "claude", "--user")[1].count("\n") == 1


@pytest.mark.usefixtures("hide_muxpilot_from_path")
def test_install_writes_through_a_link(run: Run, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    (tmp_path / ".mcp.json").symlink_to(real)
    assert run("install", "claude")[0] == 0
    assert (tmp_path / ".mcp.json").is_symlink()
    assert json.loads(real.read_text())["mcpServers"]["muxpilot"] == entry_of("claude")


def test_files_are_found_where_a_variable_says(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {
        "codex": ("CODEX_HOME", "config.toml"),
        "claude": ("CLAUDE_CONFIG_DIR", ".claude.json"),
        "copilot": ("COPILOT_HOME", "mcp-config.json"),
        "zed": ("XDG_CONFIG_HOME", "zed/settings.json"),
    }
    for client, (name, file) in rows.items():
        monkeypatch.setenv(name, str(tmp_path / "elsewhere" / client))
        assert run("install", client, "--user")[0] == 0
        assert "muxpilot" in (tmp_path / "elsewhere" / client / file).read_text()


def test_install_into_a_folder_that_cannot_be_made_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".cursor").write_text("a file")
    code, _, err = run("install", "cursor")
    assert code == 2
    assert "cannot be" in err
    assert (tmp_path / ".cursor").read_text() == "a file"


def test_a_preset_is_written_once_and_named_in_the_entry(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("install", "claude", "--preset", "guarded")
    config = tmp_path / "home/.config/muxpilot/guarded.toml"
    assert (code, f"Wrote {config} with the preset guarded.\n" in out) == (0, True)
    assert tomllib.loads(config.read_text()) == {"security": {"preset": "guarded"}}
    entry = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]["muxpilot"]
    assert entry["args"][-2:] == ["--config", str(config)]
    config.write_text(f"{config.read_text()}allow_kill = false\n")
    code, out, _ = run("install", "claude", "--preset", "guarded")
    assert (code, "stays as it is" in out, "allow_kill" in config.read_text()) == (0, True, True)
