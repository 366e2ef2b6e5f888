"""Panes through MCP: every field of the answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell
from tests.rigs.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

SLEEP = "exec sleep 60"
ROW = {
    *("id", "index", "title", "active", "width", "height", "currentCommand", "currentPath", "pid"),
    *("dead", "exitCode", "inMode", "windowId", "sessionId"),
}


def ask_tmux(rig: Rig, target: str, form: str) -> str:
    return rig.raw("display-message", "-p", "-t", target, form)


async def row_of(call: Call, pane: str) -> dict[str, Any]:
    rows = (await call("list-panes"))["panes"]
    [row] = [row for row in rows if row["id"] == pane]
    return dict(row)


async def test_panes_are_listed_with_the_fields_of_the_contract(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane(SLEEP, cwd="/usr")

    async def settled() -> bool:
        return bool((await row_of(call, made.pane))["currentCommand"] == "sleep")

    await eventually(settled)
    await call("rename-pane", paneId=made.pane, title="a title")
    answer = await call("list-panes", windowId=made.window)
    assert set(answer) == {"panes"}
    [row] = answer["panes"]
    assert set(row) == ROW
    assert row == {
        "id": made.pane,
        "index": 0,
        "title": "a title",
        "active": True,
        "width": 200,
        "height": 50,
        "currentCommand": "sleep",
        "currentPath": "/usr",
        "pid": int(ask_tmux(rig, made.pane, "#{pane_pid}")),
        "dead": False,
        "exitCode": None,
        "inMode": False,
        "windowId": made.window,
        "sessionId": made.session,
    }


async def test_panes_of_a_window_of_a_session_and_of_all(call: Call, pane: Shell) -> None:
    made = await pane(SLEEP)
    split = (await call("split-pane", paneId=made.pane, command=SLEEP))["paneId"]
    window = (await call("create-window", sessionId=made.session, command=SLEEP))["paneId"]

    async def ids(**where: str) -> list[str]:
        return [row["id"] for row in (await call("list-panes", **where))["panes"]]

    assert await ids(windowId=made.window) == [made.pane, split]
    assert await ids(sessionId=made.name) == [made.pane, split, window]
    assert set(await ids()) >= {made.pane, split, window}


async def test_a_window_and_a_session_are_not_both_taken(fails: Fails, pane: Shell) -> None:
    made = await pane(SLEEP)
    words = await fails("list-panes", windowId=made.window, sessionId=made.session)
    assert "windowId" in words
    assert "sessionId" in words


async def test_a_pane_in_a_folder_that_is_no_text_is_listed(rig: Rig, call: Call, pane: Shell) -> None:
    folder = os.fsencode(rig.folder) + b"/\xff\xfe"
    os.mkdir(folder)
    made = await pane(f"cd {rig.folder}/*[!a-z]* && exec sleep 60", cwd=str(rig.folder))

    async def moved() -> str:
        row = await row_of(call, made.pane)
        return str(row["currentPath"]) if row["currentPath"] != str(rig.folder) else ""

    assert str(await eventually(moved)).startswith(f"{rig.folder}/")


async def test_a_pane_that_ended_tells_how(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane()
    rig.raw("set-option", "-p", "-t", made.pane, "remain-on-exit", "on")
    await call("send-keys", paneId=made.pane, keys="exit 3", enter=True)

    async def status() -> int | None:
        row = await row_of(call, made.pane)
        return row["exitCode"] if row["dead"] else None

    assert await eventually(status) == 3


@pytest.mark.parametrize(
    ("arguments", "size"),
    [
        ({}, (200, 24)),
        ({"direction": "vertical"}, (200, 24)),
        ({"direction": "horizontal"}, (99, 50)),
        ({"direction": "horizontal", "size": 25}, (50, 50)),
        ({"size": 20}, (200, 10)),
    ],
)
async def test_a_split_has_the_place_that_was_asked_for_and_takes_no_focus(
    rig: Rig, call: Call, pane: Shell, arguments: dict[str, Any], size: tuple[int, int]
) -> None:
    made = await pane(SLEEP)
    answer = await call("split-pane", paneId=made.pane, command=SLEEP, **arguments)
    assert set(answer) == {"paneId", "windowId"}
    assert answer["windowId"] == made.window
    new = await row_of(call, answer["paneId"])
    assert abs(new["width"] - size[0]) <= 1
    assert abs(new["height"] - size[1]) <= 1
    assert ask_tmux(rig, made.window, "#{pane_id}") == made.pane


async def test_a_split_starts_what_was_asked_for(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane(SLEEP)
    answer = await call(
        "split-pane",
        paneId=made.pane,
        command='printf "<%s %s>" "$PWD" "$A"; exec sleep 60',
        cwd="/usr",
        env={"A": "b"},
    )
    assert "</usr b>" in await rig.wait_until_shown(answer["paneId"], ">")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"direction": "diagonal"}, "'direction' must be one of horizontal, vertical"),
        ({"direction": "h"}, "'direction' must be one of horizontal, vertical"),
        ({"size": 0}, "'size' must be from 1 to 99"),
        ({"size": 100}, "'size' must be from 1 to 99"),
        ({"size": 12.5}, "'size' must be a whole number"),
        ({"size": 10**400}, "'size' must be from 1 to 99"),
        ({"size": "50%"}, "'size' must be a whole number"),
    ],
)
async def test_another_direction_or_size_is_refused_and_splits_nothing(
    call: Call, fails: Fails, pane: Shell, arguments: dict[str, Any], words: str
) -> None:
    made = await pane(SLEEP)
    assert words in await fails("split-pane", paneId=made.pane, **arguments)
    assert len((await call("list-panes", windowId=made.window))["panes"]) == 1


@pytest.mark.parametrize("title", ["plain", "é 世 #(x) #{pane_id}", "-T", "a;b", "100% %H"])
async def test_a_pane_is_given_a_title(rig: Rig, call: Call, pane: Shell, title: str) -> None:
    made = await pane(SLEEP)
    assert await call("rename-pane", paneId=made.pane, title=title) == {"paneId": made.pane, "title": title}
    assert ask_tmux(rig, made.pane, "#{pane_title}") == title
    assert (await row_of(call, made.pane))["title"] == title


async def test_a_pane_is_selected(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane(SLEEP)
    other = (await call("split-pane", paneId=made.pane, command=SLEEP))["paneId"]
    assert await call("select-pane", paneId=other) == {"paneId": other}
    assert ask_tmux(rig, made.window, "#{pane_id}") == other


async def test_a_pane_is_zoomed_and_back(call: Call, pane: Shell) -> None:
    made = await pane(SLEEP)
    await call("split-pane", paneId=made.pane, command=SLEEP)
    assert await call("zoom-pane", paneId=made.pane) == {"paneId": made.pane, "zoomed": True}
    assert [row["zoomed"] for row in (await call("list-windows", sessionId=made.name))["windows"]] == [True]
    assert await call("zoom-pane", paneId=made.pane) == {"paneId": made.pane, "zoomed": False}


async def test_a_resized_pane_answers_the_size_it_really_has(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane(SLEEP)
    await call("split-pane", paneId=made.pane, direction="horizontal", command=SLEEP)
    answer = await call("resize-pane", paneId=made.pane, width=60)
    assert answer == {"paneId": made.pane, "width": 60, "height": 50}
    answer = await call("resize-pane", paneId=made.pane, width=9999)
    assert answer["width"] == int(ask_tmux(rig, made.pane, "#{pane_width}")) < 200


@pytest.mark.parametrize(
    ("direction", "change"),
    [("left", -5), ("L", -5), ("right", 5), ("R", 5), ("up", 0), ("U", 0), ("down", 0), ("D", 0)],
)
async def test_a_border_moves(call: Call, pane: Shell, direction: str, change: int) -> None:
    made = await pane(SLEEP)
    await call("split-pane", paneId=made.pane, direction="horizontal", command=SLEEP)
    before = await row_of(call, made.pane)
    answer = await call("resize-pane", paneId=made.pane, direction=direction)
    assert answer == {"paneId": made.pane, "width": before["width"] + change, "height": 50}


async def test_resizing_to_nothing_is_refused(fails: Fails, pane: Shell) -> None:
    made = await pane(SLEEP)
    words = await fails("resize-pane", paneId=made.pane)
    assert all(name in words for name in ("width", "height", "direction"))


async def test_a_pane_joins_another_window(call: Call, fails: Fails, pane: Shell) -> None:
    made, other = await pane(SLEEP), await pane(SLEEP)
    answer = await call("join-pane", sourcePaneId=made.pane, targetPaneId=other.pane)
    assert answer == {"paneId": made.pane, "windowId": other.window}
    assert (await row_of(call, made.pane))["windowId"] == other.window
    assert "itself" in await fails("join-pane", sourcePaneId=made.pane, targetPaneId=made.pane)


async def test_two_panes_change_places(call: Call, pane: Shell) -> None:
    made, other = await pane(SLEEP), await pane(SLEEP)
    answer = await call("swap-pane", sourcePaneId=made.pane, targetPaneId=other.pane)
    assert answer == {"sourcePaneId": made.pane, "targetPaneId": other.pane}
    assert (await row_of(call, made.pane))["windowId"] == other.window
    assert (await row_of(call, other.pane))["windowId"] == made.window


async def test_a_pane_gets_a_window_of_its_own(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane(SLEEP)
    split = (await call("split-pane", paneId=made.pane, command=SLEEP))["paneId"]
    answer = await call("break-pane", paneId=split, name="own #(x)")
    assert set(answer) == {"windowId", "windowName", "paneId"}
    assert (answer["windowName"], answer["paneId"]) == ("own #(x)", split)
    assert (await row_of(call, split))["windowId"] == answer["windowId"] != made.window
    assert ask_tmux(rig, f"{made.session}:", "#{window_id}") == made.window


async def test_a_windows_only_pane_keeps_its_window_to_itself(call: Call, pane: Shell) -> None:
    made = await pane(SLEEP)
    answer = await call("break-pane", paneId=made.pane, name="own")
    assert (answer["windowName"], answer["paneId"]) == ("own", made.pane)
    assert (await row_of(call, made.pane))["windowId"] == answer["windowId"]


async def test_a_killed_pane_is_named_and_gone(call: Call, fails: Fails, pane: Shell) -> None:
    made = await pane(SLEEP)
    split = (await call("split-pane", paneId=made.pane, command=SLEEP))["paneId"]
    assert await call("kill-pane", paneId=f"{made.name}:0.1") == {"killed": split, "processes": []}
    assert await fails("kill-pane", paneId=split) == (
        f"Pane '{split}' not found. Use list-panes to see the panes there are."
    )


async def test_processes_that_outlive_their_terminal_are_ended_and_told(call: Call, pane: Shell) -> None:
    made = await pane()
    await call("execute-command", paneId=made.pane, command="setsid sleep 6000 &")
    [ended] = (await call("respawn-pane", paneId=made.pane, kill=True))["processes"]
    assert (ended["command"], ended["signal"]) == ("sleep 6000", "SIGTERM")
    await call("split-pane", paneId=made.pane)
    await call("execute-command", paneId=made.pane, command="(trap '' HUP TERM; sleep 6001) &")
    answer = await call("kill-pane", paneId=made.pane)
    assert answer["killed"] == made.pane
    assert ("sleep 6001", "SIGKILL") in [(row["command"], row["signal"]) for row in answer["processes"]]


async def test_a_dead_pane_runs_something_again(
    rig: Rig, call: Call, fails: Fails, pane: Shell, tmp_path: Path
) -> None:
    made = await pane(SLEEP)
    assert "running" in await fails("respawn-pane", paneId=made.pane, command=SLEEP)
    answer = await call("respawn-pane", paneId=made.pane, command="echo again; exec sleep 60", kill=True)
    assert answer == {"paneId": made.pane}
    await rig.wait_until_shown(made.pane, "again")
    assert await call("respawn-pane", paneId=made.pane, kill=True) == {"paneId": made.pane}
    await rig.wait_until_shown(made.pane, "ready>")


@pytest.mark.parametrize("tool", ["send-keys", "paste-text", "send-enter", "write-to-display"])
async def test_a_dead_pane_takes_no_input_and_says_what_to_do(
    rig: Rig, fails: Fails, call: Call, pane: Shell, tool: str
) -> None:
    made = await pane("exec sleep 60")
    rig.raw("set-option", "-p", "-t", made.pane, "remain-on-exit", "on")
    os.kill(int(ask_tmux(rig, made.pane, "#{pane_pid}")), 9)

    async def dead() -> bool:
        return bool((await row_of(call, made.pane))["dead"])

    await eventually(dead)
    more = {"send-keys": {"keys": "x"}, "paste-text": {"content": "x"}, "write-to-display": {"text": "x"}}
    assert "respawn-pane" in await fails(tool, paneId=made.pane, **more.get(tool, {}))
