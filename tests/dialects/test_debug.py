"""Scope `debug`: create, type into, read, list and kill panes by the ids that it gives them."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope
from muxpilot.dialects.keys_or_text import parse_keys
from tests.contract.test_registry import on_the_wire, tokens
from tests.dialects.conftest import DialectClient, speaking
from tests.rigs.waiting import LIMIT_S, end_server, eventually, is_running
from tests.rigs.wire import TMUX, Place

_PANE = {"type": "string", "description": "Target pane ID"}
SCHEMAS: dict[str, dict[str, Any]] = {
    "tmux_create_pane": {
        "type": "object",
        "properties": {
            "command": {
                "type": "string",
                "description": "Command to run in the pane (e.g., 'RUST_LOG=debug cargo run')",
            },
            "name": {"type": "string", "description": "Optional human-readable name for the pane"},
        },
        "required": ["command"],
    },
    "tmux_send_keys": {
        "type": "object",
        "properties": {
            "pane_id": {
                "type": "string",
                "description": "Target pane ID from tmux_create_pane or tmux_list_panes",
            },
            "keys": {
                "type": "string",
                "description": "Keystrokes to send. Use '^C' for Ctrl-C, 'Enter' for newline.",
            },
        },
        "required": ["pane_id", "keys"],
    },
    "tmux_capture_pane": {
        "type": "object",
        "properties": {
            "pane_id": _PANE,
            "lines": {
                "type": "number",
                "description": "Number of lines to capture (default: 100, max: 1000)",
            },
        },
        "required": ["pane_id"],
    },
    "tmux_kill_pane": {"type": "object", "properties": {"pane_id": _PANE}, "required": ["pane_id"]},
    "tmux_list_panes": {"type": "object", "properties": {}},
}


async def listed(debug: DialectClient) -> list[dict[str, Any]]:
    text = await debug.says("tmux_list_panes")
    return [] if text.startswith("No active panes.") else json.loads(text)


async def has_exited(debug: DialectClient, pane_id: str) -> bool:
    """tmux knows the exit code, on a busy machine a moment later."""
    row = next(row for row in await listed(debug) if row["id"] == pane_id)
    return row["status"] == "exited" and row["exit_code"] is not None


async def test_it_offers_five_tools_by_their_schemas_and_nothing_else(debug: DialectClient) -> None:
    tools = (await debug.wire.result("tools/list"))["tools"]
    assert {tool["name"]: tool["inputSchema"] for tool in tools} == SCHEMAS
    assert (await debug.wire.error("tools/call", {"name": "list-panes", "arguments": {}}))["code"] == -32602
    assert (await debug.wire.error("resources/list"))["code"] == -32601
    assert (await debug.wire.error("prompts/list"))["code"] == -32601


def test_its_tools_are_cheap_to_list() -> None:
    text = on_the_wire(Scope.DEBUG)
    assert len(json.loads(text)["tools"]) == 5
    assert tokens(text) < 1_500


async def test_create_pane_makes_a_window_of_a_session_of_its_own(debug: DialectClient) -> None:
    assert await debug.says("tmux_list_panes") == "No active panes. Use tmux_create_pane to create one."
    first = await debug.says("tmux_create_pane", command="cat", name="server")
    assert first == "Created pane 'server' (id: debug-1) running: cat"
    assert await debug.says("tmux_create_pane", command="cat") == (
        "Created pane 'debug-2' (id: debug-2) running: cat"
    )
    row = "#{session_name} #{window_name} #{window_width}x#{window_height} #{remain-on-exit}"
    windows = debug.place.tmux("list-windows", "-t", f"=debug-{debug.wire.pid}", "-F", row).splitlines()
    name = f"debug-{debug.wire.pid}"
    assert windows == [f"{name} server 200x50 on", f"{name} debug-2 200x50 on"]


async def test_send_keys_types_text_and_presses_keys(debug: DialectClient) -> None:
    await debug.says("tmux_create_pane", command="pwd; exec sh")
    assert str(debug.place.home) in await debug.until("home", "tmux_capture_pane", pane_id="debug-1")
    assert await debug.says("tmux_send_keys", pane_id="debug-1", keys="echo he''llo; #-") == (
        "Sent keys to pane 'debug-1'"
    )
    await debug.until("he''llo; #-", "tmux_capture_pane", pane_id="debug-1")
    await debug.says("tmux_send_keys", pane_id="debug-1", keys="Enter")
    await debug.until("\nhello\n", "tmux_capture_pane", pane_id="debug-1")
    await debug.says("tmux_send_keys", pane_id="debug-1", keys="sleep 1000\n")
    await debug.says("tmux_send_keys", pane_id="debug-1", keys="^C")
    await debug.until("^C", "tmux_capture_pane", pane_id="debug-1")
    hinted = await debug.says("tmux_send_keys", pane_id="debug-1", keys="echo Enter")
    assert hinted.startswith("Sent keys to pane 'debug-1'. 'Enter' at the end was typed as text")


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ("Enter", ("Enter",)),
        ("^C", ("C-c",)),
        ("C-x C-c", ("C-x", "C-c")),
        ("F5", ("F5",)),
        ("^D", ("C-d",)),
        ("C-c", ("C-c",)),
        ("Escape", ("Escape",)),
        ("Up Enter", ("Up", "Enter")),
        ("x", ()),
        ("end", ()),
        ("up", ()),
        ("ls Enter", ()),
        ("Enter ", ()),
        ("-x", ()),
        ("^", ()),
        ("", ()),
    ],
)
def test_what_is_a_key_and_what_is_text(keys: str, wanted: tuple[str, ...]) -> None:
    assert parse_keys(keys) == wanted


async def test_capture_pane_has_the_lines_that_were_asked_for(debug: DialectClient) -> None:
    await debug.says("tmux_create_pane", command="seq 1 200; cat")
    await debug.until("200", "tmux_capture_pane", pane_id="debug-1")
    for count in (1, 10, 50, 150):
        text = await debug.says("tmux_capture_pane", pane_id="debug-1", lines=count)
        assert text.splitlines() == [str(number) for number in range(201 - count, 201)]
    assert len((await debug.says("tmux_capture_pane", pane_id="debug-1")).splitlines()) == 100
    assert len((await debug.says("tmux_capture_pane", pane_id="debug-1", lines=1000)).splitlines()) == 200


async def test_exited_pane_is_listed_and_readable_to_its_last_line(debug: DialectClient) -> None:
    """The last line of the program is shown; tmux's own line about a dead pane is not."""
    await debug.says("tmux_create_pane", command="seq 1 300; echo done && exit 7", name="job")
    await eventually(lambda: has_exited(debug, "debug-1"))
    assert await listed(debug) == [
        {
            "id": "debug-1",
            "name": "job",
            "status": "exited",
            "command": "seq 1 300; echo done && exit 7",
            "exit_code": 7,
        }
    ]
    text = await debug.says("tmux_capture_pane", pane_id="debug-1", lines=3)
    assert text.splitlines() == ["299", "300", "done"]
    assert "has exited" in await debug.fails("tmux_send_keys", pane_id="debug-1", keys="x")


async def test_list_panes_names_every_pane_with_its_state(debug: DialectClient) -> None:
    for name in ("one", "two", "three"):
        await debug.says("tmux_create_pane", command="cat", name=name)
    rows = await listed(debug)
    assert [(row["id"], row["name"], row["status"], row["command"]) for row in rows] == [
        ("debug-1", "one", "running", "cat"),
        ("debug-2", "two", "running", "cat"),
        ("debug-3", "three", "running", "cat"),
    ]


async def test_kill_pane_takes_it_away_and_its_id_is_not_used_again(debug: DialectClient) -> None:
    await debug.says("tmux_create_pane", command="cat", name="keep")
    await debug.says("tmux_create_pane", command="cat", name="gone")
    assert await debug.says("tmux_kill_pane", pane_id="debug-2") == "Killed pane 'debug-2'"
    assert (
        debug.place.tmux("list-windows", "-t", f"=debug-{debug.wire.pid}", "-F", "#{window_name}") == "keep"
    )
    assert [row["id"] for row in await listed(debug)] == ["debug-1"]
    assert "(id: debug-3)" in await debug.says("tmux_create_pane", command="cat")
    for last in ("debug-1", "debug-3"):
        await debug.says("tmux_kill_pane", pane_id=last)
    assert "(id: debug-4)" in await debug.says("tmux_create_pane", command="cat")
    assert [row["id"] for row in await listed(debug)] == ["debug-4"]


async def test_create_pane_lists_what_it_made_even_if_the_caller_did_not_wait(debug: DialectClient) -> None:
    for _ in range(3):
        left = await debug.wire.start_call("tmux_create_pane", command="cat", name="left")
        await debug.wire.notify("notifications/cancelled", {"requestId": left.id})
    await debug.says("tmux_create_pane", command="cat", name="here")
    windows = debug.place.tmux("list-windows", "-t", f"=debug-{debug.wire.pid}", "-F", "#{window_name}")
    assert [row["name"] for row in await listed(debug)] == windows.splitlines()


async def test_a_last_pane_that_several_kill_at_once_is_killed_or_not_found(debug: DialectClient) -> None:
    """tmux ends with its last session. A client need not know that."""
    await debug.says("tmux_create_pane", command="cat")
    asked = [await debug.wire.start_call("tmux_kill_pane", pane_id="debug-1") for _ in range(6)]
    async with asyncio.timeout(LIMIT_S):
        answers = [(await each)["result"]["content"][0]["text"] for each in asked]
    wanted = ("Killed pane 'debug-1'", "Pane 'debug-1' not found. Use tmux_list_panes to see active panes.")
    assert set(answers) <= set(wanted)
    assert wanted[0] in answers


async def test_a_pane_of_a_tmux_that_has_ended_is_not_one_of_the_next(debug: DialectClient) -> None:
    """A new tmux server gives the same ids to other panes."""
    await debug.says("tmux_create_pane", command="cat", name="before")
    end_server(TMUX, debug.place.socket)
    await debug.says("tmux_create_pane", command="cat", name="after")
    assert [row["name"] for row in await listed(debug)] == ["after"]
    assert "not found" in await debug.fails("tmux_kill_pane", pane_id="debug-1")
    assert [row["id"] for row in await listed(debug)] == ["debug-2"]


# What ignores every signal that can be ignored, one of them out of the terminal's reach.
STUBBORN = (
    "trap '' HUP TERM INT; echo $$ > pids; "
    "setsid sh -c 'trap \"\" HUP TERM INT; echo $$ >> pids; while :; do sleep 60; done' & "
    "env -i sh -c 'trap \"\" HUP TERM INT; echo $$ >> pids; while :; do sleep 60; done' & "
    "while :; do sleep 60; done"
)


async def stubborn(debug: DialectClient) -> list[int]:
    await debug.says("tmux_create_pane", command=STUBBORN, name="stubborn")
    pids = debug.place.home / "pids"

    async def written() -> list[int]:
        found = [int(word) for word in pids.read_text().split()] if pids.exists() else []
        return found if len(found) == 3 else []

    found = await eventually(written)
    assert isinstance(found, list)
    assert all(is_running(pid) for pid in found)
    return found


async def test_kill_pane_ends_what_it_started_whatever_that_ignores(debug: DialectClient) -> None:
    await debug.says("tmux_create_pane", command="cat", name="other")
    pids = await stubborn(debug)
    await debug.says("tmux_kill_pane", pane_id="debug-2")
    assert not any(is_running(pid) for pid in pids)
    assert (await listed(debug))[0]["status"] == "running"


MISTAKES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("tmux_send_keys", {"pane_id": "debug-1", "keys": "x"}, "Pane 'debug-1' not found."),
    ("tmux_capture_pane", {"pane_id": "debug-1"}, "Pane 'debug-1' not found."),
    ("tmux_create_pane", {}, "The argument 'command' is missing."),
    ("tmux_create_pane", {"command": " "}, "The argument 'command' is empty."),
    ("tmux_create_pane", {"command": "cat", "name": "a\x1bb"}, "The name holds the control character"),
    ("tmux_create_pane", {"command": "cat", "socket": "/tmp/x"}, "There is no argument 'socket'."),
    ("tmux_send_keys", {"pane_id": "debug-1"}, "The argument 'keys' is missing."),
    ("tmux_send_keys", {"pane_id": "debug-1", "keys": 5}, "The argument 'keys' must be a string"),
    ("tmux_capture_pane", {"pane_id": "debug-1", "lines": 1001}, "must be from 1 to 1000"),
    ("tmux_capture_pane", {"pane_id": "%0"}, "Pane '%0' not found."),
)


async def test_error_handling_tells_a_mistake_with_what_to_do(debug: DialectClient) -> None:
    for tool, arguments, words in MISTAKES:
        text = await debug.fails(tool, **arguments)
        assert words in text
        assert "list-panes" not in text
        assert ".." not in text
    assert await debug.fails("tmux_kill_pane", pane_id="debug-1") == (
        "Pane 'debug-1' not found. Use tmux_list_panes to see active panes."
    )


async def test_calls_that_do_not_wait_for_each_other_are_served_in_order(debug: DialectClient) -> None:
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("tmux_create_pane", {"command": "cat", "name": "first"}),
        ("tmux_send_keys", {"pane_id": "debug-1", "keys": "x"}),
        ("tmux_create_pane", {"command": "cat"}),
        ("tmux_list_panes", {}),
        ("tmux_kill_pane", {"pane_id": "debug-1"}),
        ("tmux_list_panes", {}),
        ("tmux_capture_pane", {"pane_id": "debug-1"}),
    )
    started = [await debug.wire.start_call(tool, **arguments) for tool, arguments in calls]
    told = [(await pending)["result"]["content"][0]["text"] for pending in started]
    assert told[1] == "Sent keys to pane 'debug-1'"
    lists = [[row["id"] for row in json.loads(told[at])] for at in (3, 5)]
    assert lists == [["debug-1", "debug-2"], ["debug-2"]]
    assert "not found" in told[6]


async def test_a_persons_panes_are_nobodys_business(debug: DialectClient) -> None:
    debug.place.tmux("new-session", "-d", "-s", "person", "cat")
    await debug.says("tmux_create_pane", command="cat")
    assert [row["id"] for row in await listed(debug)] == ["debug-1"]
    pane = debug.place.tmux("list-panes", "-t", "=person:", "-F", "#{pane_id}")
    assert "not found" in await debug.fails("tmux_kill_pane", pane_id=pane)


async def test_audit_log_tells_every_call_by_its_name_and_pane(place: Place) -> None:
    log, kept = place.home / "deep" / "audit.log", place.home / "kept"
    log.parent.mkdir()
    async with speaking(place, "debug", "--audit", str(log), "--audit-full", str(kept)) as debug:
        await debug.says("tmux_create_pane", command="echo ready; cat", name="server")
        await debug.until("ready", "tmux_capture_pane", pane_id="debug-1", lines=200)
        await debug.says("tmux_send_keys", pane_id="debug-1", keys="hello")
        await debug.fails("tmux_kill_pane", pane_id="debug-9")
        await debug.says("tmux_list_panes")
        await debug.says("tmux_kill_pane", pane_id="debug-1")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert all(line["ts"].endswith("Z") for line in lines)
    by_tool = {line["tool"]: line for line in lines if line["ok"]}
    assert list(by_tool["create_pane"])[:5] == ["ts", "tool", "pane_id", "command", "name"]
    assert _contains(by_tool["create_pane"], pane_id="debug-1", command="echo ready; cat", name="server")
    assert _contains(by_tool["capture_pane"], pane_id="debug-1", lines=200, output_bytes=5)
    assert _contains(by_tool["send_keys"], pane_id="debug-1", keys="hello", native="send-keys")
    assert _contains(by_tool["kill_pane"], pane_id="debug-1")
    assert "pane_id" not in by_tool["list_panes"]
    [failed] = [line for line in lines if not line["ok"]]
    assert _contains(failed, tool="kill_pane", pane_id="debug-9", error="not-found")
    assert "ready" not in log.read_text().replace("echo ready", "")
    captures = sorted(path.name for path in kept.iterdir())
    assert captures[0] == "debug-1-capture-001.txt"
    assert (kept / captures[-1]).read_text() == "ready"


def _contains(line: dict[str, Any], **wanted: object) -> bool:
    return {name: line.get(name) for name in wanted} == wanted


async def test_the_policy_knows_the_tools_by_their_native_names(place: Place) -> None:
    config = place.home / "config.toml"
    config.write_text('[security]\nallow_kill = false\n[security.command_filter]\nmode = "denylist"\n')
    config.write_text(config.read_text() + 'patterns = ["^rm "]\n')
    async with speaking(place, "debug", "--config", str(config)) as debug:
        tools = (await debug.wire.result("tools/list"))["tools"]
        assert "tmux_kill_pane" not in [tool["name"] for tool in tools]
        await debug.says("tmux_create_pane", command="cat")
        assert "security.allow_kill" in await debug.fails("tmux_kill_pane", pane_id="debug-1")
        assert "command_filter" in await debug.fails("tmux_create_pane", command="true; rm -rf x")
        assert "command_filter" in await debug.fails("tmux_send_keys", pane_id="debug-1", keys="rm x\n")


def test_other_scopes_do_not_load_the_dialects() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from muxpilot.app import build; from muxpilot.config.model import Settings; "
        "build(Settings(socket='/tmp/mx-none/s')); "
        "sys.exit(any(name.startswith('muxpilot.dialects') for name in sys.modules))"
    )
    assert Settings().scope is Scope.AGENTIC
    environment = {"PATH": os.environ["PATH"], "HOME": str(Path("/tmp"))}
    assert subprocess.run([sys.executable, "-c", code], check=False, env=environment).returncode == 0
