"""watch-pane, notify-when, get-watch, cancel-watch and wait-for-pane-change through MCP, for each trigger."""

from __future__ import annotations

import pytest

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell
from tests.rigs.watching import start_line_runner

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_change_is_waited_for_until_the_pane_is_quiet(call: Call, rig: Rig, pane: Shell) -> None:
    target = await start_line_runner(rig, pane)
    await call("send-keys", paneId=target, keys="while :; do echo begun; sleep 0.02; done", enter=True)
    await rig.wait_until_shown(target, "begun")
    answer = await call("wait-for-pane-change", paneId=target, timeoutMs=4000, stableMs=3000)
    assert (answer["changed"], answer["timedOut"]) == (True, True)
    assert answer["quietMs"] < 3000
    await call("send-cancel", paneId=target)
    still = await pane("exec sleep 60")
    answer = await call("wait-for-pane-change", paneId=still.pane, timeoutMs=100)
    assert (answer["changed"], answer["timedOut"]) == (False, True)
    assert answer["waitedMs"] >= 100
    assert answer["quietMs"] >= 100


async def test_a_quiet_pane_is_told_with_how_long_it_was_quiet(call: Call, rig: Rig, pane: Shell) -> None:
    made = await pane("for i in $(seq 30); do echo $i; sleep 0.1; done; exec sleep 60")
    answer = await call("wait-for-pane-change", paneId=made.pane, stableMs=2500, timeoutMs=15000)
    assert (answer["changed"], answer["timedOut"]) == (True, False)
    assert answer["quietMs"] >= 2500
    assert (await rig.screen(made.pane)).endswith("30")


async def test_a_watch_is_told_how_it_stands_and_can_be_cancelled(
    call: Call, fails: Fails, pane: Shell
) -> None:
    made = await pane("exec sleep 60")
    watch = (await call("notify-when", paneId=made.pane, triggers=["pattern:x,exit"]))["watchId"]
    assert await call("get-watch", watchId=watch) == {
        "watchId": watch,
        "paneId": made.pane,
        "pane": None,
        "status": "watching",
    }
    assert await call("cancel-watch", watchId=watch) == {"watchId": watch, "cancelled": True}
    assert await call("get-watch", watchId=watch) == {
        "watchId": watch,
        "paneId": made.pane,
        "pane": None,
        "status": "cancelled",
    }
    assert await call("cancel-watch", watchId=watch) == {"watchId": watch, "cancelled": False}
    for tool in ("get-watch", "cancel-watch"):
        assert await fails(tool, watchId="w0") == "Watch 'w0' not found. Use notify-when to begin one."


@pytest.mark.parametrize("tool", ["watch-pane", "notify-when", "start-and-watch"])
@pytest.mark.parametrize(
    "triggers", ["bogus", "exit,bogus", "idle:x", "pattern:(", "url:http://example.com/", ["exit", "nope"]]
)
async def test_bad_triggers_are_refused_by_name(
    fails: Fails, pane: Shell, tool: str, triggers: str | list[str]
) -> None:
    made = await pane("exec sleep 60")
    more = {"command": "x", "pattern": "x"} if tool == "start-and-watch" else {}
    words = await fails(tool, paneId=made.pane, triggers=triggers, **more)
    last = triggers[-1] if isinstance(triggers, list) else triggers.split(",")[-1]
    assert last in words


async def test_bad_modes_patterns_and_times_are_refused(fails: Fails, pane: Shell) -> None:
    made = await pane("exec sleep 60")
    assert "'mode' must be one of quick" in await fails("watch-pane", paneId=made.pane, mode="fast")
    assert "'timeout' must be from 0 to" in await fails("watch-pane", paneId=made.pane, timeout=-1)
    assert "'timeout' must be from 0 to" in await fails("watch-pane", paneId=made.pane, timeout=1e9)
    assert "'pattern' is not" in await fails("start-and-watch", command="true", pattern="(")
    assert "'pattern' is empty" in await fails("start-and-watch", command="true", pattern="")
    assert "'command' is empty" in await fails("start-and-watch", command=" ", pattern="x")
