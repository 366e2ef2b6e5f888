"""run-in-repl types nothing where it could do harm, and says why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell
from tests.rigs.repl_dialogue import answer, say, spoken
from tests.rigs.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_busy_program_gets_nothing_typed(rig: Rig, call: Call, fails: Fails, python: str) -> None:
    await say(call, python, "import time")
    await say(call, python, "time.sleep(50)", timeout=2)
    told = await fails("run-in-repl", paneId=python, input="'typed'", timeout=0.3)
    assert "is busy; nothing was typed" in told
    assert "typed" not in await rig.screen(python)
    await call("send-cancel", paneId=python)
    assert spoken(await say(call, python, "1+1")) == answer(python, "2")


async def test_a_program_of_another_kind_is_refused_with_the_right_tool(
    call: Call, fails: Fails, pane: Shell
) -> None:
    made = await pane()
    told = await fails("run-in-repl", paneId=made.pane, input="ls")
    assert "No REPL runs in pane" in told
    assert "execute-command" in told
    full = await pane("tput smcup; stty -icanon -echo; exec cat")

    async def is_full() -> bool:
        return bool((await call("pane-state", paneId=full.pane))["alternateScreen"])

    await eventually(is_full)
    assert "full-screen" in await fails("run-in-repl", paneId=full.pane, input="x")


async def test_what_somebody_has_typed_is_left_alone(rig: Rig, call: Call, fails: Fails, python: str) -> None:
    await say(call, python, "1")
    rig.raw("send-keys", "-t", python, "-l", "half")
    await rig.wait_until_shown(python, ">>> half")
    assert "typed at the prompt" in await fails("run-in-repl", paneId=python, input="2")
    assert (await rig.screen(python)).endswith(">>> half")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"promptPattern": "(a"}, "'promptPattern' is not a regular expression"),
        ({"promptPattern": ""}, "'promptPattern' is empty"),
        ({"timeout": -1}, "'timeout' must be from 0 to 3600"),
        ({"input": "a\x03"}, "'input' holds the control character \\x03"),
        ({"paneId": "%999"}, "not found"),
    ],
)
async def test_a_bad_argument_is_named(
    fails: Fails, python: str, arguments: dict[str, Any], words: str
) -> None:
    assert words in await fails("run-in-repl", **{"paneId": python, "input": "1", **arguments})


async def test_a_line_that_the_terminal_would_cut_is_refused(fails: Fails, pane: Shell) -> None:
    made = await pane("cat")
    told = await fails("run-in-repl", paneId=made.pane, input="x" * 5000)
    assert "a line of 5000 bytes" in told
