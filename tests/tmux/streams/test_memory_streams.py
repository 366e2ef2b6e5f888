"""Streams that are kept in memory only: through a control client of the pane's session, or a pipe."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable

import pytest

from muxpilot import Tmux
from tests.rigs.engine import Raw
from tests.tmux.streams.conftest import RAW_TERMINAL, follow_pane, offsets_are_exact, type_until_echoed

pytestmark = pytest.mark.both_tmux

Harm = Callable[[Raw, str], object]


@pytest.fixture
async def tmux(socket: str, binary: str) -> AsyncIterator[Tmux]:
    async with Tmux(socket, binary=binary, config="/dev/null", timeout_s=10, keeps_journals=False) as engine:
        yield engine


async def test_several_followers_share_one_client_which_leaves_with_the_last(
    tmux: Tmux, raw: Raw, theirs: str
) -> None:
    async with follow_pane(tmux, theirs) as one:
        async with follow_pane(tmux, theirs) as two:
            assert stream_clients(raw) == 1
            await type_until_echoed(raw, two, theirs, "both")
        await type_until_echoed(raw, one, theirs, "still")
        assert stream_clients(raw) == 1
    assert stream_clients(raw) == 0


def stream_clients(raw: Raw) -> int:
    return raw("list-clients", "-F", "#{client_session}").split("\n").count("mine")


async def test_two_panes_of_one_session_share_one_client(tmux: Tmux, raw: Raw, theirs: str) -> None:
    other = raw("split-window", "-t", theirs, "-d", "-P", "-F", "#{pane_id}", "exec cat")
    async with follow_pane(tmux, theirs) as one, follow_pane(tmux, other) as two:
        assert stream_clients(raw) == 1
        await type_until_echoed(raw, one, theirs, "first")
        await type_until_echoed(raw, two, other, "second")
        assert b"second" not in one.data


def kill_stream_client(raw: Raw, pane: str) -> None:
    rows = raw("list-clients", "-F", "#{client_session} #{client_pid}").split("\n")
    [pid] = [int(row.split()[1]) for row in rows if row.startswith("mine ")]
    os.kill(pid, signal.SIGKILL)


def detach_all_clients(raw: Raw, pane: str) -> None:
    """Detach our client, as a person's `attach -d` does."""
    raw("detach-client", "-s", "mine")


def move_the_pane(raw: Raw, pane: str) -> None:
    raw("split-window", "-d", "-t", pane, "exec sleep 60")
    raw("new-session", "-d", "-s", "elsewhere", "exec sleep 60")
    raw("join-pane", "-d", "-s", pane, "-t", "elsewhere:")


def move_the_window(raw: Raw, pane: str) -> None:
    raw("new-window", "-d", "-t", "mine:", "exec sleep 60")
    raw("new-session", "-d", "-s", "elsewhere", "exec sleep 60")
    raw("move-window", "-d", "-s", pane, "-t", "elsewhere:")


def kill_the_session_but_not_the_window(raw: Raw, pane: str) -> None:
    """Kill the session with detach-on-destroy off: tmux moves our client to another session silently."""
    raw("set-option", "-g", "detach-on-destroy", "off")
    raw("new-session", "-d", "-s", "elsewhere", "exec sleep 60")
    raw("link-window", "-d", "-s", pane, "-t", "elsewhere:")
    raw("kill-session", "-t", "=mine")


@pytest.mark.parametrize(
    "harm",
    [
        kill_stream_client,
        detach_all_clients,
        move_the_pane,
        move_the_window,
        kill_the_session_but_not_the_window,
    ],
)
async def test_a_stream_that_was_cut_says_so_and_goes_on(
    tmux: Tmux, raw: Raw, theirs: str, harm: Harm
) -> None:
    async with follow_pane(tmux, theirs) as follower:
        await type_until_echoed(raw, follower, theirs, "before")
        harm(raw, theirs)
        await follower.wait_until(lambda seen: seen.gaps)
        await type_until_echoed(raw, follower, theirs, "after")
    [gap] = follower.gaps
    assert gap.lost_bytes is None
    assert offsets_are_exact(follower.events)


async def test_all_panes_of_a_session_go_on_when_its_client_was_cut(
    tmux: Tmux, raw: Raw, theirs: str
) -> None:
    other = raw("split-window", "-t", theirs, "-d", "-P", "-F", "#{pane_id}", f"{RAW_TERMINAL}; exec cat")
    async with follow_pane(tmux, theirs) as one, follow_pane(tmux, other) as two:
        kill_stream_client(raw, theirs)
        for follower, pane in ((one, theirs), (two, other)):
            await follower.wait_until(lambda seen: seen.gaps)
            await type_until_echoed(raw, follower, pane, "after")
        assert stream_clients(raw) == 1


async def test_what_tmux_drops_for_a_client_that_is_behind_is_a_gap(
    tmux: Tmux, raw: Raw, theirs: str
) -> None:
    async with follow_pane(tmux, theirs) as follower:
        rows = raw("list-clients", "-F", "#{client_session} #{client_name}").split("\n")
        [client] = [row.split()[1] for row in rows if row.startswith("mine ")]
        raw("refresh-client", "-t", client, "-A", f"{theirs}:pause")
        await follower.wait_until(lambda seen: seen.gaps)
        await type_until_echoed(raw, follower, theirs, "after")
    assert "dropped" in follower.gaps[0].reason


async def test_a_session_that_ends_with_its_last_client_is_piped_and_never_attached(
    tmux: Tmux, raw: Raw, unattached_ending_pane: str
) -> None:
    async with follow_pane(tmux, unattached_ending_pane) as follower:
        assert stream_clients(raw) == 1  # the person's own
        await type_until_echoed(raw, follower, unattached_ending_pane, "piped")
    assert raw("list-panes", "-t", unattached_ending_pane, "-F", "#{pane_pipe}") == "0"
