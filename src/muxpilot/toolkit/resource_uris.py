"""The URIs of MCP resources that answers of tools name."""

from __future__ import annotations

COMMAND_RESULT = "tmux://command/{commandId}/result"


def command_result_uri(command_id: str) -> str:
    return COMMAND_RESULT.replace("{commandId}", command_id)
