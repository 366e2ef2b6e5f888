"""Sessions, windows and panes that we create are marked as ours; those of people are not."""

from __future__ import annotations

from collections.abc import Callable

from muxpilot import PaneProgram, Tmux
from muxpilot.tmux.objects.owner import OWNER_OPTION, parse_owner, this_owner

Raw = Callable[..., str]


def are_marked_as_ours(raw: Raw, session: str, window: str, pane: str) -> list[bool]:
    """Return for each of the three whether its own mark names us."""
    levels = (("-t", session), ("-w", "-t", window), ("-p", "-t", pane))
    found = [(level[-1], raw("show-options", "-qv", *level, OWNER_OPTION)) for level in levels]
    return [parse_owner(target, mark) == this_owner() for target, mark in found]


async def test_all_that_a_new_session_window_or_pane_brings_is_marked(tmux: Tmux, raw: Raw) -> None:
    made = await tmux.sessions.create("dev")
    assert are_marked_as_ours(raw, made.session_id, made.window_id, made.pane_id) == [True, True, True]
    window = await tmux.windows.create(made.session_id, name="w")
    pane = await tmux.windows.split(window.pane_id, program=PaneProgram("sleep 60"))
    assert are_marked_as_ours(raw, made.session_id, window.window_id, window.pane_id) == [True, True, True]
    assert are_marked_as_ours(raw, made.session_id, pane.window_id, pane.pane_id) == [True, True, True]
    broken, _ = await tmux.panes.break_out(pane.pane_id)
    assert are_marked_as_ours(raw, made.session_id, broken, pane.pane_id) == [True, True, True]


async def test_what_a_person_makes_inside_ours_or_we_inside_theirs_is_told_apart(
    tmux: Tmux, raw: Raw
) -> None:
    made = await tmux.sessions.create("dev")
    theirs = raw("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", made.pane_id)
    assert are_marked_as_ours(raw, made.session_id, made.window_id, theirs) == [True, True, False]
    assert raw(
        "display-message", "-p", "-t", theirs, f"#{{{OWNER_OPTION}}}"
    )  # tmux hands it down all the same
    ids = raw("new-session", "-d", "-P", "-F", "#{session_id} #{window_id} #{pane_id}").split()
    assert are_marked_as_ours(raw, *ids) == [False, False, False]
    assert not (await tmux.sessions.create("dev")).created
    split = await tmux.windows.split(await tmux.targets.resolve_pane(ids[2]))
    assert are_marked_as_ours(raw, ids[0], ids[1], split.pane_id) == [False, False, True]


async def test_a_mark_outlives_us_and_says_that_its_maker_is_gone(
    tmux: Tmux, raw: Raw, socket: str, binary: str
) -> None:
    async with Tmux(socket, binary=binary, config="/dev/null") as other:
        made = await other.sessions.create("dev")
    mark = raw("show-options", "-qv", "-t", made.session_id, OWNER_OPTION)
    owner = parse_owner(made.session_id, mark)
    assert owner is not None
    assert not owner.is_gone
    again = mark.replace(f" {owner.process.start_time} ", f" {owner.process.start_time + 1} ")
    later = parse_owner(made.session_id, again)
    assert later is not None
    assert later.is_gone


async def test_a_person_keeps_their_own_options_and_anything_else_is_no_mark(tmux: Tmux, raw: Raw) -> None:
    made = await tmux.sessions.create("dev")
    raw("set-option", "-p", "-t", made.pane_id, "@owner", "me")
    assert raw("show-options", "-pqv", "-t", made.pane_id, "@owner") == "me"
    mark = raw("show-options", "-pqv", "-t", made.pane_id, OWNER_OPTION)
    assert parse_owner(made.pane_id, mark) == this_owner()
    for text in ("", "me", mark.partition(" ")[2], f"{mark} more", mark.replace("%", "$", 1)):
        assert parse_owner(made.pane_id, text) is None
