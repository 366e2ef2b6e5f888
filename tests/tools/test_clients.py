"""Attached clients through MCP."""

from __future__ import annotations

import pytest

from tests.rigs.engine import SIZE, AttachedPerson, attach_person, wait_until
from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell
from tests.rigs.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

SLEEP = "exec sleep 60"
ROW = {"tty", "name", "sessionName", "pid", "width", "height", "readonly"}


async def test_nobody_looks_on(rig: Rig, call: Call, fails: Fails) -> None:
    assert await call("list-clients") == {"clients": []}
    assert "No tmux server" in await fails("list-clients", socket=str(rig.folder / "nobody"))


@pytest.mark.parametrize("readonly", [False, True])
async def test_a_person_is_listed_with_the_fields_of_the_contract(
    rig: Rig, call: Call, pane: Shell, readonly: bool
) -> None:
    made = await pane(SLEEP)
    flags = ("-r",) if readonly else ()
    async with attach_person("tmux", rig.socket, "attach-session", *flags, "-t", made.session) as someone:
        [row] = (await call("list-clients"))["clients"]
        assert set(row) == ROW
        assert row == {
            "tty": someone.tty,
            "name": someone.tty,
            "sessionName": made.name,
            "pid": someone.process.pid,
            "width": SIZE[1],
            "height": SIZE[0],
            "readonly": readonly,
        }
        [session] = [row for row in (await call("list-sessions"))["sessions"] if row["id"] == made.session]
        assert session["attached"] == 1


async def test_the_session_that_a_person_used_last_is_the_current_one(
    rig: Rig, call: Call, pane: Shell
) -> None:
    made = await pane(SLEEP)
    async with attach_person("tmux", rig.socket, "attach-session", "-t", made.session):
        row = await call("get-current-session")
        assert set(row) == {"id", "name", "windows", "attached", "created"}
        assert (row["id"], row["attached"]) == (made.session, 1)


async def test_a_person_is_detached(rig: Rig, call: Call, fails: Fails, pane: Shell) -> None:
    made = await pane(SLEEP)
    async with attach_person("tmux", rig.socket, "attach-session", "-t", made.session) as someone:
        assert await call("detach-client", clientTty=someone.tty) == {"clientTty": someone.tty}
        await wait_until(lambda: someone.process.poll() is not None)
    assert await fails("detach-client", clientTty=someone.tty) == (
        f"Client '{someone.tty}' not found. Use list-clients to see the clients there are."
    )
    assert made.session in [row["id"] for row in (await call("list-sessions"))["sessions"]]


tells_clients = pytest.mark.tmux_since(3, 3, "it shows messages to no client that is named")


async def wait_until_shown(someone: AttachedPerson, text: str) -> None:
    await wait_until(lambda: text.encode() in bytes(someone.seen))


@tells_clients
async def test_a_message_is_shown_to_those_who_look_on_and_counted(rig: Rig, call: Call, pane: Shell) -> None:
    made, other = await pane(SLEEP), await pane(SLEEP)
    assert await call("display-message", message="nobody") == {"shown": 0}
    async with (
        attach_person("tmux", rig.socket, "attach-session", "-t", made.session) as one,
        attach_person("tmux", rig.socket, "attach-session", "-t", other.session) as two,
    ):
        assert await call("display-message", message="to all of you") == {"shown": 2}
        await wait_until_shown(one, "to all of you")
        await wait_until_shown(two, "to all of you")
        answer = await call("display-message", message="only you", paneId=made.pane, duration=30)
        assert answer == {"shown": 1}
        await wait_until_shown(one, "only you")
        assert b"only you" not in bytes(two.seen)
        assert await call("display-message", message="read-pane", paneId=made.pane) == {"shown": 1}


@tells_clients
async def test_a_message_is_shown_as_it_is_and_expands_nothing(rig: Rig, call: Call, pane: Shell) -> None:
    made, canary = await pane(SLEEP), rig.folder / "canary"
    message = f"#(touch {canary}) #{{pane_id}} %H $(touch {canary}) #[fg=red]é;"
    async with attach_person("tmux", rig.socket, "attach-session", "-t", made.session) as someone:
        assert await call("display-message", message=message) == {"shown": 1}
        await wait_until_shown(someone, "#{pane_id} %H")
        rig.raw("run-shell", "true")
    assert not canary.exists()


async def test_a_message_for_a_pane_that_is_not_there_is_refused(rig: Rig, fails: Fails) -> None:
    assert "Pane '%999' not found" in await fails("display-message", message="x", paneId="%999")
    nobody = str(rig.folder / "nobody")
    assert "No tmux server" in await fails("display-message", message="x", paneId="%9", socket=nobody)


@pytest.mark.parametrize("duration", [0, -1, 3601, 1e300])
async def test_a_duration_out_of_range_is_refused(fails: Fails, duration: float) -> None:
    words = await fails("display-message", message="x", duration=duration)
    assert "'duration' must be from 0.1 to 3600" in words


async def test_the_default_server_is_listed(rig: Rig, call: Call) -> None:
    answer = await call("list-servers")
    assert set(answer) == {"servers"}
    [row] = answer["servers"]
    assert set(row) == {"name", "socket", "ssh", "state", "tmuxVersion", "sessions"}
    names = rig.raw("list-sessions", "-F", "#{session_name}").splitlines()
    version = rig.raw("display-message", "-p", "#{version}")
    assert (row["name"], row["socket"], row["ssh"]) == ("default", rig.socket, None)
    assert row["state"] == "connected"
    assert version.startswith(row["tmuxVersion"])
    assert row["sessions"] == len([name for name in names if "hub" not in name])


@tells_clients
async def test_people_who_leave_are_no_longer_counted(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane(SLEEP)
    async with attach_person("tmux", rig.socket, "attach-session", "-t", made.session):
        pass

    async def alone() -> bool:
        return not (await call("list-clients"))["clients"]

    await eventually(alone)
    assert await call("display-message", message="x", paneId=made.pane) == {"shown": 0}
