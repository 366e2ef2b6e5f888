"""Each key of [security], with a call that it refuses and one that it allows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from muxpilot.resources import ResourceFailed
from tests.rigs.policies import Policy, PolicyPlace

REFUSED: list[tuple[str, str, dict[str, Any]]] = [
    ("allow_execute_command", "execute-command", {"paneId": "PANE", "command": "true"}),
    ("allow_execute_command", "start-and-watch", {"command": "true", "pattern": "x"}),
    ("allow_execute_command", "get-command-result", {"commandId": "cmd-0"}),
    ("allow_raw_mode", "execute-command", {"paneId": "PANE", "command": "true", "rawMode": True}),
    ("allow_raw_mode", "execute-command", {"paneId": "PANE", "command": "true", "noEnter": True}),
    ("allow_send_keys", "send-keys", {"paneId": "PANE", "keys": "x"}),
    ("allow_send_keys", "send-enter", {"paneId": "PANE"}),
    ("allow_send_keys", "paste-text", {"paneId": "PANE", "content": "x"}),
    ("allow_kill", "kill-window", {"windowId": "dev:first"}),
    ("allow_kill", "respawn-pane", {"paneId": "PANE", "kill": True}),
    ("allow_kill", "detach-client", {"clientTty": "/dev/pts/none"}),
    ("allow_create", "create-session", {"name": "new"}),
    ("allow_create", "create-window", {"sessionId": "dev"}),
    ("allow_create", "start-and-watch", {"command": "true", "pattern": "x"}),
    ("allow_split", "split-pane", {"paneId": "PANE"}),
    ("allow_rename", "rename-pane", {"paneId": "PANE", "title": "x"}),
    ("allow_move", "set-synchronize-panes", {"windowId": "dev:first", "enabled": True}),
    ("allow_move", "break-pane", {"paneId": "PANE"}),
    ("allow_capture", "capture-pane", {"paneId": "PANE"}),
    ("allow_capture", "watch-pane", {"paneId": "PANE"}),
    ("allow_capture", "set-buffer", {"name": "b", "content": "x"}),
    ("allow_list", "find-session", {"name": "dev"}),
    ("allow_list", "socket-for-path", {"path": "/"}),
]


# Only some of their calls are refused.
LISTED = {
    ("allow_raw_mode", "execute-command"),
    ("allow_kill", "respawn-pane"),
    ("allow_create", "start-and-watch"),
}


@pytest.mark.parametrize(("key", "tool", "arguments"), REFUSED)
async def test_a_key_refuses_its_calls_and_they_do_nothing(
    under: Policy, place: PolicyPlace, key: str, tool: str, arguments: dict[str, Any]
) -> None:
    given = {name: place.panes["one"] if value == "PANE" else value for name, value in arguments.items()}
    fields = "#{session_name} #{window_name} #{window_layout} #{pane_id} #{pane_pid} #{pane_title}"
    before = place.rows("list-panes", fields)
    async with under(f"[security]\n{key} = false") as it:
        await it.check_denied(f"security.{key}", tool, **given)
        assert (tool in it.app.dispatch.offered) is ((key, tool) in LISTED)
    assert place.rows("list-panes", fields) == before
    assert place.raw("list-buffers") == ""


async def test_the_default_server_is_allowed_by_its_name(under: Policy) -> None:
    async with under('[security]\nallowed_sockets = ["default"]') as it:
        assert (await it.call("list-sessions"))["sessions"]
        await it.check_denied("security.allowed_sockets", "list-sessions", socket="/tmp/mx-other")
    async with under('[servers.here]\nsocket = "SOCKET"\n[security]\nallowed_sockets = ["here"]') as it:
        assert (await it.call("list-sessions"))["sessions"]


async def test_a_session_that_is_not_allowed_shows_nowhere(under: Policy, place: PolicyPlace) -> None:
    async with under('[security]\nallowed_sessions = ["dev"]') as it:
        for name in ("list-sessions", "list-windows", "list-panes", "list-clients"):
            assert "other" not in str(await it.call(name))
        assert place.panes["far"] not in str(await it.call("list-panes"))
        for uri in ("tmux://session/other/tree", f"tmux://pane/{place.panes['far']}"):
            with pytest.raises(ResourceFailed, match=r"security\.allowed_sessions"):
                await it.app.resources.read(uri)
        uris = [entry.uri for entry in await it.app.resources.list()]
        assert not [uri for uri in uris if place.panes["far"] in uri]


async def test_a_log_may_be_as_small_as_one_likes(under: Policy, tmp_path: Path) -> None:
    async with under(f'[audit]\npath = "{tmp_path}/log"\nmax_bytes = 1\nkeep = 2') as it:
        for _ in range(5):
            await it.call("list-sessions")
    logs = sorted(path.name for path in tmp_path.glob("log*"))
    assert logs == ["log", "log.1", "log.2"]
    assert all(len((tmp_path / name).read_text().splitlines()) == 1 for name in logs)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
async def test_what_zsh_runs_behind_a_comment_sign_is_judged_where_it_is_typed(
    under: Policy, place: PolicyPlace
) -> None:
    filter_ = '[security.command_filter]\nmode = "denylist"\npatterns = ["^touch\\\\b"]\n'
    text = f"echo a # ; touch {place.canary}"
    async with under(filter_) as it:
        made = await it.call("create-session", name="zsh", command="exec zsh -f")
        pane = made["paneId"]
        await it.check_denied("security.command_filter", "send-keys", paneId=pane, keys=text, enter=True)
        await it.check_denied(
            "security.command_filter", "execute-command", paneId=pane, command=text, rawMode=True
        )
        done = await it.call("execute-command", paneId=pane, command=text)
        assert (done["status"], done["output"]) == ("completed", "a\n")
        await it.call("kill-session", sessionId="zsh")
    assert not place.canary.exists()
