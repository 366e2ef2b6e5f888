"""Results as each revision wants them: their type, who made them, and how long they may be kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muxpilot.protocol.messages import JsonText, Result, to_json_text
from muxpilot.protocol.revisions import Revision

SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"

_MINUTES = 60_000

# For how many milliseconds a client may keep a result. What tmux shows may change at any time. Tools, prompts
# and templates are the same until muxpilot is started with other settings. All of it belongs to one user.
_KEPT_MS: Mapping[str, int] = {
    "tools/list": 5 * _MINUTES,
    "prompts/list": 5 * _MINUTES,
    "resources/templates/list": 5 * _MINUTES,
    "server/discover": 5 * _MINUTES,
    "resources/list": 0,
    "resources/read": 0,
}


class ResultFinisher:
    """Completes results. `server_info` names the server, in each result since 2026-07-28."""

    def __init__(self, server_info: dict[str, Any]) -> None:
        self._meta = {SERVER_INFO_KEY: server_info}
        self._endings: dict[str, str] = {}

    def finish(self, method: str, result: Result, revision: Revision) -> Result:
        """Return the result as the revision wants it."""
        if revision.has_handshake:
            return result
        if isinstance(result, JsonText):
            return JsonText(result[:-1] + self._last_fields(method))
        fields = {"resultType": "complete"} | self._cache_hints(method, result) | result
        return fields | {"_meta": {**self._meta, **result.get("_meta", {})}}

    def _last_fields(self, method: str) -> str:
        """Return the last fields of a result that is written already."""
        if method not in self._endings:
            fields = {"resultType": "complete"} | self._cache_hints(method, {}) | {"_meta": self._meta}
            self._endings[method] = f",{to_json_text(fields)[1:]}"
        return self._endings[method]

    def _cache_hints(self, method: str, result: dict[str, Any]) -> dict[str, Any]:
        if method not in _KEPT_MS or result.get("resultType", "complete") != "complete":
            return {}
        return {"ttlMs": _KEPT_MS[method], "cacheScope": "private"}
