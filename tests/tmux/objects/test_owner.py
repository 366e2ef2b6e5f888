"""What we make is marked as ours, and what a person makes is not."""

from __future__ import annotations

from collections.abc import Callable

from muxpilot import Program, Tmux
from muxpilot.tmux.objects.owner import OPTION, ours, read

Raw = Callable[..., str]


def marks(raw: Raw, session: str, window: str, pane: str) -> list[bool]:
    """Of each of them, whether its own mark says that we made it."""
    levels = (("-t", session), ("-w", "-t", window), ("-p", "-t", pane))
    found = [(level[-1], raw("show-options", "-qv", *level, OPTION)) for level in levels]
    return [read(target, mark) == ours() for target, mark in found]


async def test_all_that_a_new_session_window_or_pane_brings_is_marked(tmux: Tmux, raw: Raw) -> None:
    made = await tmux.sessions.create("dev")
    assert marks(raw, made.session_id, made.window_id, made.pane_id) == [True, True, True]
    window = await tmux.windows.create(made.session_id, name="w")
    pane = await tmux.windows.split(window.pane_id, program=Program("sleep 60"))
    assert marks(raw, made.session_id, window.window_id, window.pane_id) == [True, True, True]
    assert marks(raw, made.session_id, pane.window_id, pane.pane_id) == [True, True, True]
    broken, _ = await tmux.panes.break_out(pane.pane_id)
    assert marks(raw, made.session_id, broken, pane.pane_id) == [True, True, True]


async def test_what_a_person_makes_inside_ours_or_we_inside_theirs_is_told_apart(
    tmux: Tmux, raw: Raw
) -> None:
    made = await tmux.sessions.create("dev")
    theirs = raw("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", made.pane_id)
    assert marks(raw, made.session_id, made.window_id, theirs) == [True, True, False]
    assert raw("display-message", "-p", "-t", theirs, f"#{{{OPTION}}}")  # tmux hands it down all the same
    ids = raw("new-session", "-d", "-P", "-F", "#{session_id} #{window_id} #{pane_id}").split()
    assert marks(raw, *ids) == [False, False, False]
    assert not (await tmux.sessions.create("dev")).created
    split = await tmux.windows.split(await tmux.targets.pane(ids[2]))
    assert marks(raw, ids[0], ids[1], split.pane_id) == [False, False, True]


async def test_a_mark_outlives_us_and_says_that_its_maker_is_gone(
    tmux: Tmux, raw: Raw, socket: str, binary: str
) -> None:
    async with Tmux(socket, binary=binary, config="/dev/null") as other:
        made = await other.sessions.create("dev")
    mark = raw("show-options", "-qv", "-t", made.session_id, OPTION)
    owner = read(made.session_id, mark)
    assert owner is not None
    assert not owner.is_gone
    again = mark.replace(f" {owner.process.start} ", f" {owner.process.start + 1} ")
    later = read(made.session_id, again)
    assert later is not None
    assert later.is_gone


async def test_a_person_keeps_their_own_options_and_anything_else_is_no_mark(tmux: Tmux, raw: Raw) -> None:
    made = await tmux.sessions.create("dev")
    raw("set-option", "-p", "-t", made.pane_id, "@owner", "me")
    assert raw("show-options", "-pqv", "-t", made.pane_id, "@owner") == "me"
    mark = raw("show-options", "-pqv", "-t", made.pane_id, OPTION)
    assert read(made.pane_id, mark) == ours()
    for text in ("", "me", mark.partition(" ")[2], f"{mark} more", mark.replace("%", "$", 1)):
        assert read(made.pane_id, text) is None
