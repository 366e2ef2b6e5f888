"""The audit of real calls: denials, failures, resources, captures, and no password."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from muxpilot.app import App, build
from muxpilot.config.flags import load_settings
from tests.rigs.mcp_client import serving
from tests.rigs.waiting import end_server, eventually

TMUX = shutil.which("tmux") or "tmux"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
async def app(folder: Path) -> AsyncIterator[App]:
    """Yield an application with an audit log."""
    app = build(
        load_settings(
            {},
            scope="all",
            socket=str(folder / "s"),
            audit=str(folder / "log"),
            audit_full=str(folder / "full"),
        )
    )
    yield app
    await app.close()
    end_server(TMUX, str(folder / "s"))


async def open_prompt(app: App, command: str, prompt: str) -> str:
    """Open a pane in which a program shows a prompt."""
    made = await app.dispatch.call("create-session", {"command": command})
    assert made.structured is not None, made.text
    pane = made.structured["paneId"]

    async def shows_prompt() -> bool:
        return prompt in (await app.dispatch.call("capture-pane", {"paneId": pane})).text

    await eventually(shows_prompt)
    return str(pane)


@pytest.mark.parametrize(
    "command",
    [
        "stty -echo; printf 'What? '; read -r x; stty echo; cat",
        "stty raw -echo; printf 'joe@far password: '; cat >/dev/null",
    ],
)
async def test_what_is_typed_where_a_password_is_asked_for_is_not_written(
    app: App, folder: Path, command: str
) -> None:
    pane = await open_prompt(app, command, "What?" if "What" in command else "password:")
    for tool, arguments in (
        ("send-keys", {"keys": "hunter2"}),
        ("paste-text", {"content": "hunter2"}),
        ("send-hex", {"hex": "68 75 6e"}),
    ):
        answer = await app.dispatch.call(tool, {"paneId": pane, **arguments})
        assert not answer.is_error, answer.text
    text = (folder / "log").read_text()
    assert "hunter2" not in text
    assert "68 75 6e" not in text
    assert [line.get("keys") for line in lines_of(folder / "log") if line["tool"] == "send-keys"] == [
        "[secret]"
    ]


async def test_a_password_that_is_refused_is_not_written_either() -> None:
    toml = "[security.command_filter]\nmode = 'allowlist'\npatterns = ['^ls']\n[audit]\npath = 'audit.log'\n"
    async with serving("all", config=toml) as rig:
        rig.raw("new-session", "-d", "-s", "asks", "stty -echo; printf 'What? '; read -r x")

        async def is_hidden() -> bool:
            return "What?" in (await rig.text("capture-pane", paneId="asks"))

        await eventually(is_hidden)
        await rig.fails("send-keys", paneId="asks", keys="hunter2", enter=True)
        await rig.fails("send-keys", paneId="asks", keys="hunter2 Enter", literal=False)
        lines = [line for line in lines_of(rig.folder / "audit.log") if line["tool"] == "send-keys"]
    assert [(line["ok"], line["keys"], line["reason"]) for line in lines] == [
        (False, "[secret]", "[secret]"),
        (False, "[secret]", "[secret]"),
    ]


async def test_what_is_typed_elsewhere_is_written(app: App, folder: Path) -> None:
    pane = await open_prompt(app, "echo hello; cat", "hello")
    await app.dispatch.call("send-keys", {"paneId": pane, "keys": "plain", "enter": True})
    [line] = [line for line in lines_of(folder / "log") if line["tool"] == "send-keys"]
    assert (line["paneId"], line["keys"], line["enter"], line["ok"]) == (pane, "plain", True, True)
    assert line["ms"] >= 0


async def test_a_call_that_names_no_pane_is_written_with_the_pane_that_it_meant(
    app: App, folder: Path
) -> None:
    opened = await app.dispatch.call("execute-command", {"command": "true"})
    assert opened.structured is not None, opened.text
    await app.dispatch.call("execute-command", {"command": "true"})
    await app.dispatch.call("capture-pane", {})
    lines = lines_of(folder / "log")
    assert [line.get("paneId") for line in lines] == [opened.structured["paneId"]] * 3


async def test_a_command_and_a_watch_are_named_by_their_ids(app: App, folder: Path) -> None:
    made = await app.dispatch.call("create-session", {})
    assert made.structured is not None, made.text
    pane = made.structured["paneId"]
    ran = await app.dispatch.call("execute-command", {"paneId": pane, "command": "true"})
    watched = await app.dispatch.call("notify-when", {"paneId": pane, "triggers": "pattern:x"})
    refused = await app.dispatch.call("execute-command", {"paneId": "%999", "command": "true"})
    assert ran.structured is not None
    assert watched.structured is not None
    assert refused.is_error
    _, first, second, third = lines_of(folder / "log")
    assert (first["commandId"], "watchId" in first) == (ran.structured["commandId"], False)
    assert (second["watchId"], "commandId" in second) == (watched.structured["watchId"], False)
    assert "commandId" not in third


async def test_every_capture_is_kept_and_only_counted_in_the_log(app: App, folder: Path) -> None:
    pane = await open_prompt(app, "echo needle; cat", "needle")
    captures = [line for line in lines_of(folder / "log") if line["tool"] == "capture-pane"]
    last = captures[-1]
    assert last["capture"] == f"{pane}-capture-{len(captures):03}.txt"
    assert "needle" in (folder / "full" / last["capture"]).read_text()
    assert last["output_bytes"] == len((folder / "full" / last["capture"]).read_bytes())

    async def is_read() -> bool:
        return "needle" in (await app.dispatch.call("read-pane", {"paneId": pane})).text

    await eventually(is_read)  # the pipe comes later than the screen
    assert "needle" in (folder / "full" / lines_of(folder / "log")[-1]["capture"]).read_text()
    assert "needle" not in "".join(json.dumps(line) for line in captures)


async def test_a_capture_that_cannot_be_kept_leaves_its_line(app: App, folder: Path) -> None:
    pane = await open_prompt(app, "echo needle; cat", "needle")
    shutil.rmtree(folder / "full")
    await app.dispatch.call("capture-pane", {"paneId": pane})
    line = lines_of(folder / "log")[-1]
    assert (line["tool"], line["ok"]) == ("capture-pane", True)
    assert line["capture_lost"] == "No such file or directory"
    assert "capture" not in line


async def test_a_denial_within_a_call_has_its_line() -> None:
    toml = "[security]\nallowed_sessions = ['none']\n[audit]\npath = 'audit.log'\n"
    async with serving("all", config=toml) as rig:
        made = rig.raw("new-session", "-d", "-P", "-F", "#{pane_id}")
        answer = await rig.call("run-on", command="echo hi", panes=[{"paneId": made}])
        lines = lines_of(rig.folder / "audit.log")
    assert answer["failed"] == 1
    denied, whole = lines
    assert (denied["tool"], denied["ok"], denied["error"]) == ("run-on", False, "denied")
    assert denied["command"] == "echo hi"
    assert "security.allowed_sessions" in denied["reason"]
    assert (whole["tool"], whole["ok"]) == ("run-on", True)


async def test_failures_denials_unknown_tools_and_resources_are_written() -> None:
    toml = "[security]\nallow_kill = false\n[audit]\npath = 'audit.log'\n"
    async with serving("all", config=toml) as rig:
        await rig.fails("capture-pane", paneId="%999")
        await rig.fails("kill-pane", paneId="%0")
        await rig.fails("list-panes", windowId=5)
        for name in ("no-such-tool", "tmux://nonsense", "tmux://pane/%999", "tmux://sessions"):
            with suppress(MCPError):
                await (rig.client.read_resource(name) if ":" in name else rig.client.call_tool(name, {}))
        lines = lines_of(rig.folder / "audit.log")
    told = [(line["tool"], line.get("resource"), line["ok"], line.get("error")) for line in lines]
    assert told == [
        ("capture-pane", None, False, "not-found"),
        ("kill-pane", None, False, "denied"),
        ("list-panes", None, False, "bad-input"),
        ("no-such-tool", None, False, "unknown"),
        ("resource", "tmux://nonsense", False, "unknown"),
        ("capture-pane", "tmux://pane/%999", False, "not-found"),
        ("list-sessions", "tmux://sessions", True, None),
    ]
    assert "security.allow_kill" in lines[1]["reason"]
