"""The command line, as a person and as a client's configuration use it."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from muxpilot import __version__
from muxpilot.cli.install import CLIENTS
from muxpilot.cli.main import CLIENTS as OFFERED
from muxpilot.cli.main import main
from muxpilot.config import SHELL_TYPES, settings
from muxpilot.errors import BadInput
from muxpilot.scopes import dialect_of
from muxpilot.servers import Servers
from muxpilot.toolkit.spec import Scope
from muxpilot.tools import TOOLS
from tests.server.wire import Place, private_place

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def place() -> Iterator[Place]:
    with private_place() as place:
        yield place


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The program in this process: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: str) -> tuple[int, str, str]:
        try:
            code = main(argv)
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def start(*argv: str, given: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "muxpilot", *argv]
    return subprocess.run(
        command, input=given, capture_output=True, timeout=20, check=False, env=os.environ | variables
    )


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH that holds nothing but what is put there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def old_tmux(folder: Path, words: str = "tmux 3.1c") -> None:
    shim = folder / "tmux"
    shim.write_text(f"#!/bin/sh\necho {words}\n")
    shim.chmod(0o755)


# Flags and environment


@pytest.mark.parametrize(
    ("environment", "flags", "wanted"),
    [
        ({}, {}, (Scope.AGENTIC, None, "auto")),
        ({"TMUX_MCP_SCOPE": "all", "TMUX_MCP_SOCKET": "/tmp/e"}, {}, (Scope.ALL, "/tmp/e", "auto")),
        ({"TMUX_MCP_SCOPE": "all"}, {"scope": "primitives"}, (Scope.PRIMITIVES, None, "auto")),
        ({"TMUX_MCP_SOCKET": "/tmp/e"}, {"socket": "/tmp/f"}, (Scope.AGENTIC, "/tmp/f", "auto")),
        ({"TMUX_MCP_SCOPE": "", "TMUX_MCP_SOCKET": ""}, {}, (Scope.AGENTIC, None, "auto")),
        ({"TMUX_MCP_SCOPE": "nonsense"}, {"scope": "all"}, (Scope.ALL, None, "auto")),
        ({}, {"shell_type": "fish"}, (Scope.AGENTIC, None, "fish")),
    ],
)
def test_a_flag_wins_over_its_variable(
    environment: dict[str, str], flags: dict[str, Any], wanted: tuple[Any, ...]
) -> None:
    chosen = settings(environment, **flags)
    assert (chosen.scope, chosen.socket, chosen.shell_type) == wanted


@pytest.mark.parametrize("name", ["Agentic", "agentic ", "everything", "*"])
def test_another_scope_is_refused_with_the_ones_there_are(name: str) -> None:
    with pytest.raises(BadInput, match="Use one of: agentic, primitives, all"):
        settings({}, scope=name)


@pytest.mark.parametrize(
    ("argv", "variables"),
    [
        (["--scope", "no"], {}),
        (["tools", "--scope", "no"], {}),
        (["doctor"], {"TMUX_MCP_SCOPE": "no"}),
        (["call", "list-panes"], {"TMUX_MCP_SCOPE": "no"}),
    ],
)
def test_a_bad_scope_ends_the_program_with_one_clear_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, argv: list[str], variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert err.startswith("muxpilot: 'no' is not a scope. Use one of: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "argv",
    [["--no-such-flag"], ["no-such-command"], ["--shell-type", "csh"], ["install", "emacs"], ["call"]],
)
def test_what_the_command_line_has_not_is_refused(run: Run, argv: list[str]) -> None:
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert "usage: muxpilot" in err


def test_the_version_is_told(run: Run) -> None:
    assert run("--version") == (0, f"muxpilot {__version__}\n", "")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (
            ["--help"],
            ["--scope", "TMUX_MCP_SCOPE", "--socket", "TMUX_MCP_SOCKET", "--shell-type", *SHELL_TYPES],
        ),
        (["--help"], ["doctor", "tools", "call", "install", *(scope.value for scope in Scope)]),
        (["install", "--help"], [*CLIENTS, "--print"]),
        (["call", "--help"], ["TOOL", "JSON"]),
        (["tools", "--help"], ["--json", "--scope"]),
    ],
)
def test_help_names_everything(run: Run, argv: list[str], words: list[str]) -> None:
    code, out, err = run(*argv)
    assert (code, err) == (0, "")
    assert [word for word in words if word not in out] == []


def test_the_parser_offers_the_clients_there_are() -> None:
    assert set(OFFERED) == set(CLIENTS)


# Serving


def test_a_scope_and_a_socket_from_the_environment_are_what_is_served(place: Place) -> None:
    lines = [
        HELLO,
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": "tmux://server/info"}},
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "muxpilot"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"TMUX_MCP_SCOPE": "primitives", "TMUX_MCP_SOCKET": place.socket},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        answers = {}
        for line in lines:
            process.stdin.write(json.dumps(line).encode() + b"\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            answers[answer["id"]] = answer["result"]
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(10) == 0
    offered = [tool.name for tool in TOOLS if Scope.PRIMITIVES in tool.scopes]
    assert [row["name"] for row in answers[2]["tools"]] == offered
    assert json.loads(answers[3]["contents"][0]["text"])["socket"] == place.socket


def test_no_tmux_is_told_at_the_start(programs: Path) -> None:
    done = start()
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        "muxpilot: There is no program 'tmux' on this machine. "
        "Install tmux 3.2 or newer, or name one that is.\n"
    )


def test_a_tmux_that_is_too_old_is_told_at_the_start(programs: Path) -> None:
    old_tmux(programs)
    done = start()
    assert (done.returncode, done.stdout) == (2, b"")
    words = done.stderr.decode()
    assert words.startswith("muxpilot: tmux 3.1c is too old: muxpilot needs tmux 3.2 or newer.")
    assert words.count("\n") == 1


@pytest.mark.parametrize(
    ("socket", "words"),
    [("x" * 200, "longer than"), ("a\nb", "is not a socket path")],
)
def test_a_socket_that_can_be_none_is_told_at_the_start(socket: str, words: str) -> None:
    done = start("--socket", socket)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"muxpilot: ")
    assert words in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_stdin_or_stdout_it_says_what_is_wrong(closed: str) -> None:
    command = f"{sys.executable} -m muxpilot {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, timeout=20, check=False, input=b"")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"muxpilot: stdin or stdout is closed.")


def test_an_empty_stdin_is_a_client_that_has_left(place: Place) -> None:
    done = start("--socket", place.socket)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_run_by_hand_it_says_what_it_is(place: Place) -> None:
    leader, follower = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "muxpilot", "--socket", place.socket],
            stdin=follower,
            capture_output=True,
            timeout=20,
            check=False,
        )
    finally:
        os.close(leader)
        os.close(follower)
    assert (done.returncode, done.stdout) == (0, b"")
    for words in ("is an MCP server", "muxpilot install claude", "muxpilot doctor", "muxpilot call"):
        assert words in done.stderr.decode()


# tools and call


@pytest.mark.parametrize("scope", [None, *(scope.value for scope in Scope)])
def test_tools_lists_the_tools_of_a_scope(run: Run, scope: str | None) -> None:
    flags = ["--scope", scope] if scope else []
    code, out, err = run("tools", *flags)
    assert (code, err) == (0, "")
    asked = Scope(scope or "agentic")
    dialect = dialect_of(asked, Servers("/tmp/mx-none/s"))
    wanted = [tool.exposed for tool in (dialect.tools if dialect else TOOLS) if asked in tool.scopes]
    assert [line.split()[0] for line in out.splitlines()] == wanted
    assert all(len(line.split()) > 1 for line in out.splitlines())


def test_a_flag_stands_before_a_command_or_after_it(run: Run) -> None:
    assert run("--scope", "all", "tools") == run("tools", "--scope", "all")
    assert run("--scope", "all", "tools", "--scope", "agentic") == run("tools")


async def test_tools_as_json_is_what_a_client_is_listed(run: Run, place: Place) -> None:
    code, out, _ = run("tools", "--json")
    assert code == 0
    async with place.serve() as wire:
        await wire.shake_hands()
        assert json.loads(out) == await wire.result("tools/list")


def test_a_call_prints_the_answer(run: Run, place: Place) -> None:
    code, out, err = run("--socket", place.socket, "call", "create-session", '{"name": "by-hand"}')
    assert (code, err) == (0, "")
    assert json.loads(out)["sessionName"] == "by-hand"
    assert place.tmux("list-sessions", "-F", "#{session_name}") == "by-hand"
    code, out, err = run("call", "list-sessions", "--socket", place.socket)
    assert [row["name"] for row in json.loads(out)["sessions"]] == ["by-hand"]


def test_a_call_reaches_tools_of_every_scope_unless_one_is_named(run: Run, place: Place) -> None:
    code, out, _ = run("--socket", place.socket, "call", "list-servers")
    assert (code, json.loads(out)["servers"][0]["socket"]) == (0, place.socket)
    code, out, err = run("--socket", place.socket, "--scope", "agentic", "call", "list-servers")
    assert (code, out) == (2, "")
    assert err.startswith("muxpilot: There is no tool 'list-servers'.")


def test_a_call_that_fails_says_why_on_stderr(run: Run, place: Place) -> None:
    code, out, err = run("--socket", place.socket, "call", "kill-pane", '{"paneId": "%9"}')
    assert (code, out) == (1, "")
    assert err.startswith("No tmux server is running on ")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("{", "The arguments are not JSON"),
        ("[]", "The arguments are not a JSON object"),
        ("3", "The arguments are not a JSON object"),
    ],
)
def test_arguments_that_are_none_are_refused(run: Run, place: Place, given: str, words: str) -> None:
    code, out, err = run("--socket", place.socket, "call", "list-sessions", given)
    assert (code, out) == (2, "")
    assert err.startswith(f"muxpilot: {words}")
    assert err.count("\n") == 1


def test_an_unknown_tool_is_refused_with_where_to_look(run: Run, place: Place) -> None:
    code, _, err = run("--socket", place.socket, "call", "no-such")
    assert code == 2
    assert err == "muxpilot: There is no tool 'no-such'. Use muxpilot tools to see the tools there are.\n"


# doctor


def test_doctor_finds_everything_in_place(run: Run, place: Place) -> None:
    place.tmux("new-session", "-d")
    code, out, err = run("--socket", place.socket, "doctor")
    assert (code, err) == (0, "")
    assert all(line.startswith("ok ") for line in out.splitlines())
    for words in (
        f"muxpilot {__version__}",
        "tmux 3.",
        f"tmux server on {place.socket}: 1 sessions",
        "shells",
    ):
        assert words in out


def test_doctor_needs_no_server_to_be_running(run: Run, place: Place) -> None:
    code, out, _ = run("--socket", place.socket, "doctor")
    assert code == 0
    assert f"no tmux server on {place.socket}; the first session starts one" in out


def test_doctor_says_that_tmux_is_missing_and_what_to_do(run: Run, place: Place, programs: Path) -> None:
    code, out, _ = run("--socket", place.socket, "doctor")
    assert code == 1
    assert "FAIL  There is no program 'tmux' on this machine. Install tmux 3.2 or newer" in out


def test_doctor_says_that_tmux_is_too_old(run: Run, place: Place, programs: Path) -> None:
    old_tmux(programs)
    code, out, _ = run("--socket", place.socket, "doctor")
    assert code == 1
    assert "FAIL  tmux 3.1c is too old: muxpilot needs tmux 3.2 or newer. Install" in out


def test_doctor_says_that_tmux_does_not_answer_and_what_to_do(run: Run, place: Place) -> None:
    place.tmux("new-session", "-d")
    with place.stopped():
        code, out, _ = run("--socket", place.socket, "doctor")
    assert code == 1
    assert f"FAIL  tmux server on {place.socket} does not answer. Is it stopped? Try kill -CONT." in out


def test_doctor_says_that_a_socket_is_none(run: Run, place: Place) -> None:
    Path(place.socket).write_text("")
    code, out, _ = run("--socket", place.socket, "doctor")
    assert code == 1
    assert f"FAIL  tmux server on {place.socket}: {place.socket} is not a socket. Give the path" in out


# install


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
    """What an entry looks like where muxpilot is not on the PATH."""
    command = [sys.executable, "-m", "muxpilot", *args]
    entry = dict(ENTRIES[client][2])
    if client == "opencode":
        return entry | {"command": command}
    return entry | {"command": command[0], "args": command[1:]}


def parsed(path: Path) -> Any:
    return tomllib.loads(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert shutil.which("muxpilot") is None


def test_every_client_is_tried() -> None:
    assert set(ENTRIES) == set(CLIENTS)


@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize("client", ENTRIES)
def test_install_writes_a_new_file(run: Run, tmp_path: Path, client: str) -> None:
    file, key, _ = ENTRIES[client]
    code, out, err = run("--scope", "all", "--socket", "/tmp/ö x", "install", client)
    assert (code, err) == (0, "")
    assert str(tmp_path / file) in out
    wanted = entry_of(client, "--scope", "all", "--socket", "/tmp/ö x")
    assert parsed(tmp_path / file) == {key: {"muxpilot": wanted}}


@pytest.mark.usefixtures("unlisted")
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
    found = parsed(path)
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


@pytest.mark.usefixtures("unlisted")
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


@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize("client", ENTRIES)
def test_install_print_only_shows(run: Run, tmp_path: Path, client: str) -> None:
    file, key, _ = ENTRIES[client]
    code, out, _ = run("install", client, "--print")
    assert code == 0
    title, _, text = out.partition("\n")
    assert title == f"# {tmp_path / file}"
    shown = tomllib.loads(text) if file.endswith(".toml") else json.loads(text)
    assert shown == {key: {"muxpilot": entry_of(client)}}
    assert {path.name for path in tmp_path.iterdir()} == {"home"}
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.usefixtures("unlisted")
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
    assert parsed(tmp_path / ".cursor/mcp.json")["mcpServers"]["muxpilot"]["command"] == "muxpilot"


def test_codex_is_found_where_its_home_is(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    assert run("install", "codex")[0] == 0
    assert "muxpilot" in parsed(tmp_path / "elsewhere/config.toml")["mcp_servers"]


def test_install_into_a_folder_that_cannot_be_made_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".cursor").write_text("a file")
    code, _, err = run("install", "cursor")
    assert code == 2
    assert "cannot be" in err
    assert (tmp_path / ".cursor").read_text() == "a file"
