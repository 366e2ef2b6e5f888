"""An agent that reads a pane by its cursors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.rigs.mcp_client import PROMPT, MadeSession, Rig
from tests.rigs.mcp_fixtures import Call
from tests.rigs.waiting import eventually

FIELDS = {"paneId", "text", "cursor", "newLines", "missedLines", "truncated", "alternateScreen"}
SMALL_JOURNALS = "[tracking]\njournal_cap_bytes = 1048576\n"  # so that a flood is soon more than is kept


class ReadingAgent:
    """An agent that reads from its last cursor on."""

    def __init__(self, call: Call, pane: str) -> None:
        self.call = call
        self.pane = pane
        self.cursor: str | None = None
        self.last: dict[str, Any] = {}

    async def read(self, **more: Any) -> str:
        since = {"since": self.cursor} if self.cursor is not None else {}
        self.last = await self.call("read-pane", paneId=self.pane, **since, **more)
        assert set(self.last) == FIELDS
        assert self.last["paneId"] == self.pane
        self.cursor = self.last["cursor"]
        return str(self.last["text"])

    async def until(self, wanted: str, **more: Any) -> str:
        """Read again and again from the same cursor until this text is there."""
        begun = self.cursor

        async def look() -> str:
            self.cursor = begun
            text = await self.read(**more)
            return text if re.search(wanted, text) else ""

        return str(await eventually(look))

    async def rest(self) -> None:
        """Read until there is nothing new: the end of a line may come a little after its text."""

        async def look() -> bool:
            return not await self.read()

        await eventually(look)


Panes = Callable[..., Any]


async def reading(call: Call, shell: Panes) -> tuple[MadeSession, ReadingAgent]:
    """Start a shell and an agent that has read its prompt; piped output comes a little after the screen."""
    made = await shell()
    reader = ReadingAgent(call, made.pane)
    assert (await reader.until(PROMPT.strip())).strip() == PROMPT.strip()
    return made, reader


async def type_line(rig: Rig, pane: str, text: str) -> None:
    await rig.call("send-keys", paneId=pane, keys=text, enter=True)
