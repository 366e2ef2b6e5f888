"""Sessions that nothing uses any more are ended; those that something uses are not."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from muxpilot.app import App, build
from muxpilot.config.flags import load_settings
from muxpilot.idle_sessions.announcements import watch_announcements
from muxpilot.tmux import PaneId, SessionId
from muxpilot.tmux.objects.idle_limit import LimitedSession, list_limited_sessions, read_clock
from tests.rigs.engine import Raw, attach_person, wait_until
from tests.rigs.waiting import LIMIT_S, eventually, is_running
from tests.rigs.wire import Place, environment, private_place

TTL_MINUTES = 0.02  # 1.2 s
TMUX = shutil.which("tmux") or "tmux"


@pytest.fixture
def place() -> Iterator[Place]:
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "person")
        yield place


@pytest.fixture
async def app(folder: Path, socket: str) -> AsyncIterator[App]:
    """Yield an application that does not end sessions by itself."""
    app = build(load_settings({}, scope="all", socket=socket, audit=str(folder / "log")))
    yield app
    await app.close()


async def call(app: App, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await app.dispatch.call(tool, arguments)
    assert answer.structured is not None, answer.text
    return answer.structured


async def row_of(app: App, session: str) -> LimitedSession:
    rows = await list_limited_sessions(app.servers.default.connection)
    return next(row for row in rows if row.id == session)


async def find_use(app: App, session: str) -> str | None:
    return await app.services.idle_sessions.find_use(app.servers.default, await row_of(app, session))


def sessions(place: Place) -> list[str]:
    names = place.tmux("list-sessions", "-F", "#{session_name}").split()
    return [name for name in names if "hub" not in name]


def has_only(place: Place, *names: str) -> Callable[[], bool]:
    return lambda: sessions(place) == sorted(names)


def kills_in(log: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line for line in lines if line["tool"] == "kill-session"]


# As users see it


async def test_a_session_that_nothing_uses_is_ended_and_one_in_which_a_command_runs_is_not(
    place: Place,
) -> None:
    log = place.home / "audit"
    async with place.serve("--audit", str(log)) as wire:
        await wire.shake_hands()
        await wire.call("create-session", name="busy", command="exec sleep 600", ttlMinutes=TTL_MINUTES)
        await wire.call("create-session", name="jobs", ttlMinutes=TTL_MINUTES)
        await wire.call("execute-command", paneId="jobs:", command="sleep 600 &")
        made = await wire.call("create-session", name="unused", ttlMinutes=TTL_MINUTES)
        await wait_until(has_only(place, "busy", "jobs", "person"))
        await wait_until(lambda: kills_in(log))
        [told] = kills_in(log)
        assert (told["sessionId"], told["cause"]) == (made["sessionId"], "unused for 1.2 s")


async def test_what_expired_while_no_muxpilot_ran_is_ended_by_the_next_start(place: Place) -> None:
    made = json.dumps({"name": "left", "ttlMinutes": TTL_MINUTES})
    argv = [sys.executable, "-m", "muxpilot", "--socket", place.socket, "call", "create-session", made]
    await asyncio.to_thread(subprocess.run, argv, env=environment(place.home), check=True, timeout=60)
    assert sessions(place) == ["left", "person"]
    async with place.serve() as wire:  # no call is made
        await wire.shake_hands()
        await wait_until(has_only(place, "person"))


async def test_any_of_several_muxpilots_ends_it_once_and_none_complains(place: Place) -> None:
    async with place.serve() as maker, place.serve() as other, place.serve() as third:
        for wire in (maker, other, third):
            await wire.shake_hands()
            await wire.call("list-panes")
        await maker.call("create-session", name="shared", ttlMinutes=TTL_MINUTES)
        await maker.kill()
        await wait_until(has_only(place, "person"))
        for wire in (other, third):
            assert (await wire.call("list-sessions"))["sessions"][0]["name"] == "person"
            await wire.close_stdin()
            assert await wire.stderr() == ""


async def test_a_muxpilot_that_was_never_used_ends_what_another_has_left(place: Place) -> None:
    async with place.serve("--log-level", "debug:tmux") as unused:
        await unused.shake_hands()
        async with place.serve() as maker:
            await maker.shake_hands()
            await maker.call("create-session", name="left", ttlMinutes=TTL_MINUTES)
            await maker.kill()
        await wait_until(has_only(place, "person"))


@pytest.mark.parametrize("is_there_before", [False, True], ids=["new", "made before"])
async def test_a_workspace_is_ended_after_the_hours_of_the_configuration(
    place: Place, *, is_there_before: bool
) -> None:
    config = place.home / "config.toml"
    config.write_text("[workspace]\nidle_hours = 0.0004\n")
    if is_there_before:
        async with place.serve("--workspace", "agent") as wire:
            await wire.shake_hands()
            await wire.call("execute-command", command="true")
    async with place.serve("--workspace", "agent", "--config", str(config)) as wire:
        await wire.shake_hands()
        if not is_there_before:
            await wire.call("execute-command", command="true")
        else:
            await wire.call("list-panes")
            await wire.call("list-panes")
        await wait_until(has_only(place, "person"))


# Why a session is kept


async def test_a_session_stays_for_each_of_these_reasons(app: App, raw: Raw, socket: str) -> None:
    made = await call(app, "create-session", name="dev", ttlMinutes=60)
    session, pane = made["sessionId"], made["paneId"]
    app.services.idle_sessions.may_end = _allow
    await call(app, "execute-command", paneId=pane, command="true")
    assert await find_use(app, session) is None
    async with attach_person(TMUX, socket, "attach-session", "-t", "dev"):
        assert await find_use(app, session) == "a person is attached"
    await call(app, "execute-command", paneId=pane, command="sleep 600 & sleep 0.01")
    await eventually(lambda: _is(find_use(app, session), "sleep runs in it"))  # not yet: bash
    await call(app, "execute-command", paneId=pane, command="kill %1; wait")
    await call(app, "execute-command", paneId=pane, command="cat", waitMs=0)
    await eventually(lambda: _is(find_use(app, session), "cat runs in it"))
    await call(app, "send-keys", paneId=pane, keys="C-c", literal=False)
    await eventually(lambda: _is(find_use(app, session), None))
    person = raw("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", pane)
    assert await find_use(app, session) == "it has panes that no muxpilot created"
    raw("kill-pane", "-t", person)
    app.services.idle_sessions.may_end = _deny
    assert await find_use(app, session) == "the policy does not allow to end it"


@pytest.mark.parametrize("shell", ["sh", "bash"])
async def test_a_shell_that_a_session_was_made_with_is_idle_at_its_prompt(app: App, shell: str) -> None:
    made = await call(app, "create-session", command=f"exec {shell}", ttlMinutes=60)
    session, pane = made["sessionId"], made["paneId"]
    app.services.idle_sessions.may_end = _allow
    await eventually(lambda: _is(find_use(app, session), None))
    await call(app, "execute-command", paneId=pane, command="sleep 600 & sleep 0.01")
    await eventually(lambda: _is(find_use(app, session), "sleep runs in it"))  # not yet: bash


async def _allow(tmux: object, session: SessionId) -> bool:
    return True


async def _deny(tmux: object, session: SessionId) -> bool:
    return False


async def _is(asked: Any, wanted: object) -> bool:
    return bool(await asked == wanted)


async def test_the_policy_decides_whether_this_muxpilot_ends_sessions(folder: Path, socket: str) -> None:
    config = folder / "config.toml"
    config.write_text("[security]\nallow_kill = false\n")
    app = build(load_settings({}, scope="all", socket=socket, config=str(config)))
    try:
        made = await call(app, "create-session", name="dev", ttlMinutes=60)
        may_end = app.services.idle_sessions.may_end
        assert not await may_end(app.servers.default, SessionId(made["sessionId"]))
    finally:
        await app.close()


async def test_under_guarded_a_limit_ends_its_session_and_no_person_is_asked(place: Place) -> None:
    config, log = place.home / "config.toml", place.home / "audit"
    config.write_text('[security]\npreset = "guarded"\n')
    async with (
        place.serve("--config", str(config), "--audit", str(log)) as wire,
        attach_person(TMUX, place.socket, "attach", "-t", "=person") as person,
    ):
        await wire.shake_hands()
        await wire.call("create-session", name="short", ttlMinutes=TTL_MINUTES)
        await wait_until(lambda: bool(kills_in(log)))
        assert has_only(place, "person")()
        assert b"Allow" not in person.seen
    [line] = kills_in(log)
    assert (line["sessionName"], "approval" in line) == ("short", False)


# What counts as a use


async def test_what_is_printed_or_typed_moves_the_end(app: App, raw: Raw) -> None:
    made = await call(app, "create-session", name="dev", ttlMinutes=60)
    connection = app.servers.default.connection
    before = await row_of(app, made["sessionId"])
    assert before.limit_s == 3600
    await wait_until(lambda: _second(raw) > before.last_use)
    await call(app, "send-keys", paneId=made["paneId"], keys="echo")
    await eventually(lambda: _was_used_later(app, before))
    assert await read_clock(connection) - (await row_of(app, made["sessionId"])).last_use <= 60


def _second(raw: Raw) -> int:
    return int(raw("display-message", "-p", "%s"))


async def _was_used_later(app: App, before: LimitedSession) -> bool:
    return (await row_of(app, before.id)).last_use > before.last_use


async def test_a_session_that_was_used_after_the_last_look_is_not_killed(app: App, raw: Raw) -> None:
    """tmux itself compares, so neither a person nor a program can come in between."""
    await call(app, "create-session", name="keep")
    made = await call(app, "create-session", name="dev", ttlMinutes=60)
    tmux, session = app.servers.default, SessionId(made["sessionId"])
    before = await row_of(app, session)
    await wait_until(lambda: _second(raw) > before.last_use)
    await call(app, "send-keys", paneId=made["paneId"], keys="echo")
    await eventually(lambda: _was_used_later(app, before))
    assert await tmux.endings.kill_session(session, before.kill_command()) == []
    assert is_running((await tmux.panes.get(PaneId(made["paneId"]))).pid)
    now = await row_of(app, session)
    await tmux.endings.kill_session(session, now.kill_command())
    assert [row.name for row in await tmux.sessions.list()] == ["keep"]


async def test_nothing_is_asked_again_where_nothing_can_expire(app: App) -> None:
    await call(app, "create-session", name="dev")
    assert await app.services.idle_sessions.end_idle(app.servers.default) is None
    await call(app, "create-session", name="limited", ttlMinutes=60)
    pause_s = await app.services.idle_sessions.end_idle(app.servers.default)
    assert pause_s is not None
    assert 3000 < pause_s <= 3602


async def test_a_muxpilot_that_watches_is_woken_by_an_announcement_of_another() -> None:
    woken = asyncio.Event()
    stop = watch_announcements(woken.set)
    announce = "from muxpilot.idle_sessions.announcements import announce_limit; announce_limit()"
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", announce], check=True, timeout=60)
    async with asyncio.timeout(LIMIT_S):
        await woken.wait()
    stop()


# Marks


async def test_only_a_session_that_was_given_a_limit_has_one(app: App, raw: Raw) -> None:
    """A copied or inherited option is no limit, and a person's session gets none."""
    made = await call(app, "create-session", name="dev", ttlMinutes=60)
    raw("new-session", "-d", "-s", "copied")
    raw("set-option", "-t", "copied", "@muxpilot_idle_limit", f"{made['sessionId']} 1.000")
    raw("set-option", "-g", "@muxpilot_idle_limit", "$0 1; kill-server")
    again = await call(app, "create-session", name="copied", ttlMinutes=1)
    assert again["created"] is False
    rows = await list_limited_sessions(app.servers.default.connection)
    assert [(row.id, row.limit_s) for row in rows] == [(made["sessionId"], 3600)]


@pytest.mark.parametrize("value", [0, -1, "5", 1e9])
async def test_a_ttl_that_is_no_time_is_refused(app: App, value: object) -> None:
    answer = await app.dispatch.call("create-session", {"name": "dev", "ttlMinutes": value})
    assert answer.is_error
    assert "'ttlMinutes' must be" in answer.text
