"""Calls of tools in an application that runs in the test's own process."""

from __future__ import annotations

from typing import Any

from muxpilot.app import App
from tests.rigs.waiting import LIMIT_S


class AppCalls:
    """Calls the tools of `app`. An error fails the test."""

    app: App | None

    async def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        assert self.app is not None
        answer = await self.app.dispatch.call(tool, arguments)
        assert answer.structured is not None, answer.text
        return answer.structured

    async def run(self, pane: str, command: str, **more: Any) -> dict[str, Any]:
        """Run a command in a pane, and wait for as long as a test may take."""
        more.setdefault("timeoutSeconds", LIMIT_S)
        return await self.call("execute-command", paneId=pane, command=command, **more)
