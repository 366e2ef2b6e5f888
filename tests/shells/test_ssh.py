"""Commands through ssh, to a private sshd whose remote side has no tmux in its PATH."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rigs import sshd
from tests.rigs.waiting import eventually
from tests.shells.conftest import Desk
from tests.shells.test_replayed_marks import CLOCK

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class Far:
    """The command line that reaches the other side."""

    ssh: str


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    folder = tmp_path_factory.mktemp("ssh")
    bare = folder / "bin"
    bare.mkdir()
    for program in Path("/usr/bin").iterdir():
        if not program.name.startswith("tmux"):
            (bare / program.name).symlink_to(program)
    with sshd.run_sshd(folder, {"PATH": str(bare), "HOME": str(folder)}) as server:
        yield Far(f"ssh -t -o LogLevel=ERROR {server.arguments}")


SHELLS = {
    "bash": "env -i TERM=$TERM PATH=$PATH HOME=/nowhere bash --norc",
    "zsh": "env -i TERM=$TERM PATH=$PATH HOME=/nowhere zsh -f",
    "fish": "env TERM=$TERM PATH=$PATH HOME=/nowhere fish --no-config",
    "dash": "env -i TERM=$TERM PATH=$PATH HOME=/nowhere dash",
}


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_command_runs_in_the_shell_at_the_far_end(desk: Desk, far: Far, shell: str) -> None:
    desk.find_program(shell)
    pane = await desk.own_pane()

    async def is_reachable() -> bool:
        answer = await desk.run(pane, f"{far.ssh} true")
        return bool(answer["exitCode"] == 0)

    await eventually(is_reachable)
    outer = await desk.run(pane, f"{far.ssh} '{SHELLS[shell]}'")
    assert (outer["status"], outer["waitingForInput"]) == ("running", True), outer
    assert "shell" in outer["reason"]
    assert (await desk.run(pane, "cd /usr"))["exitCode"] == 0
    answer = await desk.run(pane, "pwd; command -v tmux; seq 1 300")
    assert answer["output"] == "/usr\n" + "".join(f"{n}\n" for n in range(1, 301))
    assert (await desk.run(pane, "sh -c 'exit 42'"))["exitCode"] == 42
    assert (await desk.run(pane, 'echo "open'))["waitingForInput"]
    assert (await desk.run(pane, "echo closed"))["output"] == "closed\n"
    assert (await desk.run(pane, "exit 7"))["exitCode"] == 7
    ended = await desk.get_result(outer)
    assert (ended["status"], ended["exitCode"]) == ("failed", 7)
    assert "muxpilot" not in desk.screen(pane)
    assert "stty -echo" not in desk.screen(pane)


async def test_a_command_over_ssh_that_takes_long_is_waited_for(desk: Desk, far: Far) -> None:
    pane = await desk.own_pane()
    answer = await desk.run(pane, f"{far.ssh} 'sleep 0.8; echo done'")
    assert (answer["status"], answer["waitingForInput"]) == ("completed", False)
    assert "done" in answer["output"]


async def open_far_shell(desk: Desk, far: Far) -> str:
    """Return a pane in which a command of ours stands at a prompt behind ssh."""
    pane = await desk.own_pane()
    outer = await desk.run(pane, f"{far.ssh} '{SHELLS['bash']}'")
    assert outer["waitingFor"] == "shell", outer
    return pane


# The command, a word of its prompt, and the input for run-in-repl with its answer.
FAR_REPLS = {"python3": ("python3 -q", ">>>", "6 * 7"), "sqlite3": ("sqlite3", "sqlite>", "select 6 * 7;")}


@pytest.mark.parametrize("program", FAR_REPLS)
async def test_a_repl_behind_ssh_is_not_taken_for_a_shell(desk: Desk, far: Far, program: str) -> None:
    desk.find_program(program)
    command, prompt, question = FAR_REPLS[program]
    pane = await open_far_shell(desk, far)
    answer = await desk.run(pane, command)
    assert (answer["status"], answer["waitingFor"]) == ("running", "line"), answer
    assert prompt in answer["reason"]
    assert "run-in-repl" in answer["reason"]
    refusal = await desk.expect_error("execute-command", paneId=pane, command="echo no")
    assert "run-in-repl" in refusal
    assert (await desk.call("run-in-repl", paneId=pane, input=question))["output"] == "42"
    assert "stty" not in desk.screen(pane)


async def test_a_repl_that_a_person_started_through_ssh_gets_no_probe(desk: Desk, far: Far) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    desk.type_as_person(pane, f"{far.ssh} 'python3 -q'", "Enter")
    await desk.wait_for_screen(pane, ">>>")
    refusal = await desk.expect_error("execute-command", paneId=pane, command="echo no")
    assert "run-in-repl" in refusal
    assert desk.screen(pane).rstrip().endswith(">>>")


async def test_a_full_screen_program_behind_ssh_is_told_with_its_screen(desk: Desk, far: Far) -> None:
    desk.find_program("less")
    pane = await open_far_shell(desk, far)
    answer = await desk.run(pane, "seq 1 500 | less")
    assert (answer["status"], answer["waitingFor"], answer["timedOut"]) == ("running", "key", False), answer
    assert "full-screen" in answer["reason"]
    assert answer["screen"].splitlines()[:2] == ["1", "2"]
    assert "full-screen" in await desk.expect_error("execute-command", paneId=pane, command="echo no")


async def test_what_waits_for_a_far_shell_is_lost_with_the_connection(desk: Desk, far: Far) -> None:
    pane = await desk.own_pane()
    asked = await desk.run(pane, f"{far.ssh} 'sleep 0.5; exit 3' ; true", waitMs=0)
    after = await desk.run(pane, "echo after")
    assert after["output"] == "after\n"  # ssh with a command opens no shell: this waited for its end
    assert (await desk.get_result(asked))["status"] == "completed"
    opened = await desk.run(pane, f"{far.ssh} 'sleep 0.5; exit 3; bash'", waitMs=0)
    lost = await desk.run(pane, "echo never")
    assert (lost["status"], lost["output"]) == ("lost", ""), lost
    assert "exit code 3" in lost["reason"]
    assert (await desk.get_result(opened))["exitCode"] == 3


async def test_a_far_prompt_that_draws_itself_each_second_holds_nothing_up(desk: Desk, far: Far) -> None:
    desk.find_program("zsh")
    pane = await desk.own_pane()
    outer = await desk.run(pane, f"{far.ssh} '{SHELLS['zsh']}'")
    assert (outer["status"], outer["waitingForInput"]) == ("running", True), outer
    await desk.run(pane, CLOCK)
    await desk.wait_until_redrawn(pane)
    await desk.check_exit_codes(pane)


async def test_a_far_shell_that_redraws_before_we_know_it_takes_commands(desk: Desk, far: Far) -> None:
    desk.find_program("zsh")
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    desk.type_as_person(pane, f"{far.ssh} '{SHELLS['zsh']}'", "Enter")
    await desk.wait_for_program(pane, "ssh")
    await desk.wait_for_output(pane, b"vm")
    desk.type_as_person(pane, CLOCK, "Enter")
    await desk.wait_for_screen(pane, ":")
    answer = await desk.run(pane, "echo $ZSH_VERSION", timeoutSeconds=15, queue=True)
    assert answer["status"] == "completed", answer
