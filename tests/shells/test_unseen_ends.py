"""Commands whose end is missing in the output: the number of the shell's prompts shows it, and the status."""

from __future__ import annotations

import pytest

from muxpilot.shells.osc133 import MarkKind, ShellMark
from muxpilot.shells.shell_stack import ShellStack
from muxpilot.tmux import PaneId
from muxpilot.tmux.objects.input import Input
from tests.rigs.waiting import eventually
from tests.shells.conftest import Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")

LOST = (MarkKind.STATUS, MarkKind.PROMPT)


async def lose_marks(desk: Desk, pane: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop all marks of ends and prompts of the shell that is in the pane now."""
    await desk.run(pane, "true")
    known = desk.app.services.shells.find_pane(desk.app.servers.default, PaneId(pane))
    assert known is not None
    assert known.stack.innermost is not None
    nonce, feed_mark = known.stack.innermost.nonce, ShellStack.feed_mark

    def feed_some(stack: ShellStack, mark: ShellMark) -> bool:
        return not (mark.nonce == nonce and mark.kind in LOST) and feed_mark(stack, mark)

    monkeypatch.setattr(ShellStack, "feed_mark", feed_some)


async def test_the_exit_code_is_told_although_the_mark_of_the_end_is_missing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = await desk.own_pane()
    await lose_marks(desk, pane, monkeypatch)
    told = await desk.run(pane, "echo out; sh -c 'exit 5'")
    assert (told["status"], told["exitCode"]) == ("failed", 5), told
    assert told["output"].startswith("out\n")
    assert told["outputTruncated"]
    assert "ended while its output was interrupted" in told["reason"]
    assert (await desk.run(pane, "echo $?; echo next"))["output"] == "5\nnext\n"


async def test_a_status_that_may_be_another_commands_is_not_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane, barrier = await desk.own_pane(), desk.barrier()
    await lose_marks(desk, pane, monkeypatch)
    running = await desk.start_program(pane, barrier.command)
    desk.type_as_person(pane, "sh -c 'exit 6'; echo don''e", "Enter")  # typed ahead
    barrier.open()
    await desk.wait_for_screen(pane, "\ndone")
    told = await desk.get_result(running)
    assert (told["status"], told["exitCode"]) == ("lost", None), told


async def test_a_line_that_the_command_reads_with_the_editor_is_no_end(desk: Desk) -> None:
    pane = await desk.own_pane()
    asked = await desk.run(pane, "read -e -p 'Name? ' name; echo hello $name; sh -c 'exit 4'")
    assert (asked["status"], asked["waitingFor"]) == ("running", "line"), asked
    desk.type_as_person(pane, "bob", "Enter")

    async def is_over() -> bool:
        return bool((await desk.get_result(asked, wait_ms=100))["status"] == "failed")

    await eventually(is_over)
    told = await desk.get_result(asked)
    assert (told["exitCode"], told["outputTruncated"]) == (4, False), told
    assert told["output"] == "Name? bob\nhello bob\n"


async def test_a_shell_whose_key_is_unbound_is_asked_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, r"bind -r '\e[7717~'")
    pressed: list[bytes] = []
    send_bytes = Input.send_bytes

    async def note(typing: Input, pane: PaneId, data: bytes) -> None:
        pressed.append(data)
        await send_bytes(typing, pane, data)

    monkeypatch.setattr(Input, "send_bytes", note)
    asked = await desk.run(pane, "read -e -p 'Name? ' name")
    assert (asked["status"], asked["waitingFor"]) == ("running", "line"), asked
    first = len(pressed)
    again = await desk.get_result(asked, wait_ms=2000)
    assert (again["status"], again["waitingFor"]) == ("running", "line"), again
    assert len(pressed) == first
