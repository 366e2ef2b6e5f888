"""What the next muxpilot says where records are missing, forgotten, or not files of ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.muxpilots import call_and_wait, killed_server, one_server, write_config
from tests.rigs.shell_panes import create_plain_pane
from tests.rigs.waiting import eventually
from tests.rigs.wire import Place, Wire
from tests.rigs.witness import Witness
from tests.shells.conftest import Barrier

WAIT_MS = 20_000


async def test_a_shell_that_was_opened_before_all_commands_that_are_kept_is_not_opened_again(
    place: Place,
) -> None:
    """Its ticket is known to be used, although the commands after it are forgotten."""
    args = write_config(place, completed_max_entries=1)
    pane = create_plain_pane(place)
    async with killed_server(place, *args) as first:
        opened = await first.call("execute-command", paneId=pane, command="bash --norc")
        assert opened["waitingFor"] == "shell"
        depth = [await _print_depth(first, pane) for _ in range(4)]
    async with one_server(place, *args) as second:
        told = await call_and_wait(
            second, "get-command-result", commandId=opened["commandId"], waitMs=WAIT_MS
        )
        assert (told["status"], told["waitingFor"]) == ("running", "shell"), told
        assert await _print_depth(second, pane) == depth[0]


async def test_a_command_goes_on_in_a_shell_that_is_not_the_process_of_its_pane(
    place: Place, witness: Witness
) -> None:
    barrier = Barrier(Path(place.socket).with_name("barrier"))
    pane = place.tmux("new-session", "-dP", "-F", "#{pane_id}", "sh -c 'bash --norc; true'")
    async with killed_server(place) as first:
        asked = witness.make_command("fails", pane)
        text = asked.text.replace("; ", f"; {barrier.command}; ", 1)
        running = await first.call("execute-command", paneId=pane, command=text, waitMs=0)
        assert running["status"] == "running"
    async with one_server(place) as second:
        assert (await _get_result(second, running))["status"] == "running"
        barrier.open()
        told = await _get_result(second, running, waitMs=WAIT_MS)
    assert asked.is_told_by(told), told


async def test_a_command_is_lost_when_its_pane_is_respawned_in_the_gap(place: Place) -> None:
    pane = create_plain_pane(place)
    async with killed_server(place) as first:
        running = await first.call("execute-command", paneId=pane, command="sleep 600", waitMs=0)
    place.tmux("respawn-pane", "-k", "-t", pane, "bash --norc")
    async with one_server(place) as second:
        told = await _get_result(second, running, waitMs=WAIT_MS)
        assert (told["status"], told["exitCode"]) == ("lost", None), told
        assert (await _run(second, pane, "echo new"))["output"] == "new\n"


async def test_a_queued_command_is_not_run_if_something_was_typed_that_no_record_tells(
    place: Place, witness: Witness
) -> None:
    """A full disk kept its muxpilot from writing down what it typed. So it may have run."""
    barrier = Barrier(Path(place.socket).with_name("barrier"))
    pane = create_plain_pane(place)
    async with killed_server(place) as first:
        await first.call("execute-command", paneId=pane, command=barrier.command, waitMs=0)
        queued = await first.call(
            "execute-command", paneId=pane, command=witness.make_command("quick", pane).text, waitMs=0
        )
    variable = f"muxpilot_typed_{pane.removeprefix('%')}"
    place.tmux("set-environment", "-g", "-h", variable, f"{queued['commandId']}.0123abcd")
    barrier.open()
    async with one_server(place) as second:
        told = await _get_result(second, queued, waitMs=WAIT_MS)
        assert (told["status"], "could not write down" in told["reason"]) == ("lost", True), told
        assert (await _run(second, pane, "echo next"))["output"] == "next\n"
    assert witness.begun() == []


async def test_a_muxpilot_that_can_write_nothing_down_tells_what_the_records_say(place: Place) -> None:
    pane = create_plain_pane(place)
    async with killed_server(place) as first:
        done = await _run(first, pane, "echo done")
        barrier = Barrier(Path(place.socket).with_name("barrier"))
        running = await first.call("execute-command", paneId=pane, command=barrier.command, waitMs=0)
    [owners] = place.home.rglob("owners")
    owners.chmod(0o755)  # a folder that others can enter is not used
    async with one_server(place) as second:
        assert (await _get_result(second, done))["output"] == "done\n"
        assert (await _get_result(second, running))["status"] == "running"
        barrier.open()
        assert (await _get_result(second, running, waitMs=WAIT_MS))["status"] == "completed"
        told = await _run(second, pane, "echo more")
    assert (told["output"], "could not write it down" in told["reason"]) == ("more\n", True)


async def test_an_exit_just_before_the_end_of_muxpilot_leaves_no_dead_pane(place: Place) -> None:
    for _ in range(3):
        pane = create_plain_pane(place)
        async with one_server(place) as wire:
            assert (await _run(wire, pane, "exit 6"))["exitCode"] == 6
        assert pane not in place.tmux("list-panes", "-a", "-F", "#{pane_id}").split()


async def test_a_queued_command_that_the_policy_denies_holds_up_nobody(
    place: Place, witness: Witness
) -> None:
    barrier, pane = Barrier(Path(place.socket).with_name("barrier")), create_plain_pane(place)
    asked = witness.make_command("quick", pane)
    async with killed_server(place) as first:
        await first.call("execute-command", paneId=pane, command=barrier.command, waitMs=0)
        queued = await first.call("execute-command", paneId=pane, command=asked.text, waitMs=0)
    barrier.open()
    config = place.home / "denies.toml"
    config.write_text('[security.command_filter]\nmode = "allowlist"\npatterns = ["echo mine"]\n')
    async with one_server(place, "--scope", "all", "--config", str(config)) as second:
        assert (await _get_result(second, queued))["status"] == "queued"
        assert (await _run(second, pane, "echo mine"))["output"] == "mine\n"
        told = await _get_result(second, queued)
    assert (told["status"], "policy" in told["reason"]) == ("lost", True), told
    assert witness.begun() == []


async def test_commands_go_on_after_the_journal_was_cut(place: Place) -> None:
    pane, begun = create_plain_pane(place), place.home / "begun"

    async def has_begun() -> bool:
        return begun.exists()

    async with killed_server(place) as first:
        await _run(first, pane, "seq 1 500")
        text = f"touch {begun}; sleep 600"
        running = await first.call("execute-command", paneId=pane, command=text, waitMs=0)
        await eventually(has_begun)
    for segment in place.home.rglob(f"{pane[1:]}/*-*/0*-0*"):
        os.truncate(segment, 10)
    place.tmux("send-keys", "-t", pane, "C-c")
    async with one_server(place) as second:
        told = await _get_result(second, running, waitMs=WAIT_MS)
        assert (told["status"], told["exitCode"]) == ("lost", None), told
        assert (await _run(second, pane, "echo more"))["output"] == "more\n"


@pytest.mark.parametrize("is_kept", [True, False], ids=["one", "both"])
async def test_muxpilots_that_keep_no_records_share_a_pane_with_others(place: Place, is_kept: bool) -> None:
    pane, args = create_plain_pane(place), write_config(place, journal=False)
    async with one_server(place, *args) as one, one_server(place, *(() if is_kept else args)) as two:
        for number in range(6):
            told = await _run((one, two)[number % 2], pane, f"echo {number}")
            assert (told.get("output"), told["status"]) == (f"{number}\n", "completed"), told


async def _get_result(wire: Wire, running: dict[str, Any], **arguments: int) -> dict[str, Any]:
    return await call_and_wait(wire, "get-command-result", commandId=running["commandId"], **arguments)


async def _run(wire: Wire, pane: str, text: str) -> dict[str, Any]:
    return await call_and_wait(wire, "execute-command", paneId=pane, command=text)


async def _print_depth(wire: Wire, pane: str) -> str:
    output: str = (await _run(wire, pane, "echo $SHLVL"))["output"]
    return output


async def test_records_that_cannot_be_read_are_told_and_hold_up_nobody(place: Place) -> None:
    pane, other = create_plain_pane(place), create_plain_pane(place)
    async with killed_server(place) as first:
        done = await _run(first, pane, "echo done")
    [records] = place.home.rglob("records")
    records.rename(records.with_name("moved"))
    records.symlink_to("moved")
    async with one_server(place) as second:
        for tool, arguments in (
            ("list-commands", {}),
            ("get-command-result", {"commandId": done["commandId"]}),
        ):
            result = await second.result("tools/call", {"name": tool, "arguments": arguments})
            assert result["isError"], result
            assert f"records of pane {pane} cannot be read" in result["content"][0]["text"]
        assert (await _run(second, other, "echo more"))["output"] == "more\n"
