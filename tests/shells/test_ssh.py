"""Commands through ssh, to a private sshd whose remote side has no tmux in its PATH."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rigs import sshd
from tests.rigs.waiting import eventually
from tests.shells.conftest import Desk

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
