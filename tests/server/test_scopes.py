"""The tools of each scope: exactly those of the contract's tables."""

from __future__ import annotations

import pytest
from mcp.shared.exceptions import MCPError

from tests.rigs.mcp_client import serving

STARRED = set(
    """
    list-sessions create-session kill-session list-windows create-window list-panes split-pane kill-pane
    display-message capture-pane read-pane send-keys paste-text write-to-display
    execute-command get-command-result screenshot-pane ask-person
    """.split()
)
PRIMITIVES = STARRED | set(
    """
    read-screen send-mouse
    socket-for-path find-session get-current-session rename-session rename-window select-window kill-window
    move-window select-layout set-synchronize-panes rename-pane select-pane zoom-pane resize-pane join-pane
    swap-pane break-pane respawn-pane list-clients detach-client list-servers search-panes send-hex
    send-cancel send-eof send-escape send-enter send-tab send-backspace send-up send-down send-left send-right
    send-page-up send-page-down send-home send-end
    list-buffers show-buffer save-buffer load-buffer set-buffer append-buffer delete-buffer rename-buffer
    search-buffer subsearch-buffer list-commands cancel-command record-pane
    """.split()
)
WORKFLOWS = {"start-and-watch", "watch-pane", "run-in-repl", "pane-state"}
EVERYTHING = (
    PRIMITIVES | WORKFLOWS | {"run-on", "wait-for-pane-change", "notify-when", "get-watch", "cancel-watch"}
)
SCOPES = {"agentic": STARRED | WORKFLOWS, "primitives": PRIMITIVES, "all": EVERYTHING}


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_scope_offers_exactly_its_tools(scope: str) -> None:
    async with serving(scope, keeper=False) as rig:
        assert sorted(rig.tools) == sorted(SCOPES[scope])
        assert await rig.call("list-sessions") == {"sessions": []}
        for name in sorted(EVERYTHING - SCOPES[scope]):
            with pytest.raises(MCPError) as caught:
                await rig.client.call_tool(name, {})
            assert caught.value.error.code == -32602
            assert name in caught.value.error.message


UNKNOWN = {
    "notify-when": "Start muxpilot with --scope all to have it.",
    "list-commands": "Start muxpilot with --scope all to have it.",
    "execute_command": "Did you mean execute-command?",
    "0" * 5_000: "Use tools/list to see the tools there are.",
}


@pytest.mark.parametrize("name", UNKNOWN, ids=lambda name: name[:20])
async def test_an_unknown_tool_is_refused_with_what_to_do(name: str) -> None:
    async with serving("agentic", keeper=False) as rig:
        with pytest.raises(MCPError) as caught:
            await rig.client.call_tool(name, {})
    assert caught.value.error.message == f"Unknown tool: {name[:100]}. {UNKNOWN[name]}"
