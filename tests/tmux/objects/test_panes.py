"""Panes on a real tmux: positions, sizes, titles, and how they end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import BadInput, NotFound, Refused
from muxpilot.tmux import ListedPane, PaneId, WindowId
from tests.rigs.engine import Raw, as_kept, has_run_nothing, read_to_end, read_until, stream_of
from tests.rigs.waiting import eventually

pytestmark = pytest.mark.both_tmux

SLEEP = PaneProgram("sleep 60")
NOWHERE = PaneId("%77")
DEATHS = 40


async def test_panes_of_a_session_a_window_and_the_server(tmux: Tmux) -> None:
    one, two = await tmux.sessions.create("one"), await tmux.sessions.create("two")
    split = await tmux.windows.split(one.pane_id)
    window = await tmux.windows.create(one.session_id)
    ids = [one.pane_id, split.pane_id, window.pane_id, two.pane_id]
    assert [row.id for row in await tmux.panes.list()] == ids
    assert [row.id for row in await tmux.panes.list(one.session_id)] == ids[:3]
    assert [row.id for row in await tmux.panes.list(one.window_id)] == ids[:2]


async def test_a_pane_that_is_linked_twice_is_listed_once(tmux: Tmux, raw: Raw) -> None:
    one, two = await tmux.sessions.create("one"), await tmux.sessions.create("two")
    raw("link-window", "-d", "-s", one.window_id, "-t", f"{two.session_id}:5")
    assert sorted(row.id for row in await tmux.panes.list()) == sorted([one.pane_id, two.pane_id])


async def test_what_is_not_there_is_said(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev")
    for work in (
        lambda: tmux.panes.get(NOWHERE),
        lambda: tmux.panes.rename(NOWHERE, "x"),
        lambda: tmux.panes.select(NOWHERE),
        lambda: tmux.panes.toggle_zoom(NOWHERE),
        lambda: tmux.panes.resize(NOWHERE, width=5),
        lambda: tmux.panes.join(NOWHERE, home.pane_id),
        lambda: tmux.panes.join(home.pane_id, NOWHERE),
        lambda: tmux.panes.swap(home.pane_id, NOWHERE),
        lambda: tmux.panes.break_out(NOWHERE),
        lambda: tmux.panes.kill(NOWHERE),
    ):
        with pytest.raises(NotFound, match=r"Pane '%77' not found\. Use list-panes"):
            await work()
    with pytest.raises(NotFound, match="Window '@77' not found"):
        await tmux.panes.list(WindowId("@77"))


async def test_titles_come_back_as_they_went_in(tmux: Tmux, raw: Raw, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    home = await tmux.sessions.create("dev", program=SLEEP)
    for title in [
        "C#",
        "#{pane_id}",
        "##[x]",
        "a;",
        ";",
        "-T",
        "$HOME %H \\",
        f"#(touch {canary})",
        "世",
        "",
    ]:
        await tmux.panes.rename(home.pane_id, title)
        assert (await tmux.panes.get(home.pane_id)).title == await as_kept(tmux, title)
    assert has_run_nothing(raw, canary)
    with pytest.raises(BadInput, match="title"):
        await tmux.panes.rename(home.pane_id, "a\nb")


async def test_a_new_title_leaves_a_zoomed_pane_zoomed(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev")
    split = await tmux.windows.split(home.pane_id)
    assert await tmux.panes.toggle_zoom(split.pane_id)
    await tmux.panes.rename(home.pane_id, "other")
    window = await tmux.windows.get(home.window_id)
    assert (window.is_zoomed, window.active_pane_id) == (True, split.pane_id)


async def test_select_moves_the_cursor_and_not_the_window(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev")
    window = await tmux.windows.create(home.session_id)
    split = await tmux.windows.split(window.pane_id)
    await tmux.panes.select(split.pane_id)
    assert (await tmux.windows.get(window.window_id)).active_pane_id == split.pane_id
    assert [row.id for row in await tmux.windows.list() if row.is_active] == [home.window_id]


async def test_zoom_goes_on_and_off(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev", width=80, height=24)
    assert not await tmux.panes.toggle_zoom(home.pane_id)  # alone, it fills the window already
    split = await tmux.windows.split(home.pane_id)
    assert await tmux.panes.toggle_zoom(split.pane_id)
    assert (await tmux.panes.get(split.pane_id)).height == 24
    assert not await tmux.panes.toggle_zoom(split.pane_id)
    assert (await tmux.panes.get(split.pane_id)).height < 13


async def test_resize_answers_the_real_size(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev", width=100, height=40)
    assert await resize(tmux, home.pane_id, width=7, height=7) == (100, 40)  # alone in its window
    right = await tmux.windows.split(home.pane_id, side_by_side=True)
    below = await tmux.windows.split(right.pane_id)
    assert await resize(tmux, right.pane_id, width=30) == (30, 20)
    assert await resize(tmux, right.pane_id, width=9999) == (98, 20)
    assert await resize(tmux, home.pane_id, width=60, height=3) == (60, 40)
    assert await resize(tmux, right.pane_id, height=10) == (39, 10)
    assert await resize(tmux, right.pane_id, direction="down", amount=3) == (39, 13)
    assert await resize(tmux, right.pane_id, direction="up") == (39, 8)
    assert await resize(tmux, home.pane_id, direction="left", amount=10) == (50, 40)
    assert await resize(tmux, below.pane_id, width=20, direction="up", amount=1) == (20, 32)


async def resize(tmux: Tmux, pane: PaneId, **change: object) -> tuple[int, int]:
    row = await tmux.panes.resize(pane, **change)  # type: ignore[arg-type]
    return row.width, row.height


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "Give width, height or direction"),
        ({"width": 0}, "The width 0 is out of range"),
        ({"height": 10**9}, "The height 1000000000 is out of range"),
        ({"direction": "up", "amount": -1}, "The amount -1 is out of range"),
        ({"direction": "north"}, "'north' is not a direction. Use one of up, down, left, right"),
        ({"width": 5, "direction": "north"}, "'north' is not a direction"),
    ],
)
async def test_a_size_that_makes_no_sense_is_refused(
    tmux: Tmux, change: dict[str, object], says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        await resize(tmux, NOWHERE, **change)


async def test_join_moves_a_pane_below_another(tmux: Tmux) -> None:
    one, two = await tmux.sessions.create("one"), await tmux.sessions.create("two")
    lone = await tmux.windows.create(two.session_id)
    assert await tmux.panes.join(lone.pane_id, one.pane_id) == one.window_id
    assert [row.id for row in await tmux.panes.list(one.window_id)] == [one.pane_id, lone.pane_id]
    assert [row.id for row in await tmux.windows.list()] == [one.window_id, two.window_id]
    with pytest.raises(BadInput, match="itself"):
        await tmux.panes.join(one.pane_id, one.pane_id)


async def test_swap_changes_places(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev")
    split = await tmux.windows.split(home.pane_id, side_by_side=True, percent=20)
    other = await tmux.windows.create(home.session_id)
    await tmux.panes.swap(home.pane_id, split.pane_id)
    assert [row.id for row in await tmux.panes.list(home.window_id)] == [split.pane_id, home.pane_id]
    await tmux.panes.swap(split.pane_id, other.pane_id)
    assert [row.id for row in await tmux.panes.list()] == [other.pane_id, home.pane_id, split.pane_id]


async def test_break_out_gives_a_pane_its_own_window(tmux: Tmux, raw: Raw, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    home = await tmux.sessions.create("dev")
    for name in ["out", "C#", "##", "#[x]", "#{pane_id}", "-n", "a;", f"#(touch {canary})"]:
        split = await tmux.windows.split(home.pane_id, program=SLEEP)
        window, kept = await tmux.panes.break_out(split.pane_id, name=name)
        row = await tmux.windows.get(window)
        assert (row.name, kept, row.active_pane_id, row.session_id) == (
            *(name, name, split.pane_id, home.session_id),
        )
    assert has_run_nothing(raw, canary)
    with pytest.raises(BadInput, match="name"):
        await tmux.panes.break_out(home.pane_id, name="a\nb")


async def test_a_killed_pane_is_gone(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev")
    split = await tmux.windows.split(home.pane_id)
    await tmux.panes.kill(split.pane_id)
    assert [row.id for row in await tmux.panes.list()] == [home.pane_id]


async def test_a_running_program_is_not_replaced_unless_asked(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev", program=PaneProgram("printf FIRST; exec cat"))
    stream = stream_of(tmux, home.pane_id)
    await read_until(stream, b"FIRST")
    with pytest.raises(Refused, match="still running"):
        await tmux.windows.respawn(home.pane_id, command="true")
    await tmux.input.type(home.pane_id, "on", enter=True)
    await read_until(stream, b"on\r\non\r\n")
    assert tmux.streams.find_stream(home.pane_id) is stream


async def test_a_respawn_with_kill_begins_a_new_stream(tmux: Tmux) -> None:
    await tmux.sessions.create("keeper", program=SLEEP)
    home = await tmux.sessions.create("dev", program=PaneProgram("printf FIRST; sleep 60"))
    before = stream_of(tmux, home.pane_id)
    await read_until(before, b"FIRST")
    await tmux.windows.respawn(home.pane_id, command="printf SECOND; exit 7", kill=True)
    seen, end = await read_to_end(stream_of(tmux, home.pane_id))
    assert (seen, end.status) == (b"SECOND", 7)
    assert (await read_to_end(before))[0] == b"FIRST"


async def test_a_respawn_in_a_pane_that_has_ended_needs_no_kill(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev", program=PaneProgram("exit 3", remain_on_exit=True))
    assert (await read_to_end(stream_of(tmux, home.pane_id)))[1].status == 3
    await tmux.windows.respawn(home.pane_id)
    await tmux.input.type(home.pane_id, "echo AG''AIN", enter=True)
    await read_until(stream_of(tmux, home.pane_id), b"AGAIN")


async def wait_until_dead(tmux: Tmux) -> list[ListedPane]:
    """Wait until all panes but the first are dead, and return those."""
    rows = [*await tmux.panes.list()][1:]
    return rows if all(row.is_dead for row in rows) else []


async def test_how_panes_died_is_always_known(tmux: Tmux, raw: Raw) -> None:
    await tmux.sessions.create("keeper", program=SLEEP)
    raw("set-option", "-g", "remain-on-exit", "on")
    for _ in range(DEATHS):  # one by one: tmux 3.3a misses some of those
        raw("new-window", "-d", "-t", "keeper:", "bash -c 'exit 3'")
    await eventually(lambda: wait_until_dead(tmux))
    assert [row.exit_code for row in await wait_until_dead(tmux)] == [3] * DEATHS


@pytest.mark.parametrize(
    ("command", "status", "code"),
    [
        ("exit 3", 3, 3),
        ("true", 0, 0),
        ("kill -9 $$", 137, 137),
        ("sleep 60 & kill -TERM $!; wait $!", 143, 143),
    ],
)
@pytest.mark.tmux_since(3, 3, "it does not tell signals")
async def test_a_pane_that_stays_tells_its_status(tmux: Tmux, command: str, status: int, code: int) -> None:
    home = await tmux.sessions.create("dev", program=PaneProgram(command, remain_on_exit=True))
    assert (await read_to_end(stream_of(tmux, home.pane_id)))[1].status == status
    row = await tmux.panes.get(home.pane_id)
    assert (row.is_dead, row.exit_code) == (True, code)


@pytest.mark.tmux_since(3, 3, "it does not tell signals")
async def test_a_persons_pane_that_a_signal_ended_tells_it(tmux: Tmux, raw: Raw) -> None:
    await tmux.sessions.create("keeper", program=SLEEP)
    raw("set-option", "-g", "remain-on-exit", "on", ";", "new-window", "-d", "-t", "keeper:", "kill -9 $$")
    await eventually(lambda: wait_until_dead(tmux))
    [row] = await wait_until_dead(tmux)
    assert (row.dead_status, row.dead_signal, row.exit_code) == (None, 9, 137)


async def test_a_pane_that_stays_shows_its_last_line_and_no_more(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev", height=5, program=PaneProgram("seq 1 20", remain_on_exit=True))
    await read_to_end(stream_of(tmux, home.pane_id))
    assert (await tmux.capture.last_lines(home.pane_id, 3)) == ["18", "19", "20"]


async def test_a_shell_that_exits_in_a_pane_that_stays_ends_its_stream_soon(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev", program=PaneProgram(remain_on_exit=True))
    await tmux.input.type(home.pane_id, "exit 4", enter=True)
    async with asyncio.timeout(10):
        assert (await read_to_end(stream_of(tmux, home.pane_id)))[1].status == 4
