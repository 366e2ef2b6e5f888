"""Every tool gives the same answers on another host as here: one script for both, through MCP."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import mcp_types as types
import pytest
import pytest_asyncio

from muxpilot.config.scope import Scope
from muxpilot.tools import TOOLS
from tests.rigs.mcp_client import Rig, serving
from tests.ssh.conftest import RemoteHost

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAMES = {tool.name for tool in TOOLS if Scope.ALL in tool.scopes}
# These do not ask the server that a call names, or answer with the line to attach to it (ask-person).
ELSEWHERE = {"socket-for-path", "list-servers", "ask-person"}

# Each step: a tool, its arguments, and which values of the answer later steps use, by which names.
Step = tuple[str, dict[str, Any], dict[str, str]]
SCRIPT: list[Step] = [
    ("create-session", {"name": "one"}, {"paneId": "pane", "sessionId": "session", "windowId": "window"}),
    ("create-session", {"name": "two", "command": "cat"}, {"paneId": "cat", "sessionId": "other"}),
    ("create-session", {"name": "two"}, {}),
    ("list-sessions", {}, {}),
    ("find-session", {"name": "tw"}, {}),
    ("get-current-session", {}, {}),
    ("rename-session", {"sessionId": "{other}", "newName": "second"}, {}),
    ("create-window", {"sessionId": "{session}", "name": "w", "command": "cat"}, {"windowId": "w"}),
    ("rename-window", {"windowId": "{w}", "name": "it's #{x}"}, {}),
    ("select-window", {"windowId": "{w}"}, {}),
    ("move-window", {"windowId": "{w}", "targetSessionId": "{other}", "targetIndex": 7}, {}),
    ("list-windows", {}, {}),
    ("split-pane", {"paneId": "{cat}", "command": "cat", "cwd": "/usr"}, {"paneId": "half"}),
    ("select-layout", {"windowId": "second:0", "layout": "even-vertical"}, {}),
    ("set-synchronize-panes", {"windowId": "second:0", "enabled": False}, {}),
    ("rename-pane", {"paneId": "{half}", "title": "a title"}, {}),
    ("select-pane", {"paneId": "{half}"}, {}),
    ("zoom-pane", {"paneId": "{half}"}, {}),
    ("zoom-pane", {"paneId": "{half}"}, {}),
    ("resize-pane", {"paneId": "{half}", "height": 7}, {}),
    ("swap-pane", {"sourcePaneId": "{half}", "targetPaneId": "{cat}"}, {}),
    ("break-pane", {"paneId": "{half}", "name": "alone"}, {}),
    ("join-pane", {"sourcePaneId": "{half}", "targetPaneId": "{cat}"}, {}),
    ("respawn-pane", {"paneId": "{half}", "command": "cat", "kill": True}, {}),
    ("list-panes", {"sessionId": "{other}"}, {}),
    ("list-clients", {}, {}),
    ("detach-client", {"clientTty": "/dev/pts/none"}, {}),
    ("display-message", {"message": "#{pane_id}"}, {}),
    ("execute-command", {"paneId": "{pane}", "command": "echo ou''t; false"}, {"commandId": "command"}),
    ("get-command-result", {"commandId": "{command}"}, {}),
    ("execute-command", {"paneId": "{pane}", "command": "cat", "timeoutSeconds": 15}, {"commandId": "reads"}),
    ("cancel-command", {"commandId": "{reads}"}, {}),
    ("list-commands", {"paneId": "{pane}"}, {}),
    ("run-on", {"command": "echo $((6 * 7))", "panes": [{"paneId": "{pane}"}, {"paneId": "%999"}]}, {}),
    ("pane-state", {"paneId": "{pane}"}, {}),
    ("capture-pane", {"paneId": "{pane}", "start": 1, "end": 1}, {}),
    ("read-pane", {"paneId": "{pane}", "grep": "^out"}, {}),
    ("search-panes", {"query": "^out$", "mode": "regex", "paneIds": ["{pane}"], "contextLines": 0}, {}),
    ("start-and-watch", {"paneId": "{pane}", "command": "echo re''ady; echo x", "pattern": "^ready"}, {}),
    ("watch-pane", {"paneId": "{cat}", "triggers": "idle:0.2"}, {}),
    ("wait-for-pane-change", {"paneId": "{cat}", "timeoutMs": 100}, {}),
    ("notify-when", {"paneId": "{cat}", "triggers": "pattern:zzz"}, {"watchId": "watch"}),
    ("get-watch", {"watchId": "{watch}"}, {}),
    ("cancel-watch", {"watchId": "{watch}"}, {}),
    ("screenshot-pane", {"paneId": "{cat}", "output": "svg"}, {}),
    ("screenshot-pane", {"paneId": "{cat}"}, {}),
    ("record-pane", {"paneId": "{cat}", "action": "start"}, {}),
    ("record-pane", {"paneId": "{cat}", "action": "stop"}, {}),
    ("send-keys", {"paneId": "{cat}", "keys": "seen", "enter": True, "until": "quiet:1500"}, {}),
    ("read-screen", {"paneId": "{cat}", "rows": [0, 4]}, {}),
    ("send-mouse", {"paneId": "{cat}", "row": 0, "column": 0}, {}),
    ("send-keys", {"paneId": "{cat}", "keys": "it's; `id` #{x} 😀", "enter": True}, {}),
    ("paste-text", {"paneId": "{cat}", "content": "two\nlines", "enter": True}, {}),
    ("send-hex", {"paneId": "{cat}", "hex": "61 0a"}, {}),
    ("write-to-display", {"paneId": "{cat}", "text": "$(id)"}, {}),
    ("set-buffer", {"name": "b", "content": "nothing here\nneedle é\n"}, {}),
    ("append-buffer", {"name": "b", "content": "more"}, {}),
    ("rename-buffer", {"from": "b", "to": "c"}, {}),
    ("show-buffer", {"name": "c"}, {}),
    ("search-buffer", {"query": "needle", "mode": "literal", "buffer": "c"}, {}),
    (
        "subsearch-buffer",
        {
            "anchor": {"offsetBytes": 13, "matchLen": 6, "buffer": "c"},
            "query": "more",
            "mode": "literal",
            "contextBytes": 50,
        },
        {},
    ),
    ("save-buffer", {"name": "c", "path": "far-and-here"}, {}),
    ("load-buffer", {"name": "d", "path": "far-and-here"}, {}),
    ("show-buffer", {"name": "d"}, {}),
    ("list-buffers", {}, {}),
    ("delete-buffer", {"name": "c"}, {}),
    ("delete-buffer", {"name": "d"}, {}),
    ("execute-command", {"paneId": "{pane}", "command": "python3 -q", "timeoutSeconds": 15}, {}),
    ("run-in-repl", {"paneId": "{pane}", "input": "print(6 * 7)"}, {}),
    *((name, {"paneId": "{cat}"}, {}) for name in sorted(NAMES) if re.fullmatch(r"send-[a-z-]+", name)
      and name not in ("send-keys", "send-hex", "send-mouse", "send-cancel", "send-eof")),
    ("send-cancel", {"paneId": "{pane}"}, {}),
    ("send-eof", {"paneId": "{half}"}, {}),
    ("ask-person", {"question": "Go on?", "timeoutSeconds": 0.2}, {}),
    ("kill-window", {"windowId": "{w}"}, {}),
    ("kill-pane", {"paneId": "{cat}"}, {}),
    ("kill-session", {"sessionId": "{session}"}, {}),
]  # fmt: skip

# Values that differ between servers or between runs.
VARIES = re.compile(
    r"(?i)pid$|^(created|elapsed|elapsedMs|waitedMs|quietMs|cursor|commandId|watchId|resourceUri|seconds|bytes|path|currentPath"
    r"|currentCommand|layout|newLines|matchId|how)$"
)

# Values that depend on whether a short command has ended when its first line is reported.
MOMENTARY = {"start-and-watch": {"paneState": {}, "output": ""}}


def without_varying_values(value: Any, name: str = "") -> Any:
    """Return an answer without the values that vary. Ids keep their kind."""
    if isinstance(value, dict):
        return {key: without_varying_values(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [without_varying_values(each, name) for each in value]
    if VARIES.search(name):
        return type(value).__name__
    return re.sub(r"([$@%])\d+", r"\1n", value) if isinstance(value, str) else value


def fill_in_names(value: Any, names: dict[str, str]) -> Any:
    return json.loads(re.sub(r"\{(\w+)\}", lambda found: names.get(found[1], found[0]), json.dumps(value)))


async def play_script(rig: Rig, socket: str) -> list[tuple[str, bool, Any]]:
    """Run the whole script on one server, and return the answers."""
    names: dict[str, str] = {}
    answers = []
    for tool, arguments, kept in SCRIPT:
        server = {} if tool in ELSEWHERE else {"socket": socket}
        result = await rig.ask(tool, fill_in_names(arguments, names) | server)
        answer = (result.structured_content or {}) | MOMENTARY.get(tool, {})
        names |= {name: answer[key] for key, name in kept.items()}
        body = answer or [
            each.text if isinstance(each, types.TextContent) else each.type for each in result.content
        ]
        answers.append((tool, bool(result.is_error), without_varying_values(body)))
    return answers


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(host: RemoteHost) -> AsyncIterator[Rig]:
    config = f'[servers.far]\nssh = "{host.sshd.arguments}"\nsocket = "{host.socket}"\n'
    async with serving("all", config=config) as rig:
        host.raw("new-session", "-d", "-s", "keeper", "-x", "200", "-y", "50", "/bin/sh")
        for raw in (rig.raw, host.raw):
            raw("set-option", "-g", "default-shell", "/bin/bash")
            raw("set-option", "-g", "automatic-rename", "off")
            raw("rename-window", "-t", "=keeper:", "keeper")
        yield rig


@pytest.mark.timeout(180)  # more than a hundred calls, one after the other
async def test_every_tool_answers_on_another_host_as_it_does_here(rig: Rig) -> None:
    assert {step[0] for step in SCRIPT} | ELSEWHERE == NAMES
    here, there = await play_script(rig, rig.socket), await play_script(rig, "far")
    for mine, theirs in zip(here, there, strict=True):
        assert theirs == mine
    failed = {tool for tool, is_error, _ in here if is_error}
    # No person is attached, and cat has not asked for the mouse.
    assert failed == {"get-current-session", "detach-client", "send-mouse"}, failed


async def test_an_input_there_cannot_wait_for_a_port_here(rig: Rig) -> None:
    made = await rig.call("create-session", name="inputs", socket="far")
    words = await rig.fails("send-keys", paneId=made["paneId"], keys="x", until="port:80", socket="far")
    assert "looks at this machine" in words
    await rig.call("kill-session", sessionId="inputs", socket="far")


async def test_what_became_of_a_command_there_is_a_resource_too(rig: Rig) -> None:
    made = await rig.call("create-session", name="named", socket="far")
    ran = await rig.call("execute-command", paneId=made["paneId"], command="echo far''away", socket="far")
    started = await rig.call("notify-when", paneId=made["paneId"], triggers="pattern:zz", socket="far")
    wanted = {
        f"tmux://command/{ran['commandId']}/result": "faraway",
        f"tmux://watch/{started['watchId']}": "watching",
    }
    for uri, word in wanted.items():
        [content] = (await rig.client.read_resource(uri)).contents
        assert isinstance(content, types.TextResourceContents)
        assert word in content.text
    await rig.call("kill-session", sessionId="named", socket="far")


async def test_resources_are_read_from_another_host(host: RemoteHost) -> None:
    """These are the resources of the default server, which is on the other host."""
    async with serving("all", config=f'[ssh]\nremote = "{host.sshd.arguments}"\n', keeper=False) as rig:
        made = await rig.call("create-session", name="res")
        ran = await rig.call("execute-command", paneId=made["paneId"], command="echo far''away")
        told = {}
        for uri in (
            "tmux://server/info",
            "tmux://sessions",
            "tmux://clients",
            f"tmux://pane/{made['paneId']}",
            f"tmux://pane/{made['paneId']}/info",
            f"tmux://pane/{made['paneId']}/tail/20/ansi",
            f"tmux://window/{made['windowId']}/info",
            f"tmux://session/{made['sessionId']}/tree",
            f"tmux://command/{ran['commandId']}/result",
        ):
            [content] = (await rig.client.read_resource(uri)).contents
            assert isinstance(content, types.TextResourceContents)
            told[uri] = content.text
    assert "muxpilot-hub" not in "".join(told.values())
    assert "faraway" in told[f"tmux://pane/{made['paneId']}"]
    assert "faraway" in told[f"tmux://command/{ran['commandId']}/result"]
    assert '"res"' in told["tmux://sessions"]
    info = json.loads(told["tmux://server/info"])
    assert (info["ssh"], info["running"]) == (host.sshd.arguments, True)
    assert host.sshd.arguments not in info["socket"]
