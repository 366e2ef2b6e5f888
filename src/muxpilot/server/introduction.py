"""What a client asks for first: who the server is, what it can do, and its tools. It stays the same."""

from __future__ import annotations

from typing import Any

from muxpilot import __version__
from muxpilot.protocol.messages import JsonText, Result
from muxpilot.protocol.revisions import STATELESS_VERSIONS, Revision

SERVER_INFO = {"name": "muxpilot", "title": "muxpilot", "version": __version__}

METHODS = frozenset({"initialize", "server/discover", "ping", "tools/list"})


class Introduction:
    """Answers the first requests of a client.

    `description` is the capabilities and instructions, the same in both eras; `tools` is what tools/list
    returns.
    """

    def __init__(self, description: dict[str, Any], tools: JsonText) -> None:
        self.description = description
        self.tools = tools

    def answer(self, method: str, revision: Revision) -> Result:
        """Return the result of one of `METHODS`."""
        if method == "tools/list":
            return self.tools
        if method == "initialize":
            return {"protocolVersion": revision.version, "serverInfo": SERVER_INFO, **self.description}
        if method == "server/discover":
            return {"supportedVersions": list(STATELESS_VERSIONS), **self.description}
        return {}
