"""Only news of the shell itself ends a command: replayed, inherited and repeated marks change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from muxpilot.tmux import PaneId
from tests.rigs.waiting import eventually
from tests.shells.conftest import NESTED, SHELLS, Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def record_raw(desk: Desk, pane: str, file: Path) -> None:
    """Run commands, and write all bytes that the pane printed to a file, marks included."""
    await desk.run(pane, "echo earlier")
    assert (await desk.run(pane, "sh -c 'exit 7'"))["exitCode"] == 7
    await desk.wait_for_prompt(pane)
    stream = desk.app.servers.default.streams.find_stream(PaneId(pane))
    assert stream is not None
    # The terminal would answer a question about the cursor, and type that answer.
    file.write_bytes(stream.read(stream.start, stream.end).replace(b"\x1b[6n", b""))
    assert file.read_bytes().count(b"\x1b]133;D;7;") >= 1


def print_at(desk: Desk, pane: str, file: Path) -> None:
    """Print a file on the pane's terminal, as a background program would."""
    terminal = Path(desk.run_tmux("display-message", "-p", "-t", pane, "#{pane_tty}"))
    with terminal.open("wb") as out:
        out.write(file.read_bytes() + b"\r\n")


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_raw_log_that_a_command_prints_ends_nothing(desk: Desk, shell: str, tmp_path: Path) -> None:
    pane, log = await desk.own_pane(shell), tmp_path / "log"
    await record_raw(desk, pane, log)
    for _ in range(2):
        answer = await desk.run(pane, f"cat {log} {log}; echo end; sh -c 'exit 3'")
        assert (answer["status"], answer["exitCode"], answer.get("reason")) == ("failed", 3, None)
        assert answer["output"].endswith("end\n")
    assert (await desk.run(pane, "echo next"))["output"] == "next\n"


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_raw_log_that_is_printed_while_a_command_runs_ends_nothing(
    desk: Desk, shell: str, tmp_path: Path
) -> None:
    pane, log, barrier = await desk.own_pane(shell), tmp_path / "log", desk.barrier()
    await record_raw(desk, pane, log)
    running = await desk.start_program(pane, barrier.command)
    print_at(desk, pane, log)
    await desk.wait_for_screen(pane, "earlier\n")
    assert (await desk.get_result(running, wait_ms=0))["status"] == "running"
    barrier.open()
    assert (await desk.get_result(running))["exitCode"] == 0


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_raw_log_that_is_printed_at_the_prompt_changes_nothing(
    desk: Desk, shell: str, tmp_path: Path
) -> None:
    pane, log = await desk.own_pane(shell), tmp_path / "log"
    await record_raw(desk, pane, log)
    print_at(desk, pane, log)
    answer = await desk.run(pane, "echo ours; sh -c 'exit 4'")
    assert (answer["output"], answer["exitCode"]) == ("ours\n", 4)


@pytest.mark.parametrize("shell", NESTED)
async def test_a_raw_log_of_the_outer_shell_ends_no_shell_inside(
    desk: Desk, shell: str, tmp_path: Path
) -> None:
    desk.find_program(shell)
    pane, log = await desk.own_pane(), tmp_path / "log"
    await record_raw(desk, pane, log)
    outer = await desk.run(pane, NESTED[shell])
    assert outer["waitingForInput"]
    await desk.run(pane, "echo inside")
    inner = await desk.run(pane, f"cat {log}; sh -c 'exit 3'")
    assert inner["exitCode"] == 3
    assert (await desk.get_result(outer, wait_ms=0))["status"] == "running"
    assert (await desk.run(pane, "exit 5"))["exitCode"] == 5
    assert (await desk.get_result(outer))["exitCode"] == 5


# fish keeps its prompt in a function, which no child inherits.
INHERITED = [shell for shell in SHELLS if shell != "fish"]


@pytest.mark.parametrize("inner", INHERITED)
@pytest.mark.parametrize("shell", INHERITED)
async def test_a_child_that_has_inherited_the_prompt_does_not_speak_for_its_parent(
    desk: Desk, shell: str, inner: str
) -> None:
    desk.find_program(inner)
    pane = await desk.own_pane(shell)
    await desk.run(pane, "export PS1 PS2")
    outer = await desk.run(pane, NESTED[inner])
    assert (outer["status"], outer["waitingForInput"]) == ("running", True)
    assert (await desk.run(pane, "echo inside"))["output"] == "inside\n"
    assert (await desk.run(pane, "exit 4"))["exitCode"] == 4
    assert (await desk.get_result(outer))["exitCode"] == 4
    assert (await desk.run(pane, "echo outside"))["output"] == "outside\n"


@pytest.mark.parametrize("inner", ["bash", "zsh"])
@pytest.mark.parametrize("shell", SHELLS)
async def test_a_shell_that_a_person_opened_inside_takes_the_next_command(
    desk: Desk, shell: str, inner: str
) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "true")
    outer_pid = (await desk.call("pane-state", paneId=pane))["foregroundPid"]
    desk.type_as_person(pane, f"{NESTED[inner]}", "Enter")

    async def is_inside() -> bool:
        state = await desk.call("pane-state", paneId=pane)
        return bool(state["foregroundPid"] != outer_pid and state["foregroundCmd"] == inner)

    await eventually(is_inside)
    answer = await desk.run(pane, f"echo ${inner.upper()}_VERSION")
    assert answer["output"].strip()[:1].isdigit()
    assert (await desk.run(pane, "exit 6"))["exitCode"] == 6
    assert (await desk.run(pane, "echo outside"))["output"] == "outside\n"


CLOCK = "RPROMPT='%D{%H:%M:%S}'; TMOUT=1; TRAPALRM() { zle reset-prompt }"


@pytest.mark.parametrize("outer", [None, "bash --norc", "dash"])
async def test_a_prompt_that_draws_itself_each_second_holds_nothing_up(desk: Desk, outer: str | None) -> None:
    pane = await desk.own_pane("zsh" if outer is None else outer.split()[0])
    if outer is not None:
        assert (await desk.run(pane, "zsh -f"))["waitingForInput"]
    await desk.run(pane, CLOCK)
    await desk.wait_until_redrawn(pane)
    await desk.check_exit_codes(pane)


async def test_a_shell_that_redraws_before_we_know_it_takes_commands(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    desk.type_as_person(pane, "zsh -f", "Enter")
    await desk.wait_for_program(pane, "zsh")
    desk.type_as_person(pane, CLOCK, "Enter")
    await desk.wait_for_screen(pane, ":")
    answer = await desk.run(pane, "echo $ZSH_VERSION", timeoutSeconds=15)
    assert answer["status"] == "completed"
