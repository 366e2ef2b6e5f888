"""Windows through MCP: every field of the answers; focus does not change."""

from __future__ import annotations

import pytest

from muxpilot.tmux.objects.layouts import is_printed_layout
from tests.rigs.mcp_client import MadeSession, Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell

pytestmark = pytest.mark.asyncio(loop_scope="module")

SLEEP = "exec sleep 60"
ROW = {
    *("id", "index", "name", "active", "panes", "sessionId", "sessionName"),
    *("layout", "zoomed", "activePaneId"),
}
MADE = {"windowId", "windowName", "windowIndex", "paneId", "sessionId"}


def ask_tmux(rig: Rig, target: str, form: str) -> str:
    return rig.raw("display-message", "-p", "-t", target, form)


def is_layout_of(rig: Rig, window: str, layout: str) -> bool:
    """Return whether tmux tells this layout. Since 3.8, it tells JSON to all but control clients."""
    told = ask_tmux(rig, window, "#{window_layout}")
    return is_printed_layout(layout) if told.startswith("{") else layout == told


async def rows(call: Call, made: MadeSession) -> list[dict[str, object]]:
    answer = await call("list-windows", sessionId=made.session)
    assert set(answer) == {"windows"}
    windows: list[dict[str, object]] = answer["windows"]
    return windows


async def test_windows_are_listed_with_the_fields_of_the_contract(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane(SLEEP, windowName="first")
    await call("split-pane", paneId=made.pane, command=SLEEP)
    other = await call("create-window", sessionId=made.session, name="second", command=SLEEP)
    first, second = await rows(call, made)
    assert first == {
        "id": made.window,
        "index": 0,
        "name": "first",
        "active": True,
        "panes": 2,
        "sessionId": made.session,
        "sessionName": made.name,
        "layout": first["layout"],
        "zoomed": False,
        "activePaneId": made.pane,
    }
    assert is_layout_of(rig, made.window, str(first["layout"]))
    assert set(first) == ROW
    assert (second["id"], second["active"], second["panes"]) == (other["windowId"], False, 1)


async def test_without_a_session_all_windows_are_listed(call: Call, pane: Shell) -> None:
    one, two = await pane(SLEEP), await pane(SLEEP)
    ids = {row["id"] for row in (await call("list-windows"))["windows"]}
    assert {one.window, two.window} <= ids


async def test_a_created_window_answers_every_id_and_takes_no_focus(
    rig: Rig, call: Call, pane: Shell
) -> None:
    made = await pane(SLEEP)
    answer = await call(
        "create-window",
        sessionId=made.name,
        name="side",
        command='printf "<%s %s>" "$PWD" "$A"; exec sleep 60',
        cwd="/usr",
        env={"A": "b c"},
    )
    assert set(answer) == MADE
    window, pane_id = answer.pop("windowId"), answer.pop("paneId")
    assert answer == {"windowName": "side", "windowIndex": 1, "sessionId": made.session}
    assert ask_tmux(rig, pane_id, "#{window_id}") == window
    assert "</usr b c>" in await rig.wait_until_shown(pane_id, ">")
    assert ask_tmux(rig, f"{made.session}:", "#{window_id}") == made.window


async def test_a_window_without_a_name_is_named_by_tmux(call: Call, pane: Shell) -> None:
    made = await pane(SLEEP)
    answer = await call("create-window", sessionId=made.session, command=SLEEP)
    assert answer["windowName"] == "sleep"


@pytest.mark.parametrize("wanted", ["plain", "é 世 #(x) #{pane_id} ;", "-n", "a;", "back\\slash"])
async def test_a_renamed_window_answers_the_name_that_tmux_keeps(
    rig: Rig, call: Call, pane: Shell, wanted: str
) -> None:
    made = await pane(SLEEP)
    answer = await call("rename-window", windowId=made.window, name=wanted)
    assert set(answer) == {"windowId", "name"}
    assert answer["windowId"] == made.window
    assert answer["name"].replace("\\\\", "\\") == wanted
    assert answer["name"] == rig.raw("list-windows", "-t", made.session, "-F", "#{window_name}")


async def test_a_window_is_selected(call: Call, pane: Shell) -> None:
    made = await pane(SLEEP)
    other = (await call("create-window", sessionId=made.session, command=SLEEP))["windowId"]
    assert await call("select-window", windowId=other) == {"windowId": other}
    assert [row["id"] for row in await rows(call, made) if row["active"]] == [other]


async def test_a_killed_window_is_named_and_gone(call: Call, fails: Fails, pane: Shell) -> None:
    made = await pane(SLEEP)
    other = (await call("create-window", sessionId=made.session, name="side", command=SLEEP))["windowId"]
    assert await call("kill-window", windowId=f"{made.name}:side") == {"killed": other, "processes": []}
    assert [row["id"] for row in await rows(call, made)] == [made.window]
    assert await fails("kill-window", windowId=other) == (
        f"Window '{other}' not found. Use list-windows to see the windows there are."
    )


async def test_a_window_moves_to_another_session(call: Call, pane: Shell) -> None:
    made, target = await pane(SLEEP), await pane(SLEEP)
    first = (await call("create-window", sessionId=made.session, command=SLEEP))["windowId"]
    second = (await call("create-window", sessionId=made.session, command=SLEEP))["windowId"]
    answer = await call("move-window", windowId=first, targetSessionId=target.name, targetIndex=7)
    assert answer == {"windowId": first, "sessionId": target.session, "index": 7}
    answer = await call("move-window", windowId=second, targetSessionId=target.session)
    assert answer == {"windowId": second, "sessionId": target.session, "index": 1}
    assert [(row["id"], row["index"]) for row in await rows(call, target)] == [
        (target.window, 0),
        (second, 1),
        (first, 7),
    ]


async def test_a_window_that_is_there_already_stays(call: Call, pane: Shell) -> None:
    made = await pane(SLEEP)
    answer = await call("move-window", windowId=made.window, targetSessionId=made.session, targetIndex=0)
    assert answer == {"windowId": made.window, "sessionId": made.session, "index": 0}
    assert [(row["id"], row["index"]) for row in await rows(call, made)] == [(made.window, 0)]


async def test_an_index_that_is_taken_is_said(call: Call, fails: Fails, pane: Shell) -> None:
    made, target = await pane(SLEEP), await pane(SLEEP)
    await call("create-window", sessionId=made.session, command=SLEEP)
    words = await fails("move-window", windowId=made.window, targetSessionId=target.session, targetIndex=0)
    assert "0" in words
    assert [row["id"] for row in await rows(call, target)] == [target.window]


@pytest.mark.parametrize("layout", ["even-horizontal", "even-vertical", "main-vertical", "tiled"])
async def test_a_layout_is_chosen_by_name(rig: Rig, call: Call, pane: Shell, layout: str) -> None:
    made = await pane(SLEEP)
    for _ in range(2):
        await call("split-pane", paneId=made.pane, command=SLEEP)
    answer = await call("select-layout", windowId=made.window, layout=layout)
    assert answer == {"windowId": made.window, "layout": answer["layout"]}
    assert is_layout_of(rig, made.window, answer["layout"])


async def test_a_layout_that_was_told_can_be_set_again(call: Call, pane: Shell) -> None:
    made = await pane(SLEEP)
    await call("split-pane", paneId=made.pane, direction="horizontal", command=SLEEP)
    [row] = await rows(call, made)
    await call("select-layout", windowId=made.window, layout="even-vertical")
    answer = await call("select-layout", windowId=made.window, layout=row["layout"])
    assert answer["layout"] == row["layout"]


@pytest.mark.parametrize("layout", ["", "circle", "dead,200x50,0,0", "-o", "tiled; kill-server"])
async def test_what_is_no_layout_is_refused_and_tmux_lives_on(
    call: Call, fails: Fails, pane: Shell, layout: str
) -> None:
    made = await pane(SLEEP)
    words = await fails("select-layout", windowId=made.window, layout=layout)
    assert "layout" in words
    assert "even-horizontal" in words
    assert [row["id"] for row in await rows(call, made)] == [made.window]


async def test_panes_are_synchronized_and_not(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane(SLEEP)
    for enabled in (True, False):
        answer = await call("set-synchronize-panes", windowId=made.window, enabled=enabled)
        assert answer == {"windowId": made.window, "synchronized": enabled}
        assert ask_tmux(rig, made.pane, "#{pane_synchronized}") == str(int(enabled))


async def test_a_name_that_several_windows_have_is_refused(call: Call, fails: Fails, pane: Shell) -> None:
    made = await pane(SLEEP, windowName="twin")
    other = await call("create-window", sessionId=made.session, name="twin", command=SLEEP)
    words = await fails("kill-window", windowId=f"{made.name}:twin")
    assert made.window in words
    assert other["windowId"] in words
    assert len(await rows(call, made)) == 2
