"""A command that sets the prompt removes our marks where only the prompt has them; they come back."""

from __future__ import annotations

import pytest

from tests.shells.conftest import SHELLS, Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")

_PROMPTED = [shell for shell in SHELLS if shell != "fish"]


@pytest.mark.parametrize("shell", _PROMPTED)
async def test_a_command_that_sets_the_prompt_has_its_own_output_and_status(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    answer = await desk.run(pane, "PS1='new> '; echo out; false")
    assert (answer["status"], answer["exitCode"], answer["output"]) == ("failed", 1, "out\n")
    assert (await desk.run(pane, "echo $?"))["output"] == "1\n"
    await desk.wait_for_screen(pane, "new> echo $?\n1\nnew>")


@pytest.mark.parametrize("shell", _PROMPTED)
async def test_lines_behind_the_one_that_sets_the_prompt_run(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    answer = await desk.run(pane, "PS1='new> '\necho one\nsh -c 'exit 4'")
    assert (answer["exitCode"], answer["output"]) == (4, "one\n")


@pytest.mark.parametrize("shell", _PROMPTED)
async def test_a_person_may_set_the_prompt_between_two_commands(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "true")
    desk.type_as_person(pane, "PS1='theirs> '", "Enter")
    await desk.wait_for_screen(pane, "\ntheirs>")
    await desk.wait_for_output(pane, b"theirs> \x1b" if shell in ("bash", "zsh") else b"\ntheirs> ")
    assert (await desk.run(pane, "echo ours"))["output"] == "ours\n"
    await desk.wait_for_screen(pane, "theirs> echo ours\nours\ntheirs>")
