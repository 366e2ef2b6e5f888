"""Dialogues with programs that have a prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any
from weakref import WeakValueDictionary

from muxpilot.errors import BadInput, Refused
from muxpilot.records import record
from muxpilot.repl import converse
from muxpilot.tmux import PaneId
from muxpilot.toolkit.argument_flags import Mark
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import WORKFLOW, Effect, tool

_LONGEST_S = 3600
_BESIDES_S = 15.0

# Inputs for one pane go one after the other; keys of other tools may come between, as answers do.
_TURNS: WeakValueDictionary[tuple[str, PaneId], asyncio.Lock] = WeakValueDictionary()


@record
class ReplResult:
    """`note` says what to do next: the input is not complete, or it asks for something."""

    pane_id: str
    output: str
    exited: bool
    timed_out: bool
    note: str = ""


def _deadline(arguments: Mapping[str, Any]) -> float:
    """As long again to wait for its turn."""
    timeout_s = float(arguments["timeout"])
    if not 0 <= timeout_s <= _LONGEST_S:
        raise BadInput(f"The argument 'timeout' must be from 0 to {_LONGEST_S}.")
    return 2 * timeout_s + _BESIDES_S


@tool(Effect.TYPE, WORKFLOW, "execute", deadline_s=_deadline)
async def run_in_repl(
    ctx: Context,
    pane_id: PaneId,
    input: Annotated[str, "Any lines", Mark.LINES],
    prompt_pattern: Annotated[str | None, "RE2; default: the one there"] = None,
    timeout: Annotated[float, "Seconds"] = 10,  # noqa: ASYNC109 - the wire's name
) -> ReplResult:
    """Give input to a REPL (python, psql, gdb); answers what it said."""
    search = _search(prompt_pattern)
    turns = _TURNS.setdefault((ctx.tmux.socket, pane_id), asyncio.Lock())
    try:
        async with asyncio.timeout(timeout):
            await turns.acquire()
    except TimeoutError:
        raise Refused(
            f"Another input to pane {pane_id} is still at work.", "Nothing was typed; try again later."
        ) from None
    try:
        reply = await converse(
            ctx.tmux, pane_id, input, search=search, timeout_s=timeout, exclusive=ctx.exclusive
        )
    finally:
        turns.release()
    return ReplResult(pane_id, reply.output, reply.exited, reply.timed_out, reply.note or "")


def _search(pattern: str | None) -> Any:
    if pattern is None:
        return None
    if not pattern:
        raise BadInput("The argument 'promptPattern' is empty.", "Give a pattern, or leave it out.")
    from muxpilot.patterns import compiled  # loads RE2

    return compiled(pattern, "promptPattern").search


TOOLS = (run_in_repl,)
