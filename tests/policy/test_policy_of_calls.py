"""The policy on a real tmux: a denied call has no effect, and lists show only what is allowed."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from muxpilot.resources import ResourceFailed
from tests.rigs.policies import AppUnderPolicy, Policy, PolicyPlace
from tests.rigs.waiting import eventually

# Servers


async def test_an_allowed_socket_is_the_one_that_takes_effect(under: Policy, place: PolicyPlace) -> None:
    async with under('[security]\nallowed_sockets = ["/tmp/none"]') as it:
        await it.check_denied("security.allowed_sockets", "list-sessions")
        await it.check_denied("security.allowed_sockets", "list-sessions", socket=place.socket)
        await it.check_denied("security.allowed_sockets", "send-keys", paneId="dev:first", keys="x")
        assert (await it.call("list-servers"))["servers"] == []
        assert "socket" in await it.call("socket-for-path", path="/tmp")
        with pytest.raises(ResourceFailed, match="allowed_sockets"):
            await it.app.resources.read("tmux://server/info")
    async with under('[security]\nallowed_sockets = ["SOCKET"]') as it:
        assert (await it.call("list-sessions"))["sessions"]
        await it.check_denied("security.allowed_sockets", "list-sessions", socket="/tmp/none")


async def test_an_empty_list_allows_nothing(under: Policy, place: PolicyPlace) -> None:
    async with under("[security]\nallowed_sockets = []") as it:
        await it.check_denied("security.allowed_sockets", "list-sessions")
    async with under("[security]\nallowed_sessions = []") as it:
        assert (await it.call("list-sessions"))["sessions"] == []
        await it.check_denied("security.allowed_sessions", "capture-pane", paneId=place.panes["one"])
    async with under("[security]\nallowed_panes = []") as it:
        assert (await it.call("list-panes"))["panes"] == []
        await it.check_denied("security.allowed_panes", "capture-pane", paneId=place.panes["one"])


async def test_a_server_can_be_named(under: Policy) -> None:
    toml = '[servers.here]\nsocket = "SOCKET"\n[servers.far]\nssh = "-F /dev/null -p 1 user@127.0.0.1"\n'
    async with under(toml) as it:
        assert (await it.call("list-sessions", socket="here"))["sessions"]
        rows = {row["name"]: row for row in (await it.call("list-servers"))["servers"]}
        assert [rows[name]["state"] for name in ("default", "here")] == ["connected", "connected"]
        assert (rows["far"]["ssh"], rows["far"]["state"]) == (
            "-F /dev/null -p 1 user@127.0.0.1",
            "unreachable",
        )
        answer = await it.app.dispatch.call("list-sessions", {"socket": "far"})
        assert answer.error == "unreachable"
        assert answer.text.startswith("user@127.0.0.1 cannot be reached: ")


# Sessions


@pytest.mark.parametrize("how", ["dev", "$0"])
async def test_lists_show_only_allowed_sessions(under: Policy, place: PolicyPlace, how: str) -> None:
    dev = place.raw("display-message", "-p", "-t", "dev:", "#{session_id}") if how == "$0" else how
    async with under(f'[security]\nallowed_sessions = ["{dev}"]') as it:
        assert [row["name"] for row in (await it.call("list-sessions"))["sessions"]] == ["dev"]
        assert {row["sessionName"] for row in (await it.call("list-windows"))["windows"]} == {"dev"}
        shown = {row["id"] for row in (await it.call("list-panes"))["panes"]}
        assert shown == {place.panes[name] for name in ("one", "two", "three")}
        assert {m["paneId"] for m in (await it.call("search-panes", query="$"))["matches"]} <= shown
        uris = {entry.uri for entry in await it.app.resources.list()}
        assert f"tmux://pane/%25{place.panes['one'][1:]}" in uris
        assert f"tmux://pane/%25{place.panes['far'][1:]}" not in uris
        answer = await it.app.dispatch.call("find-session", {"name": "oth*"})
        assert answer.error == "not-found"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("capture-pane", {"paneId": "other:0.0"}),
        ("send-keys", {"paneId": "other:0.0", "keys": "x"}),
        ("kill-session", {"sessionId": "other"}),
        ("kill-window", {"windowId": "other:0"}),
        ("kill-pane", {"paneId": "other:0.0"}),
        ("rename-session", {"sessionId": "other", "name": "mine"}),
        ("create-window", {"sessionId": "other"}),
        ("split-pane", {"paneId": "other:0.0"}),
        ("move-window", {"windowId": "dev:second", "targetSessionId": "other"}),
        ("join-pane", {"sourcePaneId": "other:0.0", "targetPaneId": "dev:first.0"}),
        ("swap-pane", {"sourcePaneId": "dev:first.0", "targetPaneId": "other:0.0"}),
        ("search-panes", {"query": "x", "paneIds": ["dev:first.0", "other:0.0"]}),
        ("list-panes", {"sessionId": "other"}),
        ("create-session", {"name": "third"}),
        ("create-session", {}),
        ("start-and-watch", {"command": "true", "pattern": "x"}),
    ],
)
async def test_what_reaches_another_session_is_refused_and_changes_nothing(
    under: Policy, place: PolicyPlace, tool: str, arguments: dict[str, Any]
) -> None:
    windows = "#{session_id} #{window_id} #{window_index} #{window_name} #{window_active} #{window_layout}"
    before = place.ids("session_name"), place.ids("pane_id"), place.rows("list-windows", windows)
    async with under('[security]\nallowed_sessions = ["dev"]') as it:
        await it.check_denied("security.allowed_sessions", tool, **arguments)
    assert (place.ids("session_name"), place.ids("pane_id"), place.rows("list-windows", windows)) == before


async def test_a_session_that_is_allowed_can_be_made_and_used(under: Policy, place: PolicyPlace) -> None:
    async with under('[security]\nallowed_sessions = ["fresh"]') as it:
        made = await it.call("create-session", name="fresh", command="cat")
        assert (await it.call("list-panes"))["panes"][0]["id"] == made["paneId"]
        await it.call("send-keys", paneId=made["paneId"], keys="hello", enter=True)
        await it.call("kill-session", sessionId="fresh")


# Panes


async def test_a_window_that_a_forbidden_session_shows_too_is_only_read(
    under: Policy, place: PolicyPlace
) -> None:
    window = place.raw("new-window", "-d", "-P", "-F", "#{window_id}", "-t", "other")
    place.raw("link-window", "-d", "-s", window, "-t", "dev:9")
    pane = place.raw("display-message", "-p", "-t", window, "#{pane_id}")
    try:
        async with under('[security]\nallowed_sessions = ["dev"]') as it:
            await it.call("capture-pane", paneId=pane)
            key = "security.allowed_sessions"
            await it.check_denied(key, "kill-window", windowId=window)
            await it.check_denied(key, "kill-pane", paneId=pane)
            await it.check_denied(key, "send-keys", paneId=pane, keys="x")
            await it.check_denied(key, "rename-window", windowId=window, name="x")
        async with under('[security]\nallowed_sessions = ["dev", "other"]') as it:
            await it.call("rename-window", windowId=window, name="x")
    finally:
        place.raw("kill-window", "-t", window)


async def test_a_session_is_not_taken_for_another_by_its_name(under: Policy, place: PolicyPlace) -> None:
    key = "security.allowed_sessions"
    place.raw("new-session", "-d", "-s", "$77")
    try:
        async with under('[security]\nallowed_sessions = ["$77", "$78", "dev"]') as it:
            await it.check_denied(key, "create-session", name="$78")
            await it.check_denied(key, "rename-session", sessionId="dev", newName="$78")
            await it.check_denied(key, "rename-session", sessionId="dev", newName="elsewhere")
            await it.check_denied(key, "rename-session", sessionId="dev", name="elsewhere")
            rows = (await it.call("list-sessions"))["sessions"]
            assert [row["name"] for row in rows] == ["dev"]
    finally:
        place.raw("kill-session", "-t", "=$77:")


async def test_a_window_named_like_a_position_is_not_there(under: Policy, place: PolicyPlace) -> None:
    window = place.raw("new-window", "-d", "-P", "-F", "#{window_id}", "-t", "dev:", "-n", "42")
    pane = place.raw("display-message", "-p", "-t", window, "#{pane_id}")
    try:
        async with under('[security]\nallowed_panes = ["dev:42.0"]') as it:
            await it.check_denied("security.allowed_panes", "capture-pane", paneId=pane)
    finally:
        place.raw("kill-window", "-t", window)


async def test_what_would_reach_a_pane_that_is_not_allowed_is_refused(
    under: Policy, place: PolicyPlace
) -> None:
    one, two = place.panes["one"], place.panes["two"]
    async with under(f'[security]\nallowed_panes = ["{one}"]') as it:
        key = "security.allowed_panes"
        assert [row["id"] for row in (await it.call("list-panes"))["panes"]] == [one]
        await it.call("capture-pane", paneId=one)
        await it.check_denied(key, "capture-pane", paneId=two)
        await it.check_denied(key, "kill-window", windowId="dev:first")
        await it.check_denied(key, "kill-session", sessionId="dev")
        await it.check_denied(key, "set-synchronize-panes", windowId="dev:first", enabled=True)
        await it.check_denied(key, "split-pane", paneId=one)
        await it.check_denied(key, "create-window", sessionId="dev")
        with pytest.raises(ResourceFailed, match="allowed_panes"):
            await it.app.resources.read("tmux://session/dev/tree")
        with pytest.raises(ResourceFailed, match="allowed_panes"):
            await it.app.resources.read(f"tmux://pane/{two}")
        with pytest.raises(ResourceFailed, match="allowed_panes"):
            await it.app.resources.follow(f"tmux://pane/{two}", discard_notification)
    assert {one, two} <= place.ids("pane_id")


async def discard_notification() -> None: ...


async def test_keys_for_synchronized_panes_reach_them_all(under: Policy, place: PolicyPlace) -> None:
    one = place.panes["one"]
    async with under(f'[security]\nallowed_panes = ["{one}"]') as it:
        await it.call("send-keys", paneId=one, keys=" ")
        place.raw("set-option", "-w", "-t", "dev:first", "synchronize-panes", "on")
        try:
            await it.check_denied("security.allowed_panes", "send-keys", paneId=one, keys=" ")
        finally:
            place.raw("set-option", "-w", "-t", "dev:first", "synchronize-panes", "off")


async def test_a_pane_may_be_allowed_by_where_it_is(under: Policy, place: PolicyPlace) -> None:
    async with under('[security]\nallowed_panes = ["dev:second.0"]') as it:
        await it.call("capture-pane", paneId=place.panes["three"])
        await it.check_denied("security.allowed_panes", "capture-pane", paneId=place.panes["one"])


# Tools


async def test_a_closed_tool_is_not_listed_and_says_why_when_it_is_called(
    under: Policy, place: PolicyPlace
) -> None:
    async with under("[security]\nallow_kill = false") as it:
        assert "kill-pane" not in it.app.dispatch.offered
        assert "list-panes" in it.app.dispatch.offered
        await it.check_denied("security.allow_kill", "kill-pane", paneId=place.panes["one"])
        await it.check_denied("security.allow_kill", "kill-pane")
        await it.check_denied("security.allow_kill", "kill-session", paneId=5)
        await it.check_denied("security.allow_kill", "respawn-pane", paneId=place.panes["one"], kill=True)
    async with under("", TMUX_MCP_TOOLS="deny:@raw-input") as it:
        assert "send-keys" not in it.app.dispatch.offered
        await it.check_denied("TMUX_MCP_TOOLS", "send-keys", paneId=place.panes["one"], keys="x")
    assert place.panes["one"] in place.ids("pane_id")


@pytest.mark.parametrize(
    "rule",
    ['allowed_panes = ["PANE"]', "allowed_panes = []", "allowed_sockets = []", 'allowed_sessions = ["dev"]'],
)
async def test_every_resource_that_is_listed_can_be_read(
    under: Policy, place: PolicyPlace, rule: str
) -> None:
    async with under(f"[security]\n{rule.replace('PANE', place.panes['one'])}") as it:
        entries = await it.app.resources.list()
        for entry in entries:
            await it.app.resources.read(entry.uri)
    shows = any(entry.uri == f"tmux://pane/%25{place.panes['one'][1:]}" for entry in entries)
    assert shows is ("[]" not in rule)


async def test_without_capture_no_resource_shows_a_pane(under: Policy, place: PolicyPlace) -> None:
    async with under("[security]\nallow_capture = false") as it:
        uris = {entry.uri for entry in await it.app.resources.list()}
        assert uris
        assert not [uri for uri in uris if uri.startswith("tmux://pane/")]
        for uri in (f"tmux://pane/{place.panes['one']}", f"tmux://pane/{place.panes['one']}/tail/3/ansi"):
            with pytest.raises(ResourceFailed, match="allow_capture"):
                await it.app.resources.read(uri)


async def test_security_can_be_switched_off_whole(under: Policy) -> None:
    toml = "[security]\nenabled = false\nallow_list = false\nallowed_sockets = []\nallowed_sessions = []"
    async with under(toml) as it:
        assert len((await it.call("list-sessions"))["sessions"]) >= 2


# Commands

FILTER = '[security.command_filter]\nmode = "denylist"\npatterns = ["^touch\\\\b"]\n'


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create-session", {"name": "x", "command": "touch CANARY"}),
        ("create-window", {"sessionId": "dev", "command": "sh -c 'touch CANARY'"}),
        ("split-pane", {"paneId": "PANE", "command": "true; touch CANARY"}),
        ("respawn-pane", {"paneId": "PANE", "command": "env touch CANARY", "kill": True}),
        ("execute-command", {"paneId": "PANE", "command": "echo $(touch CANARY)"}),
        ("execute-command", {"paneId": "PANE", "command": "touch CANARY", "rawMode": True}),
        ("start-and-watch", {"paneId": "PANE", "command": "touch CANARY", "pattern": "x"}),
        ("send-keys", {"paneId": "PANE", "keys": "touch CANARY", "enter": True}),
        ("send-keys", {"paneId": "PANE", "keys": "touch CANARY\n"}),
        ("send-keys", {"paneId": "PANE", "keys": "t o u c h Space CANARY Enter", "literal": False}),
        ("paste-text", {"paneId": "PANE", "content": "touch CANARY\n"}),
        ("paste-text", {"paneId": "PANE", "content": "\ntouch CANARY", "enter": True}),
        ("send-hex", {"paneId": "PANE", "hex": "HEX 0d"}),
        ("send-hex", {"paneId": "PANE", "hex": "HEX 0a"}),
        ("create-session", {"name": "x", "env": {"PROMPT_COMMAND": "touch CANARY"}}),
        ("create-window", {"sessionId": "dev", "env": {"PROMPT_COMMAND": "touch CANARY"}}),
        ("split-pane", {"paneId": "PANE", "env": {"A": "1", "PS1": "$(touch CANARY)"}}),
    ],
)
async def test_a_denied_command_reaches_no_shell_by_any_tool(
    under: Policy, place: PolicyPlace, tool: str, arguments: dict[str, Any]
) -> None:
    sends = f"touch {place.canary}"
    words = {
        "CANARY": " ".join(str(place.canary)) if arguments.get("literal") is False else str(place.canary),
        "PANE": place.panes["one"],
        "HEX": " ".join(f"{byte:02x}" for byte in sends.encode()),
    }
    for word, value in words.items():
        arguments = json.loads(json.dumps(arguments).replace(word, value))
    async with under(FILTER) as it:
        await it.check_denied("security.command_filter", tool, **arguments)
        await wait_until_shell_has_run(it, place, "echo after")
    assert not place.canary.exists()


async def wait_until_shell_has_run(it: AppUnderPolicy, place: PolicyPlace, command: str) -> None:
    """Wait until the shell of the first pane has run the commands so far."""
    mark = place.folder / f"ran-{os.urandom(4).hex()}"
    await it.call("send-keys", paneId=place.panes["one"], keys=f"{command}; : > {mark}", enter=True)

    async def has_run() -> bool:
        return mark.exists()

    await eventually(has_run)


async def test_a_command_typed_in_parts_is_judged_when_it_is_entered(
    under: Policy, place: PolicyPlace
) -> None:
    pane = place.panes["one"]
    async with under(FILTER) as it:
        await it.call("send-keys", paneId=pane, keys="tou")
        await it.call("send-keys", paneId=pane, keys="c h", literal=False)
        await it.call("paste-text", paneId=pane, content=f" {place.canary}")
        for tool, more in (("send-enter", {}), ("send-keys", {"keys": "\n"}), ("send-hex", {"hex": "0d"})):
            await it.check_denied("security.command_filter", tool, paneId=pane, **more)
        await it.check_denied("security.command_filter", "execute-command", paneId=pane, command="true")
        await it.call("send-cancel", paneId=pane)
        await it.call("send-enter", paneId=pane)
        await wait_until_shell_has_run(it, place, "true")
    assert not place.canary.exists()


@pytest.mark.parametrize("setting", ["stty intr undef", "trap '' INT"])
async def test_a_line_that_no_key_takes_back_is_not_entered(
    under: Policy, place: PolicyPlace, setting: str
) -> None:
    place.raw("new-session", "-d", "-s", "stubborn", "bash --norc --noprofile")
    pane = place.raw("display-message", "-p", "-t", "stubborn", "#{pane_id}")
    try:
        async with under(FILTER) as it:
            await it.call("execute-command", paneId=pane, command=setting)
            await it.call("send-keys", paneId=pane, keys=f"touch {place.canary}")
            await it.call("send-cancel", paneId=pane)
            await it.check_denied("security.command_filter", "send-enter", paneId=pane)
    finally:
        place.raw("kill-session", "-t", "stubborn")


async def test_what_is_typed_into_synchronized_panes_stands_in_each_of_them(
    under: Policy, place: PolicyPlace
) -> None:
    one, two = place.panes["one"], place.panes["two"]
    async with under(FILTER) as it:
        place.raw("set-option", "-w", "-t", "dev:first", "synchronize-panes", "on")
        await it.call("send-keys", paneId=one, keys=f"touch {place.canary}")
        place.raw("set-option", "-w", "-t", "dev:first", "synchronize-panes", "off")
        for pane in (one, two):
            await it.check_denied("security.command_filter", "send-enter", paneId=pane)
            await it.call("send-cancel", paneId=pane)
            await it.call("send-enter", paneId=pane)
    assert not place.canary.exists()


async def test_a_line_that_is_recalled_or_completed_is_not_entered(under: Policy, place: PolicyPlace) -> None:
    pane = place.panes["one"]
    async with under(FILTER) as it:
        for key in ("send-up", "send-tab"):
            await it.call(key, paneId=pane)
            text = await it.check_denied("security.command_filter", "send-enter", paneId=pane)
            assert "press C-c first" in text
            await it.call("send-cancel", paneId=pane)
        await it.call("send-enter", paneId=pane)


async def test_an_allowed_command_runs(under: Policy, place: PolicyPlace) -> None:
    toml = '[security.command_filter]\nmode = "allowlist"\npatterns = ["^(true|:|echo)\\\\b", "^:? ?> "]\n'
    async with under(toml) as it:
        await wait_until_shell_has_run(it, place, "echo hello 2>&1")
        await it.check_denied("security.command_filter", "send-keys", paneId=place.panes["one"], keys="ls\n")
