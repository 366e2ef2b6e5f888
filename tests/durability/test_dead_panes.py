"""A dead pane that a killed muxpilot kept is closed by the next one."""

from __future__ import annotations

from tests.rigs.muxpilots import call_and_wait, one_server
from tests.rigs.waiting import eventually
from tests.rigs.wire import Place


async def test_a_dead_pane_that_a_killed_muxpilot_kept_is_closed_by_the_next_one(place: Place) -> None:
    place.tmux("new-window", "-d", "-n", "kept", "sleep 600")
    pane = place.tmux("list-panes", "-t", "keeper:kept", "-F", "#{pane_id}").strip()
    # What a muxpilot leaves that is killed after the pane has died and before it has closed it.
    place.tmux("set-option", "-p", "-t", pane, "remain-on-exit", "on")
    place.tmux("set-option", "-p", "-t", pane, "@muxpilot_remained", "off")
    place.tmux("send-keys", "-t", pane, "C-c")

    async def is_dead() -> bool:
        return place.tmux("display-message", "-p", "-t", pane, "#{pane_dead}").strip() == "1"

    async def is_gone() -> bool:
        return pane not in place.tmux("list-panes", "-a", "-F", "#{pane_id}").split()

    await eventually(is_dead)
    async with one_server(place) as server:
        await call_and_wait(server, "list-sessions")
        await eventually(is_gone)
