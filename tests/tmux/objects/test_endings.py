"""What is killed ends with all its processes, whatever they ignore, and nothing else does."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import NotFound
from muxpilot.tmux import EnsuredSession, PaneId, SessionId
from muxpilot.tmux.objects import endings
from tests.rigs.engine import Raw, wait_until
from tests.rigs.requests import counted_requests
from tests.rigs.waiting import LIMIT_S, eventually, is_running, within
from tests.rigs.witnesses import inner_server, left_of, open_stubborn, started_with

KILLS: dict[str, Callable[[Tmux, EnsuredSession], Awaitable[object]]] = {
    "kill-pane": lambda tmux, made: tmux.endings.kill_pane(made.pane_id),
    "kill-window": lambda tmux, made: tmux.endings.kill_window(made.window_id),
    "kill-session": lambda tmux, made: tmux.endings.kill_session(made.session_id),
    "respawn-pane": lambda tmux, made: tmux.endings.respawn(made.pane_id),
}
# What must be told of each kind; processes that fork have children besides.
SIGNALS = {
    "hup": "SIGTERM",
    "all": "SIGKILL",
    "plain+setsid": "SIGTERM",
    "all+setsid": "SIGKILL",
    "hup+setsid+twice": "SIGTERM",
    "all+setsid+twice": "SIGKILL",
    "all+clean": "SIGKILL",
    "all+stopped": "SIGKILL",
}


@pytest.fixture(params=["/proc", "sh"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmux: Tmux) -> str:
    """Run a test as for a server on this host, and as for one on a host whose /proc we cannot see."""
    if request.param == "sh":
        tmux.connection.timeout_s = 50  # a busy machine takes its time to read all processes several times
        monkeypatch.setattr(endings, "has_proc", lambda: False)
    return str(request.param)


@pytest.mark.parametrize("kill", KILLS)
async def test_nothing_of_a_pane_is_left_and_what_needed_more_than_sighup_is_told(
    tmux: Tmux, folder: Path, kill: str, way: str
) -> None:
    beside, others = await open_stubborn(tmux, folder, "beside", ("plain", "all+setsid+twice"))
    made, pids = await open_stubborn(tmux, folder)
    with within(2.0 if way == "/proc" else LIMIT_S):
        ended = await KILLS[kill](tmux, made)
    assert isinstance(ended, list)
    assert left_of(pids) == []
    told = {row.pid: row for row in ended}
    assert {kind: told[pids[kind]].signal for kind in SIGNALS} == SIGNALS
    assert "stubborn.py" in told[pids["all"]].command
    assert pids["plain"] not in told
    assert sorted(left_of(others)) == sorted(["plain", "all+setsid+twice"])
    assert await tmux.endings.kill_session(beside.session_id)
    assert left_of(others) == []


@pytest.mark.parametrize("kill", ["kill-pane", "kill-window", "kill-session"])
async def test_a_far_kill_takes_two_requests_whatever_it_needs(
    tmux: Tmux, folder: Path, kill: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of panes, and one script that kills and escalates there. A request is a round trip."""
    monkeypatch.setattr(endings, "has_proc", lambda: False)
    tmux.connection.timeout_s = 50
    await tmux.sessions.create("keep")
    made, pids = await open_stubborn(tmux, folder)
    with counted_requests(tmux) as requests:
        assert await KILLS[kill](tmux, made)
    assert left_of(pids) == []
    assert requests == ["list-panes", "run-shell"]


async def test_a_plain_shell_needs_no_more_than_sighup(tmux: Tmux, way: str) -> None:
    await tmux.sessions.create("keep")
    made = await tmux.sessions.create("dev", program=PaneProgram("exec sleep 600"))
    assert await tmux.endings.kill_session(made.session_id) == []


async def test_the_program_of_a_respawned_pane_is_not_taken_for_the_old_one(
    tmux: Tmux, folder: Path, way: str
) -> None:
    made, pids = await open_stubborn(tmux, folder, kinds=("all+setsid+twice",))
    ended = await tmux.endings.respawn(made.pane_id, command="exec setsid -w sleep 600")
    assert [(row.pid, row.signal) for row in ended] == [(pids["all+setsid+twice"], "SIGKILL")]
    assert not (await tmux.panes.get(made.pane_id)).is_dead


async def test_a_tmux_server_that_was_started_in_the_pane_stays_with_all_in_it(
    tmux: Tmux, folder: Path, raw: Raw, binary: str, way: str
) -> None:
    await tmux.sessions.create("keep")
    with inner_server(folder) as command:
        made = await tmux.sessions.create("dev", program=PaneProgram(f"{command}; exec sleep 600"))
        await wait_until(lambda: _has_session(folder / "inner"))
        inner = Tmux(str(folder / "inner"), binary=shutil.which("tmux") or "tmux", timeout_s=10)
        async with inner:
            row = (await inner.panes.list())[0]
            assert await tmux.endings.kill_session(made.session_id) == []
            assert is_running(row.pid)
            assert len(await inner.sessions.list()) == 1


async def test_an_agent_of_the_user_that_was_started_in_the_pane_stays(
    tmux: Tmux, folder: Path, way: str
) -> None:
    """Others use it too. In the terminal of the pane, a program of that name is a program like any other."""
    await tmux.sessions.create("keep")
    agent = folder / "gpg-agent"
    agent.symlink_to(shutil.which("sleep") or "sleep")
    line = (
        f"setsid {agent} 600 & echo $! >{folder}/service; {agent} 600 & echo $! >{folder}/job; exec sleep 600"
    )
    made = await tmux.sessions.create("dev", program=PaneProgram(line))
    await wait_until(lambda: (folder / "job").exists() and (folder / "job").read_text())
    service, job = (int((folder / name).read_text()) for name in ("service", "job"))
    await wait_until(lambda: _name_of(service) == _name_of(job) == "gpg-agent")
    await tmux.endings.kill_session(made.session_id)
    assert (is_running(service), is_running(job)) == (True, False)
    os.kill(service, 9)


def _has_session(socket: Path) -> bool:
    argv = ["tmux", "-S", str(socket), "list-sessions"]
    return subprocess.run(argv, capture_output=True, timeout=LIMIT_S, check=False).returncode == 0


def _name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


async def test_processes_with_the_marks_of_other_panes_and_servers_stay(
    tmux: Tmux, folder: Path, socket: str, way: str
) -> None:
    """They have nothing but a similar mark in common with the pane."""
    await tmux.sessions.create("keep")
    made = await tmux.sessions.create("dev", program=PaneProgram("exec sleep 600"))
    server = (await tmux.panes.get(made.pane_id)).server_pid
    marks: dict[str, dict[str, str]] = {
        "other pane": {"TMUX_PANE": f"{made.pane_id}0", "TMUX": f"{socket},{server},0"},
        "other server": {"TMUX_PANE": made.pane_id, "TMUX": f"{socket},{server}1,0"},
        "other socket": {"TMUX_PANE": made.pane_id, "TMUX": f"{socket}x,{server},0"},
        "no mark": {"X_TMUX_PANE": made.pane_id},
    }
    with (
        started_with(marks["other pane"], "sleep", "600") as one,
        started_with(marks["other server"], "sleep", "600") as two,
        started_with(marks["other socket"], "sleep", "600") as three,
        started_with(marks["no mark"], "sleep", "600") as four,
        started_with({"TMUX_PANE": made.pane_id, "TMUX": f"{socket},{server},0"}, "sleep", "600") as marked,
    ):
        ended = await tmux.endings.kill_session(made.session_id)
        assert [each.poll() for each in (one, two, three, four)] == [None] * 4
        assert [row.pid for row in ended] == [marked.pid]


async def test_a_window_that_another_session_shows_survives_with_its_processes(
    tmux: Tmux, folder: Path, raw: Raw, way: str
) -> None:
    made, pids = await open_stubborn(tmux, folder, kinds=("plain", "all+setsid+twice"))
    other = await tmux.sessions.create("other")
    raw("link-window", "-d", "-s", made.window_id, "-t", f"{other.session_id}:5")
    assert await tmux.endings.kill_session(made.session_id) == []
    assert sorted(left_of(pids)) == sorted(["plain", "all+setsid+twice"])
    await tmux.endings.kill_session(other.session_id)
    assert left_of(pids) == []


async def test_what_left_a_pane_that_is_dead_is_ended_with_it(tmux: Tmux, folder: Path, way: str) -> None:
    await tmux.sessions.create("keep")
    program = PaneProgram(f"setsid sleep 600 & echo $! >{folder}/pid", remain_on_exit=True)
    made = await tmux.sessions.create("dev", program=program)

    async def is_dead() -> bool:
        return (await tmux.panes.get(made.pane_id)).is_dead

    await eventually(is_dead)
    pid = int((folder / "pid").read_text())
    assert is_running(pid)
    ended = await tmux.endings.kill_pane(made.pane_id)
    assert [(row.pid, row.signal) for row in ended] == [(pid, "SIGTERM")]
    assert not is_running(pid)


async def test_a_kill_whose_caller_is_gone_is_done_to_its_end(tmux: Tmux, folder: Path) -> None:
    await tmux.sessions.create("keep")
    made, pids = await open_stubborn(tmux, folder)
    kill = asyncio.create_task(_kill(tmux, made.session_id))

    async def is_gone() -> bool:
        return made.session_id not in [row.id for row in await tmux.sessions.list()]

    await eventually(is_gone)
    kill.cancel()
    await asyncio.wait([kill])
    await wait_until(lambda: left_of(pids) == [])


async def _kill(tmux: Tmux, session: SessionId) -> object:
    return await tmux.endings.kill_session(session)


async def test_a_condition_that_does_not_hold_ends_nothing(tmux: Tmux, folder: Path, way: str) -> None:
    made, pids = await open_stubborn(tmux, folder, kinds=("plain", "all+setsid"))
    command = ("if-shell", "-F", "-t", made.session_id, "0", f"kill-session -t '{made.session_id}'")
    assert await tmux.endings.kill_session(made.session_id, command) == []
    assert sorted(left_of(pids)) == sorted(["plain", "all+setsid"])
    command = ("if-shell", "-F", "-t", made.session_id, "1", f"kill-session -t '{made.session_id}'")
    assert await tmux.endings.kill_session(made.session_id, command)
    assert left_of(pids) == []


async def test_what_is_not_there_is_said(tmux: Tmux, way: str) -> None:
    await tmux.sessions.create("keep")
    with pytest.raises(NotFound, match="Pane '%77' not found"):
        await tmux.endings.kill_pane(PaneId("%77"))
    with pytest.raises(NotFound, match="Pane '%77' not found"):
        await tmux.endings.respawn(PaneId("%77"))
    with pytest.raises(NotFound, match=r"Session '\$77' not found"):
        await tmux.endings.kill_session(SessionId("$77"))
