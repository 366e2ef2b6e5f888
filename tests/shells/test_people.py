"""A person uses the same pane: their line, prompt and hooks are respected."""

from __future__ import annotations

import asyncio
import os
import shlex

import pytest

from muxpilot.timing import ShellTiming
from muxpilot.tmux import PaneId
from tests.rigs.waiting import LIMIT_S, eventually
from tests.shells.conftest import NESTED, SHELLS, Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")


def _is_user() -> bool:
    return os.getuid() != 0


async def test_a_command_waits_behind_a_program_that_a_person_started(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    barrier = desk.barrier()
    desk.type_as_person(pane, f"{barrier.command}; echo theirs", "Enter")
    await desk.wait_for_program(pane, "sh")
    waiting = await desk.run(pane, "echo ours", timeoutSeconds=0.2, queue=True)
    assert (waiting["status"], waiting["timedOut"]) == ("queued", True)
    barrier.open()
    assert (await desk.get_result(waiting))["output"] == "ours\n"
    rows = desk.screen(pane).splitlines()
    assert rows.index("theirs") < rows.index("ours")


@pytest.mark.parametrize("shell", SHELLS)
async def test_what_a_person_has_half_typed_is_left_alone(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "echo first")
    await desk.type_half_line(pane, "echo th")
    waiting = await desk.run(pane, "echo ours", timeoutSeconds=0.6, queue=True)
    await desk.wait_until_queued(waiting, "typed at the prompt")
    desk.type_as_person(pane, "eirs", "Enter")
    assert (await desk.get_result(waiting))["output"] == "ours\n"
    assert "theirs" in desk.screen(pane).splitlines()


# In the other shells, a line whose echo has not come yet cannot be told from ours.
TELL_A_START = ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_line_that_a_person_has_just_typed_is_not_taken_for_ours(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    desk.change_timing(monkeypatch, occupied_s=LIMIT_S)  # a busy machine takes long to run their line
    pane = await desk.own_pane(shell)
    await desk.run(pane, "echo first")
    for n in range(3):
        desk.type_as_person(pane, f"echo theirs{n}; sh -c 'exit 7'", "Enter")
        if shell not in TELL_A_START:
            await desk.wait_for_output(pane, f"theirs{n}".encode())
        answer = await desk.run(pane, f"echo ours{n}")
        assert (answer["output"], answer["exitCode"]) == (f"ours{n}\n", 0)
    assert "theirs2" in desk.screen(pane).splitlines()


@pytest.mark.parametrize("shell", ["bash", "dash"])
async def test_of_a_persons_shell_that_ends_all_is_told_that_tmux_has_shown(desk: Desk, shell: str) -> None:
    program = ("env", "PS1=p> ", desk.find_program(shell), *NESTED[shell].split()[1:])
    for n in range(4):
        pane = await desk.person_pane(*program, shows="p>")
        desk.run_tmux("set-option", "-p", "-t", pane, "remain-on-exit", "on")
        answer = await desk.run(pane, f"echo one{n}; echo two{n}; exit 4")
        shown = [word for word in (f"one{n}", f"two{n}") if word in desk.screen(pane).splitlines()]
        assert (answer["output"].replace("exit\n", "").split(), answer["exitCode"]) == (shown, 4)
        assert shown or "not seen" in answer["reason"]


async def test_a_command_to_watch_is_refused_where_a_person_has_half_typed(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "echo first")
    await desk.type_half_line(pane, "echo th")
    started = {"paneId": pane, "command": "echo ours", "pattern": "ours", "timeout": 0.6}
    assert "typed at the prompt" in await desk.expect_error("start-and-watch", **started)
    desk.type_as_person(pane, "eirs", "Enter")
    assert (await desk.run(pane, "echo last"))["output"] == "last\n"
    assert "theirs" in desk.screen(pane).splitlines()
    assert "ours" not in desk.screen(pane)


async def test_a_pane_that_was_read_before_runs_its_first_command_at_once(desk: Desk) -> None:
    pane = await desk.person_pane("bash", "--norc", shows="$" if _is_user() else "#")
    await desk.call("read-pane", paneId=pane)
    desk.type_as_person(pane, "echo theirs", "Enter")
    await desk.wait_for_output(pane, b"theirs\r\n")
    asked_at = asyncio.get_running_loop().time()
    assert (await desk.run(pane, "echo ours"))["output"] == "ours\n"
    assert asyncio.get_running_loop().time() - asked_at < ShellTiming().read_stream_s


async def test_half_a_line_in_a_pane_that_we_never_saw_is_left_alone(desk: Desk) -> None:
    pane = await desk.person_pane("bash", "--norc", shows="$" if _is_user() else "#")
    desk.type_as_person(pane, "echo th")
    await desk.wait_for_screen(pane, "echo th")
    waiting = await desk.run(pane, "echo ours", timeoutSeconds=0.6, queue=True)
    assert waiting["status"] == "queued"
    desk.type_as_person(pane, "eirs", "Enter")
    assert (await desk.get_result(waiting))["output"] == "ours\n"
    assert "theirs" in desk.screen(pane).splitlines()


async def test_ctrl_c_of_a_person_is_told_as_what_it_was(desk: Desk) -> None:
    pane = await desk.own_pane()
    answer = await desk.start_program(pane, "sleep 60")
    desk.run_tmux("send-keys", "-t", pane, "C-c")
    ended = await desk.get_result(answer)
    assert (ended["status"], ended["exitCode"], ended["reason"]) == ("failed", 130, "Interrupted.")


# dash has no history, and these two shells cannot remove a line from theirs.
WITHOUT_A_WAY = ("dash", "ksh93", "ash")


@pytest.mark.parametrize("shell", NESTED)
async def test_a_persons_shell_is_joined_without_a_trace(desk: Desk, shell: str) -> None:
    desk.find_program(shell)
    command = shlex.split(NESTED[shell])
    pane = await desk.person_pane(*command, shows="#" if not _is_user() else "$")
    before = desk.screen(pane).rstrip()
    answer = await desk.run(pane, "echo hello")
    assert (answer["output"], answer["exitCode"]) == ("hello\n", 0)

    async def screen_after_command() -> str:
        screen = desk.screen(pane).rstrip()
        return screen if screen.count(before.splitlines()[-1]) == 2 else ""

    screen = str(await eventually(screen_after_command))
    prompt = before.splitlines()[-1]
    assert screen == f"{before} echo hello\nhello\n{prompt}"
    if shell not in WITHOUT_A_WAY:
        history = (await desk.run(pane, "history" if shell == "fish" else "fc -l"))["output"]
        assert "muxpilot" not in history
        assert "echo hello" in history


ROWS_OF_PROMPT = {
    "bash": ("bash --norc", "PS1='\\nfirst row\\nsecond \\$ '"),
    "zsh": ("zsh -f", "PS1=$'\\nfirst row\\nsecond %# '"),
    "fish": ("fish --no-config", "function fish_prompt; printf '\\nfirst row\\nsecond # '; end"),
}


@pytest.mark.parametrize("shell", ROWS_OF_PROMPT)
async def test_a_prompt_of_several_rows_is_joined_without_a_trace(desk: Desk, shell: str) -> None:
    desk.find_program(shell)
    command, prompt = ROWS_OF_PROMPT[shell]
    pane = await desk.person_pane(*shlex.split(command), shows="#")
    desk.type_as_person(pane, f"{prompt}; sh -c 'exit 3'", "Enter")
    await desk.wait_for_screen(pane, "\nfirst row\nsecond #")
    before = desk.screen(pane).rstrip()
    answer = await desk.run(pane, "echo $status" if shell == "fish" else "echo $?")
    assert answer["output"] == ("0\n" if shell == "fish" else "3\n")
    screen = await desk.wait_for_screen(pane, f"{answer['output']}\nfirst row\nsecond #")
    assert screen.startswith(f"{before} echo $")
    assert screen.count("first row") == before.count("first row") + 1


async def test_prompts_that_are_built_anew_keep_their_marks(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(
        pane, "build() { local s=$?; PS1=\"[$s $((++n))] \"; PS2='more> '; }; PROMPT_COMMAND=build; n=0"
    )
    assert (await desk.run(pane, "sh -c 'exit 3'"))["exitCode"] == 3
    assert (await desk.run(pane, "echo a"))["output"] == "a\n"
    assert (await desk.run(pane, 'echo "'))["waitingForInput"]
    assert (await desk.run(pane, "echo b"))["output"] == "b\n"
    screen = desk.screen(pane)
    assert "[3 2] echo a" in screen
    assert "more> " in screen


ADDED_HOOKS = {
    "after": 'PROMPT_COMMAND="$PROMPT_COMMAND; hook"',
    "close": 'PROMPT_COMMAND="${PROMPT_COMMAND:+$PROMPT_COMMAND;}hook"',
    "before": 'PROMPT_COMMAND="hook;$PROMPT_COMMAND"',
    "element": "PROMPT_COMMAND+=(hook)",
}


@pytest.mark.parametrize("how", ADDED_HOOKS)
async def test_a_hook_that_is_added_to_ours_gets_the_status_and_prints_no_output(
    desk: Desk, how: str
) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, f"hook() {{ seen=$?; echo from-the-hook; }}; {ADDED_HOOKS[how]}")
    answer = await desk.run(pane, "echo out; sh -c 'exit 7'")
    assert (answer["output"], answer["exitCode"]) == ("out\n", 7)
    assert (await desk.run(pane, "echo $seen"))["output"] == "7\n"
    assert "syntax error" not in desk.screen(pane)


FORGETFUL = {
    "bash": "PROMPT_COMMAND=(':')",
    "zsh": "precmd_functions=()",
}


@pytest.mark.parametrize("shell", FORGETFUL)
async def test_a_person_who_sets_the_hooks_anew_loses_no_exit_code(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, FORGETFUL[shell])
    assert (await desk.run(pane, "sh -c 'exit 6'"))["exitCode"] == 6
    assert (await desk.run(pane, "echo $?"))["output"].strip() == "6"


async def test_the_persons_hooks_and_traps_still_work(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(
        pane,
        "PS0='go '; trap 'echo trapped' USR1; set -o pipefail; hook() { seen=$?; }; PROMPT_COMMAND+=(hook)",
    )
    answer = await desk.run(pane, "kill -USR1 $$; sh -c 'exit 6' | cat")
    assert answer["exitCode"] == 6
    assert "trapped" in answer["output"]
    assert (await desk.run(pane, "echo $seen"))["output"].endswith("6\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_line_that_a_person_types_ahead_is_not_taken_for_ours(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    barrier = desk.barrier()
    running = await desk.start_program(pane, barrier.command)
    desk.type_as_person(pane, "echo person", "Enter")
    answer = await desk.run(pane, "echo mine", timeoutSeconds=0.1)
    assert answer["status"] == "queued"
    barrier.open()
    assert (await desk.get_result(answer))["output"] == "mine\n"
    assert (await desk.get_result(running))["status"] == "completed"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_half_a_line_typed_ahead_is_left_alone(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    barrier = desk.barrier()
    await desk.start_program(pane, barrier.command)
    desk.type_as_person(pane, "echo th")
    waiting = await desk.run(pane, "echo ours", timeoutSeconds=0.1)
    barrier.open()
    await desk.wait_until_queued(waiting, "typed at the prompt")
    desk.type_as_person(pane, "eirs", "Enter")
    assert (await desk.get_result(waiting))["output"] == "ours\n"
    assert "theirs" in desk.screen(pane).splitlines()


async def test_a_pane_that_a_person_respawns_takes_commands_again(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    known = desk.app.services.shells.find_pane(desk.app.servers.default, PaneId(pane))
    desk.run_tmux("respawn-pane", "-k", "-t", pane)

    async def is_end_known() -> bool:
        return known is not None and known.end_reason is not None

    await eventually(is_end_known)
    assert (await desk.run(pane, "echo after"))["output"] == "after\n"
    assert "7717" not in desk.screen(pane)


async def test_a_person_who_keeps_dead_panes_keeps_them(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")

    async def is_released() -> bool:
        return not desk.run_tmux("show-options", "-p", "-t", pane, "remain-on-exit")

    await eventually(is_released)
    desk.run_tmux("set-option", "-p", "-t", pane, "remain-on-exit", "on")
    answer = await desk.run(pane, "exit 7")
    assert answer["exitCode"] == 7
    assert desk.run_tmux("display-message", "-p", "-t", pane, "#{pane_dead}") == "1"


@pytest.mark.parametrize("shell", ["bash", "zsh"])
async def test_a_shell_that_traces_shows_its_own_commands_only(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "set -x")
    answer = await desk.run(pane, "echo one")
    assert answer["output"].splitlines()[1:] == ["one"]
    assert answer["output"].startswith("+")
    assert (await desk.run(pane, "sh -c 'exit 3'"))["exitCode"] == 3
    await desk.type_half_line(pane, "echo half")
    assert (await desk.run(pane, "echo two", timeoutSeconds=0.6, queue=True))["status"] == "queued"
    assert "muxpilot" not in desk.screen(pane)
    assert "133;" not in desk.screen(pane)
