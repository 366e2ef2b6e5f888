"""The check before each typing of a tool. It loads the guard only if a question is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muxpilot.people.sockets import ASKS, find_sockets

if TYPE_CHECKING:
    from muxpilot.tmux import PaneId, Tmux


async def check_typing(tmux: Tmux, pane: PaneId, *, typed: str = "Nothing was typed.") -> None:
    """Raise Refused where a person answers a question. `typed` says what was typed before."""
    if find_sockets(ASKS):
        from muxpilot.people.typing_guard import refuse_while_person_answers

        await refuse_while_person_answers(tmux, pane, typed=typed)
