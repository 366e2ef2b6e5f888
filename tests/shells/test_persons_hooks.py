"""Hooks that a person has set in a pane stay as they are while commands run in it, and after that."""

from __future__ import annotations

import pytest

from tests.rigs.waiting import eventually
from tests.shells.conftest import Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")

THEIRS = "pane-died[0] set-option -g @theirs died"


def list_hooks(desk: Desk, pane: str) -> list[str]:
    """Return the hooks that are set in the pane itself."""
    return desk.run_tmux("show-hooks", "-p", "-t", pane).splitlines()


async def wait_until_released(desk: Desk, pane: str) -> None:
    """Wait until muxpilot does not keep the pane for its exit status any more."""

    async def is_released() -> bool:
        kept = desk.run_tmux("show-options", "-p", "-t", pane)
        return "remain-on-exit" not in kept and not any("muxpilot" in hook for hook in list_hooks(desk, pane))

    await eventually(is_released)


async def test_a_persons_hook_of_the_pane_stays_beside_ours(desk: Desk) -> None:
    pane = await desk.own_pane()
    desk.run_tmux("set-hook", "-p", "-t", pane, "pane-died", "set-option -g @theirs died")
    assert list_hooks(desk, pane) == [THEIRS]
    await desk.run(pane, "true")
    hooks = list_hooks(desk, pane)
    assert hooks[0] == THEIRS
    assert len(hooks) == 2  # ours keeps the exit status
    await wait_until_released(desk, pane)
    assert list_hooks(desk, pane) == [THEIRS]


async def test_a_pane_without_hooks_has_none_afterwards(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    assert len(list_hooks(desk, pane)) == 1
    await wait_until_released(desk, pane)

    async def has_none() -> bool:
        return list_hooks(desk, pane) == []  # an empty one would hide a hook of the window

    await eventually(has_none)


async def test_an_exit_is_told_and_the_pane_closed_beside_a_persons_hook(desk: Desk) -> None:
    pane = await desk.own_pane()
    desk.run_tmux("set-hook", "-p", "-t", pane, "pane-died", "set-option -g @theirs died")
    assert (await desk.run(pane, "exit 3"))["exitCode"] == 3

    async def is_closed() -> bool:
        return pane not in desk.run_tmux("list-panes", "-a", "-F", "#{pane_id}").split()

    await eventually(is_closed)


@pytest.mark.parametrize(
    ("shell", "command"),
    [
        ("bash", "unset PROMPT_COMMAND; PS1='% '"),
        ("bash", "PROMPT_COMMAND=(true); PS1='% '"),
        ("zsh", "precmd_functions=() preexec_functions=() PROMPT='% '"),
    ],
)
async def test_a_command_that_removes_all_our_hooks_ends_and_the_next_is_told(
    desk: Desk, shell: str, command: str
) -> None:
    pane = await desk.own_pane(shell)
    answer = await desk.run(pane, command)
    assert (answer["status"], answer["exitCode"], answer["output"]) == ("completed", 0, ""), answer
    assert (await desk.run(pane, "sh -c 'exit 3'"))["exitCode"] == 3
    assert (await desk.run(pane, "echo next"))["output"] == "next\n"
