"""The configuration: every key, its values, and the error line for a wrong one."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from muxpilot.config.flags import load_settings
from muxpilot.config.model import Document, Settings, ToolFilter
from muxpilot.config.parse import types_of
from muxpilot.errors import BadInput

# Every key with another value than its default.
WHOLE = """\
[shell]
type = "zsh"
[ssh]
remote = "user@host"
[security]
enabled = false
allow_execute_command = false
allow_raw_mode = false
allow_send_keys = false
allow_kill = false
allow_create = false
allow_split = false
allow_rename = false
allow_move = false
allow_capture = false
allow_list = false
allow_foreign = false
allowed_sockets = ["/tmp/a.sock"]
allowed_sessions = []
allowed_panes = ["%1"]
allowed_buffer_paths = ["/tmp"]
pass_environment = ["MY_*"]
person_pause_seconds = 0
preset = "guarded"
ask = ["@kill"]
ask_timeout_seconds = 3
redact = true
redact_patterns = ["x"]
[security.command_filter]
mode = "denylist"
patterns = ["^rm"]
ask_patterns = ["^git push"]
[security.tools]
mode = "allow"
items = ["@read"]
[tracking]
capture_initial_lines = 1
capture_max_lines = 2
capture_backoff_factor = 3
completed_retention_minutes = 4
completed_max_entries = 5
tracking_deadline_seconds = 6
output_cap_bytes = 7000
journal = false
journal_cap_bytes = 70000
journal_total_bytes = 2000000
[search]
streaming_threshold_bytes = 8
[watch]
poll_interval_ms = 9
stable_ms = 10
timeout_default_ms = 11
timeout_max_ms = 12
allowed_hosts = ["host"]
[audit]
path = "/tmp/audit"
full = "/tmp/full"
max_bytes = 13000
keep = 14
[servers.build]
ssh = "-p 22 build"
socket = "/tmp/b"
[servers.local]
socket = "/tmp/l"
"""


@pytest.fixture
def config(tmp_path: Path) -> Any:
    def write(text: str) -> Settings:
        path = tmp_path / "config.toml"
        path.write_text(text)
        return load_settings({}, config=str(path))

    return write


def test_every_key_is_read(config: Any) -> None:
    found, plain = config(WHOLE), Settings()
    for section in ("security", "tracking", "search", "watch", "audit"):
        _all_differ(getattr(found, section), getattr(plain, section), section)
    assert (found.shell_type, found.ssh) == ("zsh", "user@host")
    assert found.servers["build"].ssh == "-p 22 build"
    assert found.servers["local"].socket == "/tmp/l"
    assert found.tracking.output_cap_bytes == 7000
    assert found.security.allowed_sessions == ()


def _all_differ(found: Any, plain: Any, where: str) -> None:
    for row in fields(found):
        mine, default = getattr(found, row.name), getattr(plain, row.name)
        if is_dataclass(mine):
            _all_differ(mine, default, f"{where}.{row.name}")
        else:
            assert mine != default, f"{where}.{row.name}"


def test_nothing_is_set_where_no_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text(WHOLE)
    monkeypatch.chdir(tmp_path)
    assert load_settings({}) == Settings()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            "[security]\nallow_kil = false",
            2,
            "security.allow_kil is not a key. Did you mean allow_kill? [security]",
        ),
        ("\n[securty]\n", 2, "securty is not a section. Did you mean security? The sections are: shell, ssh"),
        ("typo = 1", 1, "typo is not a section."),
        ("[security]\n\nallow_kill = 1", 3, "security.allow_kill must be true or false."),
        ("[security]\nallowed_panes = '%1'", 2, "security.allowed_panes must be a list of strings."),
        ("[security]\nallowed_panes = [1]", 2, "security.allowed_panes must be a list of strings."),
        ("[security.command_filter]\nmode = 'on'", 2, "Use one of: off, allowlist, denylist, ask."),
        ("[security]\ncommand_filter.mode = 'on'", 2, "security.command_filter.mode is 'on'."),
        ("[security]\ntools = 1", 2, "security.tools must be a table: [security.tools]."),
        ("[tracking]\noutput_cap_bytes = 3", 2, "tracking.output_cap_bytes must be 1024 or more."),
        ("[tracking]\noutput_cap_bytes = true", 2, "tracking.output_cap_bytes must be a whole number."),
        ("[audit]\nkeep = -1", 2, "audit.keep must be 0 or more."),
        ("[shell]\ntype = 'csh'", 2, "Use one of: auto, bash, zsh, fish."),
        (
            "[servers.a]\nsokcet = 'x'",
            2,
            "servers.a.sokcet is not a key. Did you mean socket? [servers.a] has: ssh",
        ),
        ("[servers]\na = 1", 2, "servers.a must be a table"),
        ("[servers.default]\nsocket = 'x'", 1, "servers.default is not a valid name for a server."),
        ("[ssh]\nremote = 5", 2, "ssh.remote must be a string."),
        ("[ssh]\nremote = ''", 2, "ssh.remote is empty. Give it a value, or leave the key out."),
        ("[audit]\npath = ''", 2, "audit.path is empty."),
        ("[audit]\n\nfull = ''", 3, "audit.full is empty."),
        ("[servers.a]\nsocket = ''", 2, "servers.a.socket is empty."),
        (
            "[security]\nallowed_buffer_paths = ['']",
            2,
            "security.allowed_buffer_paths holds an empty string. Remove it.",
        ),
        ("[security.command_filter]\npatterns = ['ls', '']", 2, "patterns holds an empty string."),
    ],
)
def test_what_is_wrong_is_told_with_file_line_key_and_what_is_allowed(
    config: Any, tmp_path: Path, text: str, line: int, words: str
) -> None:
    with pytest.raises(BadInput) as caught:
        config(text)
    assert str(caught.value).startswith(f"{tmp_path}/config.toml:{line}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize("flag", ["audit", "audit_full"])
def test_a_log_that_is_asked_for_without_a_path_is_refused(flag: str) -> None:
    with pytest.raises(BadInput, match=f"^--{flag.replace('_', '-')} is empty"):
        load_settings({}, **{flag: ""})  # type: ignore[arg-type]
    assert load_settings({"TMUX_DEBUG_AUDIT": "", "TMUX_DEBUG_AUDIT_FULL": ""}).audit.path is None


@pytest.mark.parametrize("text", ["[security", "a = ", "[a]\n[a]", "x = '''"])
def test_a_file_that_is_no_toml_is_refused_with_its_line(config: Any, text: str) -> None:
    with pytest.raises(BadInput, match=r"config\.toml: .*line|end of document"):
        config(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.toml cannot be read: No such file"):
        load_settings({}, config=str(tmp_path / "none.toml"))
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="not UTF-8"):
        load_settings({"TMUX_MCP_CONFIG": str(tmp_path / "bytes")})


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_bytes(b"\xef\xbb\xbf[shell]\ntype = 'zsh'\n")
    assert load_settings({}, config=str(tmp_path / "c.toml")).shell_type == "zsh"


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 100_000])
def test_a_value_that_no_parser_can_read_is_an_error_with_the_name_of_the_file(
    tmp_path: Path, value: str
) -> None:
    (tmp_path / "c.toml").write_text(f"[tracking]\ncompleted_max_entries = {value}\n")
    with pytest.raises(BadInput, match=r"c\.toml cannot be read: it has a number"):
        load_settings({}, config=str(tmp_path / "c.toml"))


def test_environment_and_flags_win_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("[shell]\ntype = 'zsh'\n[audit]\npath = '/f'\nfull = '/f'\n")
    environment = {"TMUX_MCP_CONFIG": str(path), "TMUX_DEBUG_AUDIT": "/e", "TMUX_DEBUG_AUDIT_FULL": "/e"}
    found = load_settings(environment)
    assert (found.shell_type, found.audit.path, found.audit.full) == ("zsh", "/e", "/e")
    found = load_settings(environment, shell_type="fish", audit="/g", audit_full="/g")
    assert (found.shell_type, found.audit.path, found.audit.full) == ("fish", "/g", "/g")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("deny:kill-pane,@raw-input", ToolFilter("deny", ("kill-pane", "@raw-input"))),
        ("allow: @read , send-keys", ToolFilter("allow", ("@read", "send-keys"))),
        ("kill-pane, kill-window", ToolFilter("deny", ("kill-pane", "kill-window"))),
        ("allow:", ToolFilter("allow", ())),
        ("  ", ToolFilter()),
        ("", ToolFilter()),
    ],
)
def test_one_process_can_have_other_tools(text: str, wanted: ToolFilter) -> None:
    assert load_settings({"TMUX_MCP_TOOLS": text}).security.tools == wanted


def test_another_mode_for_tools_is_refused() -> None:
    with pytest.raises(BadInput, match="TMUX_MCP_TOOLS has the mode 'permit'"):
        load_settings({"TMUX_MCP_TOOLS": "permit:a"})


@pytest.mark.parametrize(
    ("environment", "flag", "wanted"),
    [
        ({}, None, "warning"),
        ({"MUXPILOT_LOG": ""}, None, "warning"),
        ({"MUXPILOT_LOG": "debug:shells,watch"}, None, "debug:shells,watch"),
        ({"MUXPILOT_LOG": "debug"}, "info", "info"),
        ({"MUXPILOT_LOG": "nonsense"}, "info", "info"),
    ],
)
def test_the_log_level_is_the_flag_or_the_variable(
    environment: dict[str, str], flag: str | None, wanted: str
) -> None:
    assert load_settings(environment, log_level=flag).log_level == wanted


@pytest.mark.parametrize(
    ("environment", "flag", "words"),
    [
        (
            {"MUXPILOT_LOG": "loud"},
            None,
            "MUXPILOT_LOG: 'loud' is not a log level. Use one of: warning, info,",
        ),
        (
            {},
            "debug:x",
            "--log-level: 'x' is not an area of the log. Use some of: tmux, processes, journal, jobs,",
        ),
        ({}, "", "--log-level is empty."),
    ],
)
def test_a_bad_log_level_is_refused_with_what_is_allowed(
    environment: dict[str, str], flag: str | None, words: str
) -> None:
    with pytest.raises(BadInput) as refused:
        load_settings(environment, log_level=flag)
    assert str(refused.value).startswith(words)


@pytest.mark.parametrize(
    ("environment", "flag", "wanted"),
    [
        ({}, None, None),
        ({"MUXPILOT_WORKSPACE": ""}, None, None),
        ({"MUXPILOT_WORKSPACE": "team"}, None, "team"),
        ({"MUXPILOT_WORKSPACE": "team"}, "other.1", "other.1"),
        ({"MUXPILOT_WORKSPACE": "no name"}, "other", "other"),
    ],
)
def test_the_workspace_is_the_flag_or_the_variable(
    environment: dict[str, str], flag: str | None, wanted: str | None
) -> None:
    assert load_settings(environment, workspace=flag).workspace_name == wanted


@pytest.mark.parametrize("name", ["a b", "a:b", "-t", "..", "#(x)", "$0", "x" * 65, "é"])
def test_a_workspace_that_is_no_name_is_refused(name: str) -> None:
    for environment, flag, source in (
        ({}, name, "--workspace"),
        ({"MUXPILOT_WORKSPACE": name}, None, "MUXP"),
    ):
        with pytest.raises(BadInput) as refused:
            load_settings(environment, workspace=flag)
        assert str(refused.value).startswith(source)
        assert "Use letters, digits" in str(refused.value)


def _keys(section: Any, where: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for row in fields(section):
        kind, name = types_of(section)[row.name], f"{where}.{row.name}".lstrip(".")
        found += _keys(kind, name) if is_dataclass(kind) else [(name, row)]
    return found


@pytest.mark.parametrize(("name", "row"), [pair for pair in _keys(Document) if pair[0] != "servers"])
def test_every_key_is_in_the_docs_with_its_default(name: str, row: Any) -> None:
    text = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    section, _, key = name.rpartition(".")
    [line] = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
    assert row.metadata["words"] in line
    default = {True: "true", False: "false", None: "unset", (): "[]"}.get(row.default, str(row.default))
    assert f"| {default} |" in line or f"| `{default}` |" in line
    assert section
    assert key
