"""Commands on another tmux, and in a bash that is too old to mark the start of a command."""

from __future__ import annotations

import pytest

from muxpilot.shell_table import integration
from tests.rigs.tmux_trees import second_tmux
from tests.shells.conftest import Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def tmux_program() -> str | None:
    found = second_tmux()
    if isinstance(found, str):
        pytest.skip(found)
    return str(found)


CASES = {
    "echo hi": ("hi\n", 0),
    "sh -c 'exit 3'": ("", 3),
    "printf abc": ("abc", 0),
    "echo a\necho b\n# a comment\ncat <<E\nx\nE": ("a\nb\nx\n", 0),
    "seq 1 300": ("".join(f"{n}\n" for n in range(1, 301)), 0),
    "echo 'a!b' \"it's\"": ("a!b it's\n", 0),
    "if true; then\necho yes\nfi": ("yes\n", 0),
}


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash"])
async def test_commands_run_on_another_tmux(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    for command, wanted in CASES.items():
        answer = await desk.run(pane, command)
        assert (answer["output"], answer["exitCode"]) == wanted, command
    assert (await desk.run(pane, 'echo "open'))["waitingForInput"]
    assert (await desk.run(pane, "exit 5"))["exitCode"] == 5


async def test_a_persons_pane_is_joined_on_another_tmux(desk: Desk) -> None:
    pane = await desk.person_pane("bash", "--norc", shows="bash")
    assert (await desk.run(pane, "echo hello"))["output"] == "hello\n"
    assert "muxpilot" not in desk.screen(pane)


async def test_a_bash_that_is_too_old_to_tell_a_start_gives_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use the script as bash 3.2 to 4.3 does: no PS0, no key, PROMPT_COMMAND a string."""
    plain = integration._script

    def old(name: str) -> str:
        text = plain(name).replace("PS0", "PS_0")
        return text.replace(">= 404", ">= 9999").replace(">= 501", ">= 9999")

    monkeypatch.setattr(integration, "_script", old)
    pane = await desk.own_pane("bash")
    for command, wanted in CASES.items():
        answer = await desk.run(pane, command)
        assert (answer["output"], answer["exitCode"]) == wanted, command
    await desk.run(pane, "PROMPT_COMMAND='n=$((n+1))'; n=0")
    assert (await desk.run(pane, "false"))["exitCode"] == 1
    assert (await desk.run(pane, "echo $n"))["output"].strip() in ("2", "3")
    assert (await desk.run(pane, 'echo "open'))["waitingForInput"]
    assert (await desk.run(pane, "echo next"))["output"] == "next\n"
