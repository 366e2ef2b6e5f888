"""run-in-repl where the program ends, or the shell is near."""

from __future__ import annotations

import sys

import pytest

from tests.rigs import repl_programs as programs
from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell
from tests.rigs.repl_dialogue import FUNCTION, answer, hold, say, spoken

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("code", [0, 3])
async def test_the_exit_code_is_that_of_the_command(call: Call, pane: Shell, code: int) -> None:
    made = await pane(f"{programs.program('bash')} --norc")
    await call("execute-command", paneId=made.pane, command=f"{sys.executable} -q")
    assert (await say(call, made.pane, "1"))["exitCode"] is None
    reply = await say(call, made.pane, f"exit({code})")
    assert (reply["exited"], reply["exitCode"], reply["waitingFor"]) == (True, code, "shell")


async def test_a_command_that_was_queued_is_no_part_of_the_last_answer(call: Call, pane: Shell) -> None:
    made = await pane()
    await call("execute-command", paneId=made.pane, command=f"{sys.executable} -q")
    queued = await call(
        "execute-command", paneId=made.pane, command="echo oth''er", queue=True, timeoutSeconds=0.1
    )
    left = await call("run-in-repl", paneId=made.pane, input="import os; print('last'); os._exit(3)")
    assert (left["output"], left["exited"], left["exitCode"]) == ("last", True, 3)
    other = await call("get-command-result", commandId=queued["commandId"], waitMs=15000)
    assert other["output"] == "other\n"


async def test_an_input_behind_the_exit_is_not_typed_at_the_shell(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane()
    await call("send-keys", paneId=made.pane, keys=f"{sys.executable} -q", enter=True)
    reply = await say(call, made.pane, "print('bye'); exit()\nprint('rm')")
    assert spoken(reply) == {
        **answer(made.pane, "bye", exited=True),
        "note": "Not sent: the input from \"print('rm')\" on.",
    }
    assert "rm" not in (await rig.screen(made.pane)).rpartition("bye")[2]


async def test_a_shell_s_prompt_of_two_lines_is_no_output(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane(f"{programs.program('bash')} --norc", env={"PS1": "above\nbelow $ "})
    await rig.wait_until_shown(made.pane, "below $")
    await call("send-keys", paneId=made.pane, keys=f"{sys.executable} -q", enter=True)
    assert spoken(await say(call, made.pane, "exit('why')")) == answer(made.pane, "why", exited=True)


async def test_a_shell_inside_the_repl_is_no_exit(call: Call, python: str) -> None:
    reply = await say(call, python, "import os; os.system('PS1=inner: sh')")
    assert reply["exited"] is False
    assert "The program waits for input: 'inner:'" in reply["note"]


async def test_a_dialogue_inside_something_remote_is_judged_by_its_look(
    rig: Rig, call: Call, fails: Fails, pane: Shell
) -> None:
    relay = rig.folder / "docker"  # its name tells that what it shows is decided elsewhere
    relay.symlink_to(programs.python(f"{sys.version_info.major}.{sys.version_info.minor}"))
    far = 'import os, pty; os.environ["PS1"] = "far$ "; pty.spawn(["sh"])'
    made = await pane(f"{relay} -c '{far}'")
    await rig.wait_until_shown(made.pane, "far$")
    assert "a shell inside docker is at its prompt" in await fails("run-in-repl", paneId=made.pane, input="1")
    await call("send-keys", paneId=made.pane, keys=f"{sys.executable} -q", enter=True)
    await rig.wait_until_shown(made.pane, ">>>")
    await hold(call, made.pane, [(FUNCTION, "5\n6")])
    assert "not complete" in (await say(call, made.pane, "sorted("))["note"]
    assert (await say(call, made.pane, "[2, 1])"))["output"] == "[1, 2]"
    assert spoken(await say(call, made.pane, "exit()")) == answer(made.pane, "", exited=True)
