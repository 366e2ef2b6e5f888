"""Layouts on a real tmux: it accepts what it printed, and no text that we accept crashes it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import strategies as st

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import BadInput, Refused
from muxpilot.tmux import WindowId
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.objects import layouts
from tests.rigs.engine import Raw
from tests.rigs.live import LiveEngine

pytestmark = pytest.mark.both_tmux

IDLE = PaneProgram("exec sleep 600")
SIZES = (1, 2, 3, 10, 80, 200, 10_000)


async def create_window(tmux: Tmux, panes: int) -> WindowId:
    made = await tmux.sessions.create(f"{panes} panes", program=IDLE)
    for _ in range(panes - 1):
        await tmux.windows.split(made.pane_id, program=IDLE)
        await tmux.windows.set_layout(made.window_id, "tiled")
    return made.window_id


@st.composite
def fitting_cells(
    draw: st.DrawFn, width: int | None = None, height: int | None = None, depth: int = 3
) -> str:
    """Draw cells that often, but not always, fill each other exactly."""
    width = draw(st.sampled_from(SIZES)) if width is None else width
    height = draw(st.sampled_from(SIZES)) if height is None else height
    cell = f"{width}x{height},{draw(st.sampled_from((0, 5, 65536)))},0"
    count, across = draw(st.integers(1, 4)), draw(st.booleans())
    length = width if across else height
    if depth == 0 or count == 1 or length < 2 * count:
        return cell + draw(st.sampled_from(("", ",0", ",77")))
    sizes = [1] * (count - 1)
    sizes.append(length - 2 * len(sizes))
    inside = [(size, height) if across else (width, size) for size in sizes]
    inner = [draw(fitting_cells(*size, depth - 1)) for size in inside]
    return cell + ("{%s}" if across else "[%s]") % ",".join(inner)


@st.composite
def random_cells(draw: st.DrawFn, depth: int = 3) -> str:
    numbers = st.sampled_from((0, 1, 2, 24, 80, 10_000, 65_536, 99_999))
    cell = f"{draw(numbers)}x{draw(numbers)},{draw(numbers)},{draw(numbers)}"
    if depth == 0 or draw(st.booleans()):
        return f"{cell},{draw(numbers)}"
    inner = draw(st.lists(random_cells(depth - 1), min_size=1, max_size=3))
    return cell + draw(st.sampled_from(("{%s}", "[%s]"))) % ",".join(inner)


def layout_text(cells: str) -> str:
    return f"{layouts._checksum(cells):04x},{cells}"


def test_no_text_that_passes_ends_the_server(live: LiveEngine) -> None:
    """Most texts have more cells than the window has panes: tmux drops some, and may crash then."""
    windows = [live.run(create_window(live.tmux, panes)) for panes in (1, 3)]
    passed = []

    async def check(cells: str) -> None:
        if not layouts.is_printed_layout(layout_text(cells)):
            return
        for window in windows:
            with suppress(Refused):
                await live.tmux.windows.set_layout(window, layout_text(cells))
                passed.append(cells)

    for _ in range(4):  # how many pass is chance
        live.for_every(check, st.one_of(fitting_cells(), fitting_cells(), random_cells()), examples=150)
        if len(passed) > 50:
            break
    assert len(passed) > 50
    assert [row.panes for row in live.run(live.tmux.windows.list())] == [1, 3]


def test_tmux_takes_back_what_it_printed(live: LiveEngine) -> None:
    window = live.run(create_window(live.tmux, 2))
    run = live.tmux.connection.run

    async def check(change: Command) -> None:
        with suppress(Refused):
            await run((*change[:1], "-t", window, *change[1:]))
        printed = (await live.tmux.windows.get(window)).layout
        assert layouts.is_printed_layout(printed)
        await live.tmux.windows.set_layout(window, printed)

    # Not -f: that alone can crash tmux if there is no room.
    split = [("split-window", way, more, "sleep 600") for way in ("-h", "-v") for more in ("-d", "-b")]
    resize = [("resize-pane", way, size) for way in ("-U", "-D", "-L", "-R") for size in ("1", "50")]
    reshape = [("resize-window", "-x", x, "-y", y) for x in ("5", "80", "300") for y in ("4", "24", "100")]
    shuffle = [("select-layout", name) for name in layouts.LAYOUT_NAMES[:4]]
    other = [("kill-pane", "-a"), ("resize-pane", "-Z"), ("rotate-window",)]
    changes = [st.sampled_from(kind) for kind in (split, split, split, resize, reshape, shuffle, other)]
    live.for_every(check, st.one_of(changes), examples=150)


@pytest.mark.parametrize(
    "layout",
    [
        "nope",
        "",
        "tile",
        "0000,80x24,0,0,0",
        "688c,32768x0,0,81{79x81,2,65536,40,999x0,32768,5[10x10001,20,79,200]}",
        "b219,0x79,81,39[20x20,9999,200[200x2,65535,65536,80],0x40,40,2{0x999,200,9999,200}]",
    ],
)
async def test_what_would_end_the_server_never_reaches_it(tmux: Tmux, layout: str) -> None:
    window = await create_window(tmux, 1)
    with pytest.raises(BadInput, match="Use one of"):
        await tmux.windows.set_layout(window, layout)
    assert (await tmux.windows.get(window)).panes == 1


async def test_a_window_too_low_for_tiles_is_not_tiled(tmux: Tmux, raw: Raw) -> None:
    window = await create_window(tmux, 5)
    await tmux.windows.set_layout(window, "even-horizontal")
    raw("resize-window", "-t", window, "-x", "80", "-y", "1")
    with pytest.raises(Refused, match="80x1 cannot hold 5 panes as tiles"):
        await tmux.windows.set_layout(window, "tiled")
    assert (await tmux.windows.get(window)).panes == 5
