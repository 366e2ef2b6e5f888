"""Dialogues with programs through run-in-repl: inputs, and the answers that they must get."""

from __future__ import annotations

from typing import Any

from tests.rigs.mcp_fixtures import Call
from tests.rigs.waiting import LIMIT_S

FUNCTION = "def f(x):\n    y = x + 1\n\n    return y\n\nf(4)\nf(5)"

Dialogue = list[tuple[str, str]]

FIELDS = {"paneId", "pane", "output", "exited", "exitCode", "timedOut", "waitingFor", "cursor"}


async def say(call: Call, pane: str, input: str, **more: Any) -> dict[str, Any]:
    """Use a long timeout: a program that has just been started may need it."""
    reply = await call("run-in-repl", paneId=pane, input=input, **{"timeout": 0.9 * LIMIT_S, **more})
    assert set(reply) - {"note", "screen"} == FIELDS
    assert reply["pane"] is None
    return reply


def spoken(reply: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that `answer` has, and notes."""
    return {name: reply[name] for name in reply if name not in ("pane", "exitCode", "waitingFor", "cursor")}


def answer(pane: str, output: str, *, exited: bool = False) -> dict[str, Any]:
    return {"paneId": pane, "output": output, "exited": exited, "timedOut": False}


async def hold(call: Call, pane: str, dialogue: Dialogue) -> None:
    for input, output in dialogue:
        assert spoken(await say(call, pane, input)) == answer(pane, output), input
