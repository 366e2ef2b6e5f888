"""How streams end: with a status, with a reason, and not with another pane of the same id."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from muxpilot import Tmux
from muxpilot.errors import NotFound
from muxpilot.tmux import PaneId, PaneProgram
from tests.rigs.engine import Raw, stream_of
from tests.rigs.waiting import eventually
from tests.tmux.streams.conftest import RAW_TERMINAL, follow_pane, read_in_background, type_until_echoed

pytestmark = pytest.mark.both_tmux

Harm = Callable[[Raw, str], object]


async def test_following_a_pane_that_is_not_there_is_refused(tmux: Tmux, theirs: str) -> None:
    with pytest.raises(NotFound, match="%77"):
        async with tmux.streams.open(PaneId("%77")):
            pass


@pytest.mark.parametrize(
    ("command", "status"), [("exit 3", 3), ("kill -9 $$", 137), ("seq 1 20000; echo LAST", 0)]
)
@pytest.mark.parametrize("remain", [False, True])
async def test_the_end_of_a_pane_of_ours_has_its_status(
    tmux: Tmux, theirs: str, command: str, status: int, remain: bool
) -> None:
    made = await tmux.sessions.create("ours", program=PaneProgram(command, remain_on_exit=remain))
    async with read_in_background(stream_of(tmux, made.pane_id)) as follower:
        assert (await follower.wait_for_end()).status == status
    assert ("LAST" in command) == follower.data.endswith(b"LAST\r\n")
    assert follower.gaps == []


async def test_the_end_of_a_persons_pane_that_stays_has_its_status(tmux: Tmux, raw: Raw, theirs: str) -> None:
    raw("set-option", "-g", "remain-on-exit", "on")
    pane = raw("new-window", "-d", "-P", "-F", "#{pane_id}", "read x; echo got $x; read x; exit 5")
    async with follow_pane(tmux, pane) as follower:
        raw("send-keys", "-t", pane, "this", "Enter")
        await follower.wait_for_bytes(b"got this")
        raw("send-keys", "-t", pane, "Enter")
        assert (await follower.wait_for_end()).status == 5


@pytest.mark.tmux_since(3, 3, "it does not tell signals")
async def test_a_death_is_seen_though_the_connection_was_lost_meanwhile(
    tmux: Tmux, raw: Raw, theirs: str
) -> None:
    raw("set-option", "-p", "-t", theirs, "remain-on-exit", "on")
    async with follow_pane(tmux, theirs) as follower:
        await type_until_echoed(raw, follower, theirs, "alive")
        raw("detach-client", "-s", next(name for name in session_names(raw) if "hub" in name))
        os.kill(int(raw("list-panes", "-t", theirs, "-F", "#{pane_pid}")), signal.SIGKILL)
        assert (await follower.wait_for_end()).status == 137


def session_names(raw: Raw) -> list[str]:
    return raw("list-sessions", "-F", "#{session_name}").split("\n")


def kill_pane(raw: Raw, pane: str) -> None:
    raw("kill-pane", "-t", pane)


def kill_session(raw: Raw, pane: str) -> None:
    raw("kill-session", "-t", "=mine")


def kill_server(raw: Raw, pane: str) -> None:
    raw("kill-server")


@pytest.mark.parametrize("harm", [kill_pane, kill_session, kill_server])
async def test_the_end_of_a_persons_pane_is_told_with_a_reason(
    tmux: Tmux, raw: Raw, theirs: str, harm: Harm
) -> None:
    raw("new-session", "-d", "-s", "other", "exec sleep 60")
    async with follow_pane(tmux, theirs) as follower:
        harm(raw, theirs)
        assert (await follower.wait_for_end()).reason
    assert tmux.streams.find_stream(PaneId(theirs)) is None


async def test_the_same_id_on_another_server_is_another_pane(tmux: Tmux, raw: Raw, theirs: str) -> None:
    async with follow_pane(tmux, theirs) as follower:
        raw("kill-server", check=False)
        await eventually(lambda: has_restarted(raw))
        await follower.wait_for_end()
    assert follower.gaps == []


async def has_restarted(raw: Raw) -> bool:
    return raw("new-session", "-d", "-s", "new", "-P", "-F", "#{pane_id}", "cat", check=False) == "%0"


async def test_a_pane_that_a_person_started_again_can_be_followed_again(tmux: Tmux, raw: Raw) -> None:
    made = await tmux.sessions.create("ours", program=PaneProgram("exit 1", remain_on_exit=True))
    async with read_in_background(stream_of(tmux, made.pane_id)) as follower:
        await follower.wait_for_end()
    raw("respawn-pane", "-t", made.pane_id, f"{RAW_TERMINAL}; exec cat")
    async with follow_pane(tmux, made.pane_id) as again:
        await type_until_echoed(raw, again, made.pane_id, "again")


async def test_followers_are_told_when_we_leave(tmux: Tmux, theirs: str) -> None:
    async with follow_pane(tmux, theirs) as follower:
        await tmux.close()
        assert (await follower.wait_for_end()).reason == "muxpilot has stopped"


async def test_a_path_with_every_special_character_is_piped(
    tmux: Tmux, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = folder / "a b'c\"#{x}#(touch y)%d$HOME;é"
    odd.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(odd))
    made = await tmux.sessions.create("ours", program=PaneProgram(f"echo {shlex.quote('hello')}"))
    async with read_in_background(stream_of(tmux, made.pane_id)) as follower:
        await follower.wait_for_end()
    assert follower.data == b"hello\r\n"
