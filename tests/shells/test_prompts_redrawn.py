"""A prompt that is set anew: where it alone has our marks, they go with it, and must come back."""

from __future__ import annotations

import pytest

from tests.shells.conftest import SHELLS, Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")

_PROMPTED = [shell for shell in SHELLS if shell != "fish"]


@pytest.mark.parametrize("shell", _PROMPTED)
async def test_a_command_that_sets_the_prompt_has_its_own_output_and_status(desk: Desk, shell: str) -> None:
    pane = await desk.ours(shell)
    answer = await desk.run(pane, "PS1='new> '; echo out; false")
    assert (answer["status"], answer["exitCode"], answer["output"]) == ("failed", 1, "out\n")
    assert (await desk.run(pane, "echo $?"))["output"] == "1\n"
    await desk.shows(pane, "new> echo $?\n1\nnew>")


@pytest.mark.parametrize("shell", _PROMPTED)
async def test_lines_behind_the_one_that_sets_the_prompt_run(desk: Desk, shell: str) -> None:
    pane = await desk.ours(shell)
    answer = await desk.run(pane, "PS1='new> '\necho one\nsh -c 'exit 4'")
    assert (answer["exitCode"], answer["output"]) == (4, "one\n")


@pytest.mark.parametrize("shell", _PROMPTED)
async def test_a_person_may_set_the_prompt_between_two_commands(desk: Desk, shell: str) -> None:
    pane = await desk.ours(shell)
    await desk.run(pane, "true")
    desk.type(pane, "PS1='theirs> '", "Enter")
    await desk.shows(pane, "\ntheirs>")
    await desk.heard(pane, b"theirs> \x1b" if shell in ("bash", "zsh") else b"\ntheirs> ")
    assert (await desk.run(pane, "echo ours"))["output"] == "ours\n"
    await desk.shows(pane, "theirs> echo ours\nours\ntheirs>")
