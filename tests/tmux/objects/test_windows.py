"""Windows on a real tmux: where new and moved ones go, and that no person's focus moves with them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import BadInput, NotFound, Refused
from muxpilot.tmux import PaneId, SessionId, WindowId
from tests.rigs.engine import (
    Raw,
    as_kept,
    attach_person,
    has_run_nothing,
    open_reader,
    read_until,
    stream_of,
    wait_until,
)

pytestmark = pytest.mark.both_tmux

SLEEP = PaneProgram("sleep 60")
Act = Callable[[Tmux], Awaitable[object]]

# Two sessions, `one` with windows @0 (%0, %1) and @1 (%2, %3), `two` with @2 (%4, %5). In each window the
# first pane is the active one, in each session the first window.
ACTS: dict[str, Act] = {
    "create": lambda tmux: tmux.windows.create(SessionId("$0"), program=SLEEP),
    "create elsewhere": lambda tmux: tmux.windows.create(SessionId("$1")),
    "split": lambda tmux: tmux.windows.split(PaneId("%0"), program=SLEEP),
    "split side by side": lambda tmux: tmux.windows.split(PaneId("%1"), side_by_side=True),
    "join": lambda tmux: tmux.panes.join(PaneId("%3"), PaneId("%0")),
    "join from another session": lambda tmux: tmux.panes.join(PaneId("%5"), PaneId("%1")),
    "break": lambda tmux: tmux.panes.break_out(PaneId("%1")),
    "break in the background": lambda tmux: tmux.panes.break_out(PaneId("%3"), name="out"),
    "move": lambda tmux: tmux.windows.move(WindowId("@1"), SessionId("$1")),
    "move to an index": lambda tmux: tmux.windows.move(WindowId("@1"), SessionId("$0"), index=9),
    "swap": lambda tmux: tmux.panes.swap(PaneId("%1"), PaneId("%5")),
    "rename": lambda tmux: tmux.panes.rename(PaneId("%1"), "title"),
    "respawn": lambda tmux: tmux.windows.respawn(PaneId("%1"), kill=True),
}


def create_sessions(raw: Raw) -> None:
    raw("new-session", "-d", "-s", "one", "cat", ";", "split-window", "-d", "cat")
    raw("new-window", "-d", "-t", "one:", "cat", ";", "split-window", "-d", "-t", "one:1", "cat")
    raw("new-session", "-d", "-s", "two", "cat", ";", "split-window", "-d", "cat")


def read_focus(raw: Raw) -> tuple[list[str], list[str], list[str]]:
    """Return the current window of each session, the active pane of each window, and what clients show."""
    windows = raw(
        "list-windows", "-a", "-F", "#{window_active} #{session_name} #{window_id} #{window_zoomed_flag}"
    )
    panes = raw("list-panes", "-a", "-F", "#{pane_active} #{window_id} #{pane_id}")
    clients = raw("list-clients", "-F", "#{client_control_mode} #{client_session}")
    return (
        [line for line in windows.splitlines() if line.startswith(("1 one", "1 two"))],
        [line for line in sorted(panes.splitlines()) if line.startswith(("1 @0", "1 @1", "1 @2"))],
        [line for line in clients.splitlines() if line.startswith("0")],
    )


@pytest.mark.parametrize("act", ACTS)
async def test_nobodys_focus_moves(tmux: Tmux, raw: Raw, socket: str, binary: str, act: str) -> None:
    create_sessions(raw)
    async with attach_person(binary, socket, "attach", "-t", "one"):
        before = read_focus(raw)
        await ACTS[act](tmux)
        assert read_focus(raw) == before
        assert before[2] == ["0 one"]


async def test_a_split_leaves_a_zoomed_pane_zoomed(tmux: Tmux, raw: Raw) -> None:
    create_sessions(raw)
    raw("resize-pane", "-Z", "-t", "%1")
    before = read_focus(raw)
    await tmux.windows.split(PaneId("%0"))
    assert read_focus(raw) == before
    assert "1 one @0 1" in before[0]


async def test_a_new_window_answers_what_a_next_call_needs(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev")
    new = await tmux.windows.create(home.session_id, name="logs", program=SLEEP)
    [_, window] = await tmux.windows.list(home.session_id)
    assert (window.id, window.name, window.index, window.active_pane_id, window.session_id) == (
        *(new.window_id, "logs", new.window_index, new.pane_id, home.session_id),
    )
    assert (new.session_name, new.window_name, window.is_active, window.panes) == ("dev", "logs", False, 1)


async def test_a_window_without_a_name_is_named_by_its_program(tmux: Tmux, raw: Raw) -> None:
    home = await tmux.sessions.create("dev")
    raw("set-option", "-g", "remain-on-exit", "on")
    # tmux updates the name half a second later, and may find the shell before its program.
    raw("set-option", "-g", "automatic-rename-format", "#{window_name}")
    for command, name in {
        "sleep 60": "sleep",
        "exec /bin/sleep 60": "sleep",
        "  cat": "cat",
        "": "sh",
    }.items():
        new = await tmux.windows.create(home.session_id, program=PaneProgram(command or None))
        assert new.window_name == name
        assert (await tmux.windows.get(new.window_id)).name == name
        assert raw("show-options", "-A", "-w", "-t", new.window_id, "automatic-rename").endswith("on")


NAMES = ["C#", "#{pane_id}", "##", "#[x]", "a;", ";", "-t", "$HOME %H ~", "'\"\\", "{x}", "世界 é"]


async def test_names_come_back_as_they_went_in_and_run_nothing(tmux: Tmux, raw: Raw, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    home = await tmux.sessions.create("dev")
    for name in [*NAMES, f"#(touch {canary})"]:
        new = await tmux.windows.create(home.session_id, name=name, program=SLEEP)
        expected = await as_kept(tmux, name)
        assert (await tmux.windows.get(new.window_id)).name == expected == new.window_name
        kept = await tmux.windows.rename(home.window_id, name)
        assert (await tmux.windows.get(home.window_id)).name == kept
        assert kept.replace("\\", "") == name.replace("\\", "")  # tmux alone adds backslashes
    assert has_run_nothing(raw, canary)


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[31m", "x" * 300])
async def test_bad_names_are_refused(tmux: Tmux, name: str) -> None:
    with pytest.raises(BadInput, match="name"):
        await tmux.windows.create(SessionId("$0"), name=name)
    with pytest.raises(BadInput, match="name"):
        await tmux.windows.rename(WindowId("@0"), name)


async def test_folder_and_variables_reach_windows_and_splits(tmux: Tmux, tmp_path: Path) -> None:
    folder = tmp_path / "#(touch canary) %H; 'x"
    folder.mkdir()
    program = PaneProgram('printf "%s|%s|" "$FRUIT" "$PWD"; exec sleep 60', str(folder), {"FRUIT": "#{a};"})
    home = await tmux.sessions.create("dev")
    for new in (
        await tmux.windows.create(home.session_id, program=program),
        await tmux.windows.split(home.pane_id, program=program),
    ):
        assert await read_until(stream_of(tmux, new.pane_id), b"x|") == b"#{a};|%s|" % str(folder).encode()


async def test_side_by_side_and_below_with_a_share_of_the_room(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev", width=201, height=51)
    right = await tmux.windows.split(home.pane_id, side_by_side=True, percent=25)
    below = await tmux.windows.split(right.pane_id, percent=40)
    assert right.window_id == below.window_id == home.window_id
    first, second, third = [
        await tmux.panes.get(pane) for pane in (home.pane_id, right.pane_id, below.pane_id)
    ]
    assert (first.width, second.width, third.width) == (150, 50, 50)
    assert first.height == second.height + 1 + third.height == 51
    assert third.height in (20, 21)


async def test_a_split_without_a_size_halves(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev", width=100, height=41)
    new = await tmux.windows.split(home.pane_id)
    assert [(row.id, row.height, row.width) for row in await tmux.panes.list(home.window_id)] == [
        (home.pane_id, 20, 100),
        (new.pane_id, 20, 100),
    ]


@pytest.mark.parametrize("percent", [0, -1, 100, 10**6])
async def test_a_size_that_is_no_percentage_is_refused(tmux: Tmux, percent: int) -> None:
    with pytest.raises(BadInput, match="Use 1 to 99"):
        await tmux.windows.split(PaneId("%0"), percent=percent)


async def test_a_pane_that_is_too_small_is_not_split(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev", width=20, height=2)
    with pytest.raises(Refused, match="no space"):
        await tmux.windows.split(home.pane_id)
    assert len(await tmux.panes.list()) == 1


async def test_what_is_not_there_is_said(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev")
    window, session = WindowId("@77"), SessionId("$77")
    for work in (
        lambda: tmux.windows.split(PaneId("%77")),
        lambda: tmux.windows.respawn(PaneId("%77"), kill=True),
    ):
        with pytest.raises(NotFound, match="Pane '%77' not found"):
            await work()
    for other in (
        lambda: tmux.windows.get(window),
        lambda: tmux.windows.kill(window),
        lambda: tmux.windows.select(window),
        lambda: tmux.windows.rename(window, "x"),
        lambda: tmux.windows.set_layout(window, "tiled"),
        lambda: tmux.windows.set_synchronized(window, enabled=True),
        lambda: tmux.windows.move(window, home.session_id),
    ):
        with pytest.raises(NotFound, match="Window '@77' not found"):
            await other()
    for third in (
        lambda: tmux.windows.list(session),
        lambda: tmux.windows.create(session),
        lambda: tmux.windows.move(home.window_id, session),
    ):
        with pytest.raises(NotFound, match=r"Session '\$77.*' not found"):
            await third()
    assert len(await tmux.panes.list()) == 1


async def test_select_shows_a_window(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev")
    new = await tmux.windows.create(home.session_id)
    await tmux.windows.select(new.window_id)
    assert [row.id for row in await tmux.windows.list() if row.is_active] == [new.window_id]


async def test_a_moved_window_says_where_it_is(tmux: Tmux) -> None:
    one, two = await tmux.sessions.create("one"), await tmux.sessions.create("two")
    new = await tmux.windows.create(one.session_id, program=SLEEP)
    assert await tmux.windows.move(new.window_id, two.session_id, index=7) == 7
    assert await tmux.windows.move(new.window_id, two.session_id, index=3) == 3
    assert await tmux.windows.move(new.window_id, one.session_id) == 1
    assert (await tmux.windows.get(new.window_id)).session_id == one.session_id
    with pytest.raises(Refused, match="The index 0 is in use"):
        await tmux.windows.move(new.window_id, two.session_id, index=0)
    assert [row.id for row in await tmux.windows.list(two.session_id)] == [two.window_id]


async def test_the_only_window_of_a_session_can_leave_it(tmux: Tmux) -> None:
    one, two = await tmux.sessions.create("one"), await tmux.sessions.create("two")
    await tmux.windows.move(one.window_id, two.session_id)
    assert [row.id for row in await tmux.windows.list()] == [two.window_id, one.window_id]
    assert [row.name for row in await tmux.sessions.list()] == ["two"]


@pytest.mark.parametrize("index", [-1, 2**31, 10**12])
async def test_an_index_out_of_range_is_refused(tmux: Tmux, index: int) -> None:
    with pytest.raises(BadInput, match="index"):
        await tmux.windows.move(WindowId("@0"), SessionId("$0"), index=index)


async def test_layouts_by_name_and_by_their_own_text(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev")
    await tmux.windows.split(home.pane_id)
    before = (await tmux.windows.get(home.window_id)).layout
    beside = await tmux.windows.set_layout(home.window_id, "even-horizontal")
    assert beside != before
    assert await tmux.windows.set_layout(home.window_id, before) == before


async def test_a_layout_that_could_end_tmux_never_reaches_it(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev")
    for layout in ["", "nope", "tiled;", "-p", "b25d,", "0000,200x50,0,0,0", "even-h"]:
        with pytest.raises(BadInput, match=r"is not a layout\. Use one of even-horizontal"):
            await tmux.windows.set_layout(home.window_id, layout)
    assert (await tmux.windows.get(home.window_id)).panes == 1


async def test_synchronized_panes_share_what_is_typed_until_they_do_not(tmux: Tmux, tmp_path: Path) -> None:
    first = await open_reader(tmux, tmp_path)
    copy = tmp_path / "copy"
    new = await tmux.windows.split(
        first.pane, program=PaneProgram(f"stty raw -echo; printf READY; exec cat >{copy}")
    )
    await read_until(stream_of(tmux, new.pane_id), b"READY")
    await wait_until(copy.exists)
    await tmux.windows.set_synchronized(new.window_id, enabled=True)
    await tmux.input.type(first.pane, "both", enter=True)
    await wait_until(lambda: copy.read_bytes() == b"both\r")
    await tmux.windows.set_synchronized(new.window_id, enabled=False)
    await tmux.input.type(first.pane, "one")
    assert await first.read_new() == b"both\rone"
    await tmux.input.type(new.pane_id, "!")
    await wait_until(lambda: copy.read_bytes() == b"both\r!")


async def test_a_killed_window_is_gone_with_its_panes(tmux: Tmux) -> None:
    home = await tmux.sessions.create("dev")
    new = await tmux.windows.create(home.session_id)
    await tmux.windows.split(new.pane_id)
    await tmux.windows.kill(new.window_id)
    assert [row.id for row in await tmux.panes.list()] == [home.pane_id]
    with pytest.raises(NotFound):
        await tmux.windows.get(new.window_id)
