"""Enter by send-keys or paste-text does not run a line that a person has half typed."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.shells.conftest import SHELLS, Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = "#" if os.getuid() == 0 else "$"


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_persons_line_is_not_entered_by_send_keys(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "echo first")
    await desk.type_half_line(pane, "echo half")
    text = await desk.expect_error("send-keys", paneId=pane, keys="ls", enter=True)
    assert "person has half typed" in text
    assert "force" in text
    assert "half typed" in await desk.expect_error("send-keys", paneId=pane, keys="Enter", literal=False)
    assert "half typed" in await desk.expect_error("paste-text", paneId=pane, content="ls", enter=True)
    assert desk.screen(pane).rstrip().endswith("echo half")
    await desk.call("send-keys", paneId=pane, keys=" more", enter=True, force=True)
    await desk.wait_for_screen(pane, "\nhalf more\n")


# bash removes the line before our key answers, and draws it again after that: here, half a second later.
SLOW_TO_DRAW = (
    'mkfifo never; exec 9<>never; eval "answer() $(declare -f __muxpilot_key | tail -n +2)";'
    " __muxpilot_key() { answer; read -t 0.5 -u 9 _; }"
)


async def test_a_persons_line_is_not_entered_while_bash_draws_it_again(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, SLOW_TO_DRAW)
    await desk.type_half_line(pane, "echo half")
    refused = [
        desk.expect_error("send-keys", paneId=pane, keys="ls", enter=True),
        desk.expect_error("execute-command", paneId=pane, command="ls"),
        desk.expect_error("paste-text", paneId=pane, content="ls", enter=True),
    ]
    for text in await asyncio.gather(*refused):
        assert "typed" in text
    await desk.wait_for_screen(pane, " echo half")
    await desk.call("send-keys", paneId=pane, keys=" more", enter=True, force=True)
    screen = await desk.wait_for_screen(pane, "\nhalf more\n")
    assert "command not found" not in screen


async def test_a_persons_line_in_a_pane_that_we_never_saw_is_not_entered(desk: Desk) -> None:
    pane = await desk.person_pane("bash", "--norc", shows=PROMPT)
    desk.type_as_person(pane, "echo half")
    await desk.wait_for_screen(pane, "echo half")
    assert "half typed" in await desk.expect_error("send-keys", paneId=pane, keys="ls", enter=True)
    await desk.call("send-keys", paneId=pane, keys="C-u", literal=False)
    await desk.call("send-keys", paneId=pane, keys="echo theirs", enter=True)
    await desk.wait_for_screen(pane, "\ntheirs\n")


@pytest.mark.parametrize("is_known", [True, False])
async def test_what_the_agent_typed_itself_is_entered(desk: Desk, *, is_known: bool) -> None:
    pane = await (desk.own_pane() if is_known else desk.person_pane("bash", "--norc", shows=PROMPT))
    if is_known:
        await desk.run(pane, "true")
    await desk.call("send-keys", paneId=pane, keys="echo ")
    await desk.call("paste-text", paneId=pane, content="mine")
    await desk.wait_for_screen(pane, "echo mine")
    await desk.call("send-keys", paneId=pane, keys="Enter", literal=False)
    await desk.wait_for_screen(pane, "\nmine\n")
    await desk.wait_for_prompt(pane)
    await desk.call("send-keys", paneId=pane, keys="Up", literal=False)
    await desk.call("send-keys", paneId=pane, keys="", enter=True)
    await desk.wait_for_screen(pane, "\nmine\n" + desk.screen(pane).splitlines()[0][:3])


async def test_a_persons_text_before_the_agents_is_not_entered(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    await desk.type_half_line(pane, "echo half ")
    await desk.call("send-keys", paneId=pane, keys="again")
    await desk.wait_for_output(pane, b"again")
    assert "half typed" in await desk.expect_error("send-keys", paneId=pane, keys="", enter=True)


async def test_the_answer_to_a_program_is_typed_without_a_question(desk: Desk) -> None:
    pane = await desk.own_pane()
    asked = await desk.run(pane, "read -p 'Name: ' x; echo got $x")
    desk.type_as_person(pane, "An")
    await desk.wait_for_output(pane, b"An")
    await desk.call("send-keys", paneId=pane, keys="na", enter=True)
    assert (await desk.get_result(asked))["output"].endswith("got Anna\n")
