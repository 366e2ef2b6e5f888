"""The decision alone: groups, allow keys, the order of rules, and input lines."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from muxpilot.config.model import CommandFilter, SecuritySettings, ServerEntry, Settings, ToolFilter
from muxpilot.errors import BadInput
from muxpilot.policy import groups
from muxpilot.policy.decide import CallFacts, ShellText, decide
from muxpilot.policy.input_line import InputLine, InputLines, append_command, apply_strokes
from muxpilot.policy.model import Policy, load_policy
from muxpilot.toolkit.argument_flags import ArgumentFlag, PressedKey
from muxpilot.toolkit.spec import Effect
from muxpilot.tools import TOOLS

OFFERED = [tool for tool in TOOLS if tool.scopes]

# As seed 003 names them; ours stand beside them.
GROUPS = {
    "@socket": "socket-for-path",
    "@list": "list-sessions find-session list-windows list-panes list-clients list-buffers "
    "list-servers list-commands get-current-session",
    "@capture": "capture-pane read-pane search-panes wait-for-pane-change watch-pane",
    "@buffer-read": "list-buffers show-buffer search-buffer subsearch-buffer",
    "@buffer-write": "save-buffer load-buffer delete-buffer set-buffer append-buffer rename-buffer",
    "@create": "create-session create-window",
    "@split": "split-pane",
    "@kill": "kill-session kill-window kill-pane detach-client",
    "@rename": "rename-session rename-window rename-pane",
    "@move": "move-window select-window select-pane resize-pane zoom-pane select-layout join-pane break-pane "
    "swap-pane set-synchronize-panes",
    "@execute": "execute-command get-command-result start-and-watch",
    "@interactive": "send-keys send-hex paste-text",
    "@special-keys": "send-enter send-up send-tab send-escape send-backspace send-cancel send-eof send-home",
    "@raw-input": "send-keys send-hex paste-text send-enter send-up",
    "@read": "list-panes capture-pane socket-for-path list-buffers show-buffer get-command-result read-pane",
    "@all": "kill-session list-panes send-keys",
}

# Each key with a tool that it closes and one that it leaves.
GATES = {
    "allow_execute_command": ("execute-command", "send-keys"),
    "allow_send_keys": ("send-enter", "kill-pane"),
    "allow_kill": ("kill-session", "create-session"),
    "allow_create": ("create-window", "split-pane"),
    "allow_split": ("split-pane", "create-window"),
    "allow_rename": ("rename-pane", "select-pane"),
    "allow_move": ("zoom-pane", "rename-pane"),
    "allow_capture": ("read-pane", "list-buffers"),
    "allow_list": ("list-panes", "capture-pane"),
}


def policy(**keys: Any) -> Policy:
    return load_policy(Settings(security=SecuritySettings(**keys)), TOOLS)


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_holds_the_tools_that_its_name_says(group: str) -> None:
    assert set(GROUPS[group].split()) <= groups.group_members(group, OFFERED)


def test_every_tool_is_in_a_known_group_and_every_group_has_a_row_here() -> None:
    for tool in TOOLS:
        assert {*tool.groups} <= set(groups.ALLOW_KEYS), tool.name
    ours = {"@display", "@track", "@watch"}
    assert set(groups.group_names()) == set(GROUPS) | ours


@pytest.mark.parametrize("group", ["@read", "@list"])
def test_groups_for_reading_hold_nothing_that_changes_anything(group: str) -> None:
    members = groups.group_members(group, OFFERED)
    assert members
    assert all(tool.effect is Effect.READ for tool in OFFERED if tool.name in members)


@pytest.mark.parametrize("key", GATES)
def test_a_key_closes_its_tools_and_no_others(key: str) -> None:
    closed, left = GATES[key]
    found = policy(**{key: False}).closing_keys
    assert found[closed] == f"security.{key}"
    assert left not in found


def test_there_is_a_row_for_every_key_that_closes_tools() -> None:
    keys = {row.name for row in fields(SecuritySettings) if row.name.startswith("allow_")}
    assert keys == {*GATES, "allow_raw_mode", "allow_foreign"}


def test_without_capture_nothing_shows_what_a_pane_shows() -> None:
    closed = policy(allow_capture=False).closing_keys
    shows = {
        tool.name for tool in OFFERED if tool.group in ("capture", "watch", "buffer-read", "buffer-write")
    }
    assert shows <= set(closed)
    assert {"capture-pane", "watch-pane", "start-and-watch", "show-buffer", "save-buffer"} <= set(closed)


@pytest.mark.parametrize(
    ("mode", "items", "closed", "left"),
    [
        ("deny", ("kill-pane",), {"kill-pane"}, {"kill-window", "list-panes"}),
        ("deny", ("@raw-input",), {"send-keys", "send-up"}, {"execute-command"}),
        ("allow", ("@read", "send-keys"), {"kill-pane", "paste-text"}, {"send-keys", "capture-pane"}),
        ("allow", (), {"list-panes"}, set()),
        ("deny", ("@all",), {"list-panes", "kill-pane"}, set()),
        ("deny", (), set(), {"kill-pane"}),
    ],
)
def test_tools_are_closed_by_name_and_by_group(
    mode: str, items: tuple[str, ...], closed: set[str], left: set[str]
) -> None:
    found = policy(tools=ToolFilter(mode, items)).closing_keys
    assert closed <= set(found)
    assert not left & set(found)
    assert set(found.values()) <= {"security.tools"}


@pytest.mark.parametrize("item", ["kill-pnae", "@nothing", "", "@", "KILL-PANE", "server-info"])
def test_a_tool_or_group_that_is_none_is_told_at_the_start(item: str) -> None:
    with pytest.raises(BadInput, match="there is no tool or group"):
        policy(tools=ToolFilter("deny", (item,)))
    with pytest.raises(BadInput, match="there is no tool or group"):
        policy(enabled=False, tools=ToolFilter("deny", (item,)))


def test_a_pattern_that_is_none_is_told_at_the_start() -> None:
    with pytest.raises(BadInput, match=r"security\.command_filter\.patterns: '\(' is not a pattern"):
        policy(command_filter=CommandFilter("denylist", ("(",)))


ALL_DENY = replace(
    policy(allow_kill=False, allowed_sockets=(), allowed_sessions=(), allowed_panes=()),
    commands=policy(command_filter=CommandFilter("allowlist", ("^$",))).commands,
)
FACTS = CallFacts(
    "kill-pane",
    "/tmp/s",
    sessions=(frozenset({"$1", "dev"}),),
    panes=(frozenset({"%1"}),),
    texts=(ShellText("ls"),),
)


def test_rules_are_asked_in_order_tool_server_session_pane_content() -> None:
    steps: list[tuple[str, dict[str, Any]]] = [
        ("security.allow_kill", {"closing_keys": {}}),
        ("security.allowed_sockets", {"sockets": None}),
        ("security.allowed_sessions", {"sessions": None}),
        ("security.allowed_panes", {"panes": None}),
        ("security.command_filter", {"commands": None}),
    ]
    rules = ALL_DENY
    for key, without in steps:
        verdict = decide(rules, FACTS)
        assert (verdict.is_allowed, verdict.key) == (False, key)
        rules = replace(rules, **without)
    assert decide(rules, FACTS).is_allowed


def test_own_pane_is_protected_even_where_security_is_off() -> None:
    off = policy(enabled=False, allow_kill=False, allowed_sockets=())
    assert decide(off, FACTS) == replace(decide(off, FACTS), is_allowed=True, key="security.enabled")
    verdict = decide(off, replace(FACTS, own_pane="%1"))
    assert not verdict.is_allowed
    assert verdict.key == "own-pane protection"


@pytest.mark.parametrize(
    ("keys", "facts", "key"),
    [
        ({"allow_raw_mode": False}, {"is_raw": True}, "security.allow_raw_mode"),
        ({"allow_kill": False}, {"tool": "respawn-pane", "kills": True}, "security.allow_kill"),
        (
            {"allow_create": False},
            {"tool": "start-and-watch", "makes_session": True},
            "security.allow_create",
        ),
        ({"allowed_panes": ("%1",)}, {"tool": "split-pane", "makes_pane": True}, "security.allowed_panes"),
        ({"allowed_sessions": ("dev",)}, {"sessions": (frozenset(),)}, "security.allowed_sessions"),
        (
            {"allowed_sessions": ("dev",)},
            {"sessions": (frozenset({"$2", "d"}),)},
            "security.allowed_sessions",
        ),
        ({"allowed_sessions": ("$1",)}, {}, None),
        ({"allowed_sessions": ("dev",)}, {}, None),
        ({"allowed_panes": ("dev:0.0",)}, {"panes": (frozenset({"%1", "dev:0.0"}),)}, None),
        ({"allowed_sockets": ("/tmp/../tmp/s",)}, {}, None),
        ({"allowed_sockets": ("/tmp/t",)}, {"tool": "socket-for-path", "reaches_server": False}, None),
        ({"allowed_sockets": ("/tmp/t",)}, {"tool": "server-info"}, "security.allowed_sockets"),
        ({"allow_list": False}, {"tool": "session-tree"}, "security.allow_list"),
        ({"allow_capture": False}, {"tool": "pane-info"}, "security.allow_capture"),
    ],
)
def test_a_denial_names_its_key(keys: dict[str, Any], facts: dict[str, Any], key: str | None) -> None:
    verdict = decide(policy(**keys), replace(FACTS, **{"tool": "list-panes", **facts}))
    assert (verdict.key if not verdict.is_allowed else None) == key


def test_a_server_may_be_allowed_by_its_name() -> None:
    settings = Settings(
        security=SecuritySettings(allowed_sockets=("build",)), servers={"build": ServerEntry(socket="/tmp/s")}
    )
    assert load_policy(settings, TOOLS).allows_socket("/tmp/s")
    assert not load_policy(settings, TOOLS).allows_socket("/tmp/t")


def keys(words: str) -> list[str]:
    return [PressedKey(word) for word in words.split()]


@pytest.mark.parametrize(
    ("strokes", "wanted"),
    [
        (["ls"], []),
        (["ls\n"], ["ls"]),
        (["ls", PressedKey("Enter")], ["ls"]),
        (["ls\rpwd\r\n"], ["ls", "pwd"]),
        (keys("r m Space x Enter"), ["rm x"]),
        (keys("r m C-m"), ["rm"]),
        (keys("r m C-j"), ["rm"]),
        (keys("r m KPEnter"), ["rm"]),
        (["rmm", PressedKey("BSpace"), " x\n"], ["rm x"]),
        (["nothing", PressedKey("C-u"), "rm x\n"], ["rm x"]),
        (["nothing", PressedKey("C-c"), "rm x\n"], ["rm x"]),
        (["rm \\\nx\n"], ["rm \\", "x", "rm \\\nx"]),
        (
            ["if true\nthen rm x\nfi\n"],
            ["if true", "then rm x", "if true\nthen rm x", "fi", "if true\nthen rm x\nfi"],
        ),
        (["\n"], [""]),
    ],
)
def test_a_line_is_what_the_keys_leave_there(strokes: list[str], wanted: list[str]) -> None:
    texts, _ = apply_strokes(InputLine(), strokes)
    assert [text.text for text in texts] == wanted
    assert all(text.problem is None for text in texts)


@pytest.mark.parametrize("key", ["Up", "Tab", "C-r", "Left", "C-p", "Escape", "M-x", "C-y", "F1", "Home"])
def test_a_line_with_a_key_that_recalls_or_moves_is_not_known(key: str) -> None:
    texts, line = apply_strokes(InputLine(), ["ls", PressedKey(key), PressedKey("Enter")])
    assert texts[-1].problem is not None
    assert "cannot be judged" in texts[-1].problem
    assert line == InputLine()


@pytest.mark.parametrize("key", ["C-c", "C-u", "BSpace", "C-h", "\x03", "\x15", "\x7f", "\x08"])
def test_a_key_that_takes_nothing_back_leaves_a_line_that_is_not_known(key: str) -> None:
    line = apply_strokes(InputLine("rm x"), [PressedKey(key)], frozenset())[1]
    assert not line.is_known
    assert apply_strokes(InputLine(), [PressedKey(key)], frozenset())[1] == InputLine()
    assert apply_strokes(InputLine("rm x"), [PressedKey(key)])[1].is_known


@pytest.mark.parametrize(
    ("pair", "is_refused"),
    [
        ("PROMPT_COMMAND=rm x", True),
        ("PS1=$(rm x)", True),
        ("A=$(rm x)", True),
        ("BASH_FUNC_ls%%=() { rm x; }", True),
        ("PROMPT_COMMAND=" + "echo;" * 5000, True),
        ("A=rm x", False),
        ("PROMPT_COMMAND=ls", False),
        ("A=" + "{}" * 5000, False),
        ("PATH=/bin", False),
    ],
)
def test_a_variable_is_judged_by_what_a_shell_would_run_of_it(pair: str, *, is_refused: bool) -> None:
    rule = policy(command_filter=CommandFilter("denylist", (r"^rm\b",))).commands
    assert rule is not None
    assert (rule.find_variable_denial(pair) is not None) is is_refused


def test_an_allowlist_judges_variables_that_change_what_runs() -> None:
    rule = policy(command_filter=CommandFilter("allowlist", ("^ls$",))).commands
    assert rule is not None
    assert rule.find_variable_denial("A=rm x") is None
    assert rule.find_variable_denial("PATH=/tmp") is not None


@pytest.mark.parametrize("key", ["Escape", "M-a", "M-Enter", "C-Enter", "C-x", "F5", "C-v"])
def test_a_key_that_may_enter_the_line_is_judged_as_if_it_did(key: str) -> None:
    texts, line = apply_strokes(InputLine("rm x"), [PressedKey(key)])
    assert [text.text for text in texts] == ["rm x"]
    assert not line.is_known
    [text] = apply_strokes(line, [PressedKey(key)])[0]
    assert text.problem is not None


def test_sequences_that_stand_for_enter_are_judged() -> None:
    for sequence in ("\x1b[13u", "\x1b[13;1u", "\x1bOM", "\x1b\r"):
        texts, _ = apply_strokes(InputLine(), ["rm x", sequence])
        assert texts[0].text == "rm x"


def test_what_was_typed_before_counts_for_the_next_call() -> None:
    typed = InputLines()
    _, line = apply_strokes(typed.get("/s", "%1"), ["r"])
    typed.set("/s", "%1", line)
    _, line = apply_strokes(typed.get("/s", "%1"), keys("m Space"))
    typed.set("/s", "%1", line)
    texts, _ = apply_strokes(typed.get("/s", "%1"), ["x", PressedKey("Enter")])
    assert [text.text for text in texts] == ["rm x"]
    assert typed.get("/s", "%2") == InputLine()
    text, after = append_command(line, "true", enters=True, is_raw=False)
    assert (text.text, after) == ("rm true", InputLine())


@pytest.mark.parametrize(
    "strokes",
    [["x" * 20_001 + "\n"], ["a\n" * 300], ["ls", *[PressedKey("Left")] * 30_000], ["it's\n" * 300]],
)
def test_more_than_can_be_judged_at_once_is_not_known(strokes: list[str]) -> None:
    texts, _ = apply_strokes(InputLine(), strokes)
    assert any(text.problem is not None for text in texts)


def test_text_that_is_never_shell_does_not_pile_up() -> None:
    line = InputLine()
    for _ in range(100):
        texts, line = apply_strokes(line, ["it's a line of prose\n"])
        assert all(text.problem is None for text in texts)
    assert len(line.unfinished) <= 1000


def test_the_end_of_input_leaves_an_empty_line_empty() -> None:
    assert apply_strokes(InputLine(), keys("C-d"))[1] == InputLine()
    assert not apply_strokes(InputLine("ls"), keys("C-d"))[1].is_known


@pytest.mark.parametrize("group", groups.group_names())
def test_every_group_is_in_the_docs(group: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / "policy.md").read_text()
    [row] = [line for line in text.splitlines() if line.startswith(f"| `{group}` |")]
    keys = {groups.ALLOW_KEYS.get(group.removeprefix("@"))} - {None}
    assert all(f"`{key}`" in row for key in keys)


@pytest.mark.parametrize("group", groups.ALLOW_KEYS)
def test_every_tool_of_a_group_is_in_the_docs(group: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / "policy.md").read_text()
    [row] = [line for line in text.splitlines() if line.startswith(f"| `@{group}` |")]
    wanted = {tool.name for tool in OFFERED if group in tool.groups}
    assert set(re.findall(r"(?<!@)\b[a-z]+(?:-[a-z]+)+\b", row.split(" | ")[1])) == wanted


def test_lines_of_many_panes_do_not_pile_up() -> None:
    typed = InputLines()
    for number in range(3000):
        typed.set("/s", f"%{number}", InputLine("x"))
    assert typed.get("/s", "%0") == InputLine()
    assert typed.get("/s", "%2999") == InputLine("x")


@pytest.mark.parametrize("tool", OFFERED, ids=lambda tool: tool.name)
def test_everything_that_ends_at_a_shell_is_declared(tool: Any) -> None:
    marked = {row.name for row in tool.arguments if row.flags & {ArgumentFlag.SHELL, ArgumentFlag.LINES}}
    ends_at_shell = {row.name for row in tool.arguments} & {"command", "input"}
    assert marked == ends_at_shell
    presses_keys = tool.group in ("interactive", "special-keys") or tool.name == "cancel-command"
    assert (tool.typed_input is not None) is presses_keys
