"""A pane that is occupied is told at once, and what waits runs only in the shell that it was meant for."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from muxpilot.processes.state import ForegroundState, read_state
from muxpilot.shells import pane_context
from muxpilot.shells.occupant import Obstacle
from muxpilot.shells.prompt_ready import PromptWaiter
from muxpilot.tmux import PaneId
from tests.shells.conftest import SHELLS, Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")

# The promise is one second. A busy machine takes longer, but not nearly as long as the call's timeout.
TOLD_S = 10.0


async def expect_refusal(desk: Desk, pane: str, command: str = "touch never") -> str:
    """Return the error of a command that the pane does not take, told before the timeout."""
    began = asyncio.get_running_loop().time()
    text = await desk.expect_error("execute-command", paneId=pane, command=command)
    assert asyncio.get_running_loop().time() - began < TOLD_S
    assert "Nothing was typed" in text
    return text


# What runs, what the error says, and what it advises.
OURS = {
    "a question": ("read -p 'Name? ' x", "Name?", "send-keys"),
    "a password": ("read -s -p 'Password: ' x", "a password", "send-keys"),
    "a program that reads": ("cat", "a line of input", "send-keys"),
    "a REPL": ("python3 -q", "'>>>'", "run-in-repl"),
    "a pager": ("seq 1 500 | less", "The pager less", "Leave it with q"),
}


@pytest.mark.parametrize("case", OURS)
async def test_a_command_of_ours_that_waits_for_input_is_told_with_what_to_do(desk: Desk, case: str) -> None:
    command, what, advice = OURS[case]
    pane = await desk.own_pane()
    running = await desk.run(pane, command)
    assert running["waitingForInput"], running
    text = await expect_refusal(desk, pane)
    assert what in text
    assert advice in text
    assert "never" not in desk.screen(pane)
    rows = (await desk.call("list-commands", paneId=pane))["commands"]
    assert [row["command"] for row in rows] == [command]


# What a person types, what the pane prints then, and the same as above.
THEIRS = {
    "a program that runs": ("sleep 60", b"", "sleep is running", "another pane"),
    "a REPL": ("python3 -q", b">>>", "'>>>'", "run-in-repl"),
    "a pager": ("seq 1 500 | less", b"\n:", "The pager less", "Leave it with q"),
    "a program that prints": ("yes", b"", "yes is running", "another pane"),
    "half a command": ("echo 'open", b"133;P;", "not complete", "C-c"),
}


@pytest.mark.parametrize("case", THEIRS)
async def test_a_persons_program_is_told_with_what_to_do(desk: Desk, case: str) -> None:
    command, shows, what, advice = THEIRS[case]
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    desk.type_as_person(pane, command, "Enter")
    if shows:
        await desk.wait_for_output(pane, shows)
    else:
        await desk.wait_for_program(pane, command.split()[0])
    text = await expect_refusal(desk, pane)
    assert what in text
    assert advice in text
    desk.run_tmux("kill-pane", "-t", pane)


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_persons_half_typed_line_is_told_and_left_alone(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "echo first")
    await desk.type_half_line(pane, "echo th")
    assert "typed at the prompt" in await expect_refusal(desk, pane)
    desk.type_as_person(pane, "eirs", "Enter")
    await desk.wait_for_screen(pane, "\ntheirs")
    assert "never" not in desk.screen(pane)


async def test_a_command_that_begins_to_wait_frees_the_call_that_waits_behind_it(desk: Desk) -> None:
    pane = await desk.own_pane()
    asked = await desk.run(pane, "sh -c 'sleep 0.3; read x'", waitMs=0)
    assert "line of input" in await expect_refusal(desk, pane)
    desk.type_as_person(pane, "", "Enter")
    assert (await desk.get_result(asked))["status"] == "completed"


async def test_what_is_queued_behind_a_persons_program_runs_when_that_has_ended(desk: Desk) -> None:
    pane = await desk.person_pane("bash", "--norc", shows="#" if os.getuid() == 0 else "$")
    barrier = desk.barrier()
    desk.type_as_person(pane, f"{barrier.command}; {barrier.command}; echo theirs", "Enter")
    await desk.wait_for_program(pane, "sh")
    queued = await desk.run(pane, "echo ours", timeoutSeconds=0.1, queue=True)
    assert queued["status"] == "queued"
    barrier.open()
    assert (await desk.get_result(queued))["output"] == "ours\n"


async def test_what_is_queued_for_a_shell_that_ends_is_lost_and_not_run_outside(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "bash --norc")
    await desk.run(pane, "true")
    barrier = desk.barrier()
    desk.type_as_person(pane, f"{barrier.command}; exit", "Enter")
    await desk.wait_for_program(pane, "sh")
    queued = await desk.run(pane, f"touch {desk.folder}/outside", timeoutSeconds=0.1, queue=True)
    barrier.open()
    ended = await desk.get_result(queued)
    assert (ended["status"], ended["exitCode"]) == ("lost", None)
    assert "ended" in ended["reason"]
    await desk.run(pane, "true")
    assert not Path(desk.folder, "outside").exists()


@pytest.fixture
def fake_ssh(desk: Desk) -> Path:
    """Return a program called ssh that asks for a password, and opens a shell where that is right."""
    file = desk.folder / "fake" / "ssh"
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        "#!/bin/sh\nprintf 'password: '; stty -echo; read x; stty echo; echo\n"
        '[ "$x" = right ] || exit 255\nbash --norc\n'
    )
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("by", ["us", "a person"])
async def test_nothing_that_was_meant_for_the_far_shell_runs_here(
    desk: Desk, fake_ssh: Path, by: str
) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    if by == "us":
        opened = await desk.run(pane, f"{fake_ssh} host")
        assert (opened["waitingFor"], opened["status"]) == ("password", "running")
    else:
        desk.type_as_person(pane, f"{fake_ssh} host", "Enter")
        await desk.wait_for_screen(pane, "password:")
    assert "password" in await expect_refusal(desk, pane)
    file = desk.folder / f"who-{desk.unused_name()}"
    queued = await desk.run(pane, f"touch {file}", timeoutSeconds=0.1, queue=True)
    assert queued["status"] == "queued"
    desk.run_tmux("send-keys", "-t", pane, "C-c")
    ended = await desk.get_result(queued)
    assert ended["status"] == "lost", ended
    assert "not run" in ended["reason"]
    await desk.run(pane, "true")
    assert not file.exists()


@pytest.mark.parametrize("by", ["us", "a person"])
async def test_what_is_queued_behind_a_login_runs_in_the_shell_that_it_opens(
    desk: Desk, fake_ssh: Path, by: str
) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "level=outer")
    if by == "us":
        await desk.run(pane, f"{fake_ssh} host")
    else:
        desk.type_as_person(pane, f"{fake_ssh} host", "Enter")
        await desk.wait_for_screen(pane, "password:")
    queued = await desk.run(pane, "echo ${level-inner}", timeoutSeconds=0.1, queue=True)
    desk.type_as_person(pane, "right", "Enter")
    ended = await desk.get_result(queued)
    assert (ended["status"], ended["output"]) == ("completed", "inner\n")


async def test_a_login_that_failed_meanwhile_is_told_with_the_next_answer(desk: Desk, fake_ssh: Path) -> None:
    pane = await desk.own_pane()
    opened = await desk.run(pane, f"{fake_ssh} host")
    assert opened["waitingFor"] == "password"
    desk.type_as_person(pane, "wrong", "Enter")
    await desk.wait_for_prompt(pane)
    answer = await desk.run(pane, "echo here")
    assert (answer["status"], answer["output"]) == ("completed", "here\n")
    assert f"{fake_ssh} host" in answer["reason"]
    assert "exit code 255" in answer["reason"]
    assert "reason" not in await desk.run(pane, "echo again")


async def test_a_wrong_password_for_su_is_told(desk: Desk) -> None:
    if os.getuid() != 0:
        pytest.skip("only root may become somebody else without a password")
    pane = await desk.own_pane()
    await desk.run(pane, "su -s /bin/bash nobody")
    asked = await desk.run(pane, "su root")
    assert asked["waitingFor"] == "password", asked
    desk.type_as_person(pane, "wrong", "Enter")
    ended = await desk.get_result(asked)
    assert (ended["status"], ended["exitCode"]) == ("failed", 1)
    assert (await desk.run(pane, "id -un"))["output"] == "nobody\n"


async def test_a_shell_that_takes_long_to_start_is_waited_for(desk: Desk) -> None:
    (desk.folder / "slow").write_text("sleep 2; PS1='slow$ '\n")
    pane = await desk.person_pane("sh", "-c", f"echo up; exec bash --rcfile {desk.folder}/slow", shows="up")
    assert (await desk.run(pane, "echo ready"))["output"] == "ready\n"


async def test_a_terminal_inside_the_pane_is_not_taken_for_a_shell(desk: Desk) -> None:
    pane = await desk.own_pane()
    inner = f"env -u TMUX tmux -f /dev/null -S {desk.folder}/inner new -s in"
    opened = await desk.run(pane, inner)
    try:
        assert (opened["status"], opened["waitingFor"]) == ("running", "key"), opened
        assert "tmux" in opened["reason"]
        assert "[in]" in opened["screen"]
        assert "tmux is in front" in await expect_refusal(desk, pane)
        assert "stty" not in desk.screen(pane)
    finally:
        desk.run_tmux("-S", f"{desk.folder}/inner", "kill-server")
    assert (await desk.get_result(opened))["status"] in ("completed", "failed")


async def test_a_full_screen_program_is_answered_with_its_screen(desk: Desk) -> None:
    pane = await desk.own_pane()
    answer = await desk.run(pane, "seq 1 500 | less")
    assert answer["waitingFor"] == "pager"
    rows = answer["screen"].splitlines()
    assert rows[:3] == ["1", "2", "3"]
    assert all(row == row.rstrip() and row for row in rows)


async def test_a_repl_wants_a_line_and_names_its_tool(desk: Desk) -> None:
    pane = await desk.own_pane()
    answer = await desk.run(pane, "python3 -q")
    assert answer["waitingFor"] == "line"
    assert "'>>>'" in answer["reason"]
    assert "run-in-repl" in answer["reason"]
    assert "screen" not in answer


async def test_run_on_tells_an_occupied_pane_and_runs_in_the_others(desk: Desk) -> None:
    busy, free = await desk.own_pane(), await desk.own_pane()
    await desk.run(busy, "cat")
    answer = await desk.call("run-on", command="echo x", panes=[{"paneId": busy}, {"paneId": free}])
    assert [row["status"] for row in answer["results"]] == ["lost", "completed"]
    assert "occupied" in answer["results"][0]["reason"]


async def test_a_shell_that_is_killed_loses_its_command(desk: Desk) -> None:
    pane = await desk.own_pane()
    shell_pid = int(desk.run_tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))
    asked = await desk.start_program(pane, "sleep 60")
    os.kill(shell_pid, 9)
    ended = await desk.get_result(asked)
    assert (ended["status"], ended["exitCode"]) == ("lost", None)
    assert "signal 9" in ended["reason"]


async def test_many_commands_in_a_row_are_never_taken_for_an_occupant(desk: Desk) -> None:
    pane = await desk.own_pane()
    for number in range(30):
        assert (await desk.run(pane, f"echo {number}"))["output"] == f"{number}\n"
    answers = await asyncio.gather(*(desk.run(pane, f"sh -c 'echo {n}'") for n in range(30)))
    assert [answer["output"] for answer in answers] == [f"{n}\n" for n in range(30)]


@pytest.mark.parametrize("shell", ["bash", "dash", "ash", "ksh93", "mksh"])
async def test_a_shell_that_a_person_started_inside_another_takes_commands(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "level=outer")
    desk.type_as_person(pane, "PS1='inner$ ' bash --norc", "Enter")
    await desk.wait_for_screen(pane, "\ninner$")
    answer = await desk.run(pane, "echo ${level-inner}")
    assert (answer["status"], answer["output"]) == ("completed", "inner\n")
    assert (await desk.run(pane, "exit 4"))["exitCode"] in (4, None)
    assert (await desk.run(pane, "echo $level"))["output"] == "outer\n"


OCCUPANT = Obstacle("A program is running in the pane.", "Wait for it", is_occupant=True)


async def test_what_is_in_front_for_one_late_look_is_no_occupant(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    find_obstacle, looks = PromptWaiter._find_obstacle, list[float]()

    async def find_late(waiter: PromptWaiter) -> Obstacle | None:
        assert waiter._command is not None
        if waiter._command.elapsed_s <= waiter._pane.timing.occupied_s:
            return Obstacle("The pane is busy.")
        looks.append(waiter._command.elapsed_s)
        return OCCUPANT if len(looks) == 1 else await find_obstacle(waiter)

    monkeypatch.setattr(PromptWaiter, "_find_obstacle", find_late)
    assert (await desk.run(pane, "echo ran"))["output"] == "ran\n"
    assert len(looks) > 1


async def test_a_shell_that_is_busy_with_its_own_prompt_is_no_occupant(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    known = desk.app.services.shells.find_pane(desk.app.servers.default, PaneId(pane))
    assert known is not None
    assert known.stack.innermost is not None
    busy = ForegroundState(
        None,
        is_known=True,
        foreground_pid=known.stack.innermost.pid,
        foreground_cmd="bash",
        is_shell=True,
        evidence="runs, or waits for something else",
    )
    began = asyncio.get_running_loop().time()
    busy_s = 3 * known.pane.timing.occupied_s

    def is_busy() -> bool:
        return asyncio.get_running_loop().time() < began + busy_s

    async def read_busy_state(pane: object) -> ForegroundState:
        return busy if is_busy() else await read_state(known.pane.row)

    # A program of the prompt has the terminal in the moment in which it is looked for.
    monkeypatch.setattr(known.pane, "is_in_foreground", lambda shell: not is_busy())
    monkeypatch.setattr(pane_context, "read_state", read_busy_state)
    assert (await desk.run(pane, "echo ran"))["output"] == "ran\n"
    assert not is_busy()


async def test_a_program_that_shows_no_prompt_is_told_without_an_empty_one(desk: Desk) -> None:
    pane = await desk.own_pane()
    answer = await desk.run(pane, "cat")
    assert answer["reason"] == "It waits for a line of input."
    text = await desk.expect_error("execute-command", paneId=pane, command="echo no")
    assert "It waits for a line of input. Nothing was typed." in text
