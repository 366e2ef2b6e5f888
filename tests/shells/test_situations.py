"""What happens around commands: programs that wait, queues, cancelling, shells inside shells."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.rigs.waiting import LIMIT_S, eventually
from tests.shells.conftest import NESTED, SHELLS, Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")

WAITING = {
    "a line": ("read x", "line of input"),
    "a question": ('read -p "Name? " x', "Name?"),
    "a password": ("read -s -p 'Password: ' x", "a password at 'Password:'"),
    "a program that reads": ("cat", "line of input"),
    "a key": ('python3 -c "import tty, sys; tty.setraw(0); sys.stdin.read(1)"', "a key"),
}


@pytest.mark.parametrize("case", WAITING)
async def test_a_command_that_waits_for_a_person_is_told_before_its_timeout(desk: Desk, case: str) -> None:
    command, words = WAITING[case]
    pane = await desk.own_pane()
    answer = await desk.run(pane, command)
    assert (answer["status"], answer["waitingForInput"], answer["timedOut"]) == ("running", True, False)
    assert words in answer["reason"]
    desk.type_as_person(pane, "x", "Enter", "C-d")

    async def is_over() -> bool:
        ended = await desk.get_result(answer)
        return ended["status"] in ("completed", "failed") and not ended["waitingForInput"]

    await eventually(is_over)


NOT_WAITING = ("sleep 0.8", "tail -n 0 -f /dev/null & sleep 0.8; kill $!", "sleep 0.8 | cat")


@pytest.mark.parametrize("command", NOT_WAITING)
async def test_a_command_that_only_takes_long_is_waited_for(desk: Desk, command: str) -> None:
    answer = await desk.run(await desk.own_pane(), command)
    assert answer["status"] in ("completed", "failed")
    assert not answer["waitingForInput"]


async def test_a_timeout_interrupts_nothing(desk: Desk) -> None:
    pane = await desk.own_pane()
    barrier = desk.barrier()
    asked = await desk.start_program(pane, f"{barrier.command}; echo late")
    assert (asked["timedOut"], asked["exitCode"]) == (True, None)
    answer = await desk.get_result(asked, wait_ms=100)
    assert (answer["status"], answer["timedOut"], answer["exitCode"]) == ("running", True, None)
    barrier.open()
    ended = await desk.get_result(answer)
    assert (ended["status"], ended["output"], ended["timedOut"]) == ("completed", "late\n", False)


async def test_commands_for_one_pane_run_in_the_order_of_asking(desk: Desk) -> None:
    pane = await desk.own_pane()
    answers = await asyncio.gather(*(desk.run(pane, f"sleep 0.02; echo {n}") for n in range(10)))
    assert [answer["output"] for answer in answers] == [f"{n}\n" for n in range(10)]


@pytest.fixture
def unhurried(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a cancelled command all the time that it needs to end."""
    desk.change_timing(monkeypatch, interrupt_s=LIMIT_S)


async def test_a_command_is_cancelled_while_it_runs_and_before_it_runs(desk: Desk, unhurried: None) -> None:
    pane = await desk.own_pane()
    running = await desk.start_program(pane, "sleep 60")
    queued = await desk.run(pane, "echo never", timeoutSeconds=0.1)
    assert queued["status"] == "queued"
    cancelled = await desk.call("cancel-command", commandId=queued["commandId"])
    assert (cancelled["status"], cancelled["exitCode"]) == ("cancelled", None)
    cancelled = await desk.call("cancel-command", commandId=running["commandId"])
    assert (cancelled["status"], cancelled["exitCode"]) == ("cancelled", 130)
    assert (await desk.run(pane, "echo next"))["output"] == "next\n"
    assert "never" not in desk.screen(pane)


async def test_an_incomplete_command_is_cancelled_though_fish_drops_the_first_key(
    desk: Desk, unhurried: None
) -> None:
    """fish drops a Ctrl-C that comes while a key binding runs: here one that only removes itself."""
    pane = await desk.own_pane("fish")
    await desk.run(pane, r"bind \cc 'bind --erase \cc'")
    answer = await desk.run(pane, "echo 'a")
    assert answer["waitingForInput"]
    cancelled = await desk.call("cancel-command", commandId=answer["commandId"])
    assert cancelled["status"] == "cancelled", cancelled
    assert (await desk.run(pane, "echo next"))["output"] == "next\n"


async def test_a_pane_that_is_killed_loses_its_commands_and_says_so(desk: Desk) -> None:
    pane = await desk.own_pane()
    running = await desk.start_program(pane, "sleep 60")
    queued = await desk.run(pane, "echo never", timeoutSeconds=0.1)
    desk.run_tmux("kill-pane", "-t", pane)
    for answer in (running, queued):
        ended = await desk.get_result(answer)
        assert (ended["status"], ended["exitCode"]) == ("lost", None)
        assert "pane" in ended["reason"]


async def test_a_shell_that_is_replaced_by_a_program_ends_with_its_code(desk: Desk) -> None:
    pane = await desk.own_pane()
    answer = await desk.run(pane, "exec sh -c 'sleep 0.3; exit 9'")
    assert (answer["status"], answer["exitCode"]) == ("failed", 9)


async def test_a_shell_that_is_replaced_by_another_loses_the_command_and_takes_the_next(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "exec bash --norc", timeoutSeconds=1)
    assert (await desk.run(pane, "echo new"))["output"] == "new\n"
    rows = (await desk.call("list-commands", paneId=pane))["commands"]
    assert [row["status"] for row in rows] == ["lost", "completed"]
    assert rows[0]["exitCode"] is None


@pytest.mark.parametrize("shell", NESTED)
async def test_a_command_that_opened_a_shell_lets_the_next_one_run_inside_it(desk: Desk, shell: str) -> None:
    desk.find_program(shell)
    pane = await desk.own_pane()
    outer = await desk.run(pane, NESTED[shell])
    assert (outer["status"], outer["waitingForInput"]) == ("running", True)
    assert "shell" in outer["reason"]
    await desk.run(pane, "cd /usr")
    inner = await desk.run(pane, "pwd")
    assert (inner["output"], inner["status"]) == ("/usr\n", "completed")
    left = await desk.run(pane, "exit 5")
    assert (left["status"], left["exitCode"]) == ("failed", 5)
    ended = await desk.get_result(outer)
    assert (ended["status"], ended["exitCode"], ended["waitingForInput"]) == ("failed", 5, False)
    assert (await desk.run(pane, "echo $?"))["output"] == "5\n"


async def test_su_to_another_user_is_a_shell_like_any_other(desk: Desk) -> None:
    if os.getuid() != 0:
        pytest.skip("only root may become somebody else without a password")
    pane = await desk.own_pane()
    outer = await desk.run(pane, "su -s /bin/bash nobody")
    assert outer["waitingForInput"]
    assert (await desk.run(pane, "id -un"))["output"] == "nobody\n"
    assert (await desk.run(pane, "exit 4"))["exitCode"] == 4
    assert (await desk.get_result(outer))["exitCode"] == 4


async def test_raw_mode_types_and_tracks_nothing(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    answer = await desk.run(pane, "echo typed", rawMode=True)
    assert (answer["status"], answer["exitCode"], answer["output"]) == ("running", None, "")
    await desk.wait_for_screen(pane, "\ntyped\n")
    await desk.run(pane, "echo only", noEnter=True)
    await desk.wait_for_screen(pane, "echo only")
    assert "\nonly" not in desk.screen(pane)


BAD: dict[str, tuple[dict[str, object], str]] = {
    "an empty command": ({"command": "  \n"}, "empty"),
    "a control character": ({"command": "echo \x03"}, "control character"),
    "a pane that is not there": ({"command": "true", "paneId": "%999"}, "not found"),
    "a negative timeout": ({"command": "true", "timeoutSeconds": -1}, "timeoutSeconds"),
    "a word for a number": ({"command": "true", "maxOutputBytes": "many"}, "maxOutputBytes"),
}


@pytest.mark.parametrize("case", BAD)
async def test_bad_arguments_say_what_to_do(desk: Desk, case: str) -> None:
    arguments, words = BAD[case]
    pane = await desk.shared_pane("bash")
    assert words in await desk.expect_error("execute-command", **{"paneId": pane, **arguments})


async def test_an_unknown_command_is_said_to_be_unknown(desk: Desk) -> None:
    for tool in ("get-command-result", "cancel-command"):
        assert "'cmd-0' not found" in await desk.expect_error(tool, commandId="cmd-0")


async def test_a_pane_whose_program_has_ended_takes_no_command(desk: Desk) -> None:
    pane = await desk.own_pane()
    desk.run_tmux("set-option", "-p", "-t", pane, "remain-on-exit", "on")
    answer = await desk.run(pane, "exit 2")
    assert answer["exitCode"] == 2
    assert "ended" in await desk.expect_error("execute-command", paneId=pane, command="true")
    assert desk.run_tmux("display-message", "-p", "-t", pane, "#{pane_dead}") == "1"


async def test_the_marks_of_others_are_output_like_any_other(desk: Desk, tmp_path: Path) -> None:
    """Print marks without our nonce: they end nothing."""
    script = tmp_path / "forge"
    marks = "".join(f"\\033]133;{kind};{'ab' * 16}\\007" for kind in ("D;7", "B", "C", "P", "I;bash.1"))
    script.write_text(f"printf '{marks}shown\\n'; sleep 0.2; echo end; exit 3\n")
    answer = await desk.run(await desk.shared_pane("bash"), f"sh {script}")
    assert (answer["output"], answer["exitCode"]) == ("shown\nend\n", 3)


@pytest.mark.timeout(240)
async def test_many_panes_run_side_by_side(desk: Desk) -> None:
    panes = await asyncio.gather(*(desk.own_pane() for _ in range(20)))

    async def work(number: int, pane: str) -> None:
        for step in range(5):
            command = f"seq {number} {number + 200} | sed s/^/{step}-/"
            answer = await desk.run(pane, command, timeoutSeconds=100)
            wanted = "".join(f"{step}-{n}\n" for n in range(number, number + 201))
            assert answer["output"] == wanted, {**answer, "step": step}

    async with asyncio.timeout(200):
        await asyncio.gather(*(work(1000 * n, pane) for n, pane in enumerate(panes)))


async def test_a_command_that_is_cancelled_before_it_began_never_runs(
    desk: Desk, tmp_path: Path, unhurried: None
) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    for number in range(10):
        file = tmp_path / str(number)
        answer = await desk.run(pane, f"touch {file}", timeoutSeconds=0)
        await asyncio.sleep(number / 2000)
        cancelled = await desk.call("cancel-command", commandId=answer["commandId"])
        assert cancelled["status"] in ("cancelled", "completed", "failed")  # by the Ctrl-C for the one before
        if cancelled["exitCode"] is None:
            assert not file.exists()


READERS = {
    "bash": 'read -e -p "Choose > " x',
    "zsh": 'vared -p "Choose > " -c x',
    "fish": "read x",
    "ksh93": 'read "x?Choose > "',
}


@pytest.mark.parametrize("shell", READERS)
async def test_a_shell_that_reads_a_line_itself_is_not_typed_into(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    reading = await desk.run(pane, READERS[shell])
    assert (reading["status"], reading["waitingForInput"]) == ("running", True)
    waiting = await desk.run(pane, "echo next", timeoutSeconds=1, queue=True)
    assert waiting["status"] == "queued"
    desk.type_as_person(pane, "answer", "Enter")
    assert (await desk.get_result(waiting))["output"] == "next\n"
    assert (await desk.get_result(reading))["status"] == "completed"
    assert "muxpilot" not in desk.screen(pane)


@pytest.mark.parametrize("shell", ["bash", "dash"])
async def test_an_exported_prompt_does_not_speak_for_the_shell_that_exported_it(
    desk: Desk, shell: str
) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "export PS1")
    inner = f"{shell} --norc" if shell == "bash" else shell
    assert (await desk.run(pane, inner))["waitingForInput"]
    assert (await desk.run(pane, "echo inside"))["output"] == "inside\n"
    assert (await desk.run(pane, "exit 4"))["exitCode"] == 4
    assert (await desk.run(pane, "echo outside"))["output"] == "outside\n"


async def test_what_waits_still_waits_when_asked_again(desk: Desk) -> None:
    pane = await desk.own_pane()
    answer = await desk.run(pane, 'read -p "Name? " x')
    for _ in range(3):
        again = await desk.get_result(answer)
        assert (again["waitingForInput"], again["timedOut"]) == (True, False)


async def test_slow_typing_is_one_command_too(desk: Desk) -> None:
    pane = await desk.own_pane()
    answer = await desk.run(pane, 'echo "a!b"\necho c', delayMs=2)
    assert answer["output"] == "a!b\nc\n"


async def test_a_status_that_nobody_told_is_not_made_up(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "bash --norc; true")
    left = await desk.run(pane, "exit 3")
    assert (left["status"], left["exitCode"]) == ("lost", None)


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_pane_is_at_its_prompt_when_its_command_has_ended(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    for _ in range(5):
        await desk.run(pane, "true")
        await desk.wait_for_prompt(pane)


async def test_a_command_that_no_pane_can_take_is_an_error_of_the_whole_call(desk: Desk) -> None:
    pane = await desk.own_pane()
    for command in ("", "echo \x1b"):
        assert "'command'" in await desk.expect_error("run-on", command=command, panes=[{"paneId": pane}])
