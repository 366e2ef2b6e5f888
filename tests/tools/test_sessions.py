"""Sessions through MCP: every field of the answers."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROW = {"id", "name", "windows", "attached", "created"}
MADE = {"sessionId", "sessionName", "windowId", "paneId", "created"}


async def test_a_created_session_answers_every_id_of_it(rig: Rig, call: Call, name: str) -> None:
    made = await call("create-session", name=name)
    assert set(made) == MADE
    assert made["sessionName"] == name
    assert made["created"] is True
    row = "#{session_id} #{window_id} #{pane_id} #{window_width} #{window_height}"
    ids = rig.raw("display-message", "-p", "-t", f"={name}:", row).split()
    assert ids == [made["sessionId"], made["windowId"], made["paneId"], "200", "50"]


async def test_creating_a_taken_name_returns_that_session(call: Call, name: str) -> None:
    first = await call("create-session", name=name)
    assert await call("create-session", name=name, width=30) == {**first, "created": False}


async def test_a_session_without_a_name_gets_one(call: Call) -> None:
    made = await call("create-session")
    assert made["sessionName"] in [row["name"] for row in (await call("list-sessions"))["sessions"]]


async def test_a_session_is_made_as_it_was_asked_for(rig: Rig, call: Call, name: str) -> None:
    made = await call(
        "create-session",
        name=name,
        command='printf "<%s %s>" "$PWD" "$COLOUR"; exec cat',
        windowName="first",
        cwd="/usr",
        env={"COLOUR": "green #(x) ; é"},
        width=90,
        height=33,
    )
    assert "</usr green #(x) ; é>" in await rig.wait_until_shown(made["paneId"], ">")
    row = "#{window_name} #{window_width} #{window_height}"
    assert rig.raw("display-message", "-p", "-t", made["paneId"], row) == "first 90 33"


async def test_sessions_are_listed_with_the_fields_of_the_contract(call: Call, name: str) -> None:
    made = await call("create-session", name=name)
    await call("create-window", sessionId=made["sessionId"])
    answer = await call("list-sessions")
    assert set(answer) == {"sessions"}
    assert all(set(row) == ROW for row in answer["sessions"])
    [row] = [row for row in answer["sessions"] if row["name"] == name]
    created = row.pop("created")
    assert row == {"id": made["sessionId"], "name": name, "windows": 2, "attached": 0}
    assert abs(created - time.time()) < 60


async def test_our_own_connection_shows_nowhere(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane()
    await call("read-pane", paneId=made.pane)
    names = [row["name"] for row in (await call("list-sessions"))["sessions"]]
    assert not [name for name in names if "hub" in name]
    assert [row["attached"] for row in (await call("list-sessions"))["sessions"]] == [0] * len(names)
    assert (await call("list-clients"))["clients"] == []
    assert "hub" in rig.raw("list-sessions", "-F", "#{session_name}")


async def test_a_server_that_is_not_running_has_no_sessions(rig: Rig, call: Call) -> None:
    assert await call("list-sessions", socket=str(rig.folder / "nobody")) == {"sessions": []}


async def test_a_socket_that_is_none_is_said_and_left_alone(rig: Rig, fails: Fails) -> None:
    file = rig.folder / "file"
    file.write_text("precious")
    assert "is not a socket" in await fails("list-sessions", socket=str(file))
    assert file.read_text() == "precious"


async def test_every_tool_works_on_another_server(rig: Rig, call: Call, name: str) -> None:
    other = str(rig.folder / "o")
    try:
        made = await call("create-session", name=name, socket=other)
        await call("kill-session", sessionId=name, socket=other)
        assert made["created"]
        assert name not in rig.raw("list-sessions", "-F", "#{session_name}")
    finally:
        rig.raw("-S", other, "kill-server", check=False)


@pytest.mark.parametrize("pattern", ["{}-whole", "{}-w", "{}-w*e", "{}-wh?le", "*{}-who*"])
async def test_a_session_is_found_by_name_part_or_glob(call: Call, name: str, pattern: str) -> None:
    made = await call("create-session", name=f"{name}-whole")
    await call("create-session", name=f"{name}-other")
    row = await call("find-session", name=pattern.format(name))
    assert set(row) == ROW
    assert row["id"] == made["sessionId"]


async def test_an_exact_name_wins_over_what_holds_it(call: Call, name: str) -> None:
    await call("create-session", name=f"{name}-longer")
    exact = await call("create-session", name=name)
    await call("create-session", name=f"longer-{name}")
    assert (await call("find-session", name=name))["id"] == exact["sessionId"]


async def test_a_session_that_is_not_there_is_not_found(fails: Fails) -> None:
    assert await fails("find-session", name="no*such") == (
        "Session 'no*such' not found. Use list-sessions to see the sessions there are."
    )


async def test_without_anybody_attached_there_is_no_current_session(fails: Fails) -> None:
    assert "list-sessions" in await fails("get-current-session")


@pytest.mark.parametrize("argument", ["newName", "name", "new_name"])
async def test_a_session_is_renamed(rig: Rig, call: Call, name: str, argument: str) -> None:
    made = await call("create-session", name=name)
    wanted = f"{name}-é #(x) ; {argument}"
    answer = await call("rename-session", sessionId=name, **{argument: wanted})
    assert answer == {"sessionId": made["sessionId"], "name": wanted}
    assert rig.raw("display-message", "-p", "-t", made["sessionId"], "#{session_name}") == wanted


async def test_renaming_answers_the_name_that_tmux_keeps(rig: Rig, call: Call, name: str) -> None:
    made = await call("create-session", name=name)
    answer = await call("rename-session", sessionId=made["sessionId"], newName=f"{name}.a:b")
    assert answer["name"] == rig.raw("display-message", "-p", "-t", made["sessionId"], "#{session_name}")


async def test_two_different_new_names_are_refused(call: Call, fails: Fails, name: str) -> None:
    await call("create-session", name=name)
    both = await fails("rename-session", sessionId=name, newName="a", name="b")
    assert both == "The arguments 'newName' and 'name' differ. Give one of them."
    assert "'newName' is missing" in await fails("rename-session", sessionId=name)


async def test_a_taken_name_is_not_given_twice(call: Call, fails: Fails, name: str) -> None:
    await call("create-session", name=name)
    await call("create-session", name=f"{name}-2")
    assert "already exists" in await fails("rename-session", sessionId=f"{name}-2", newName=name)


async def test_killing_a_session_answers_its_id(call: Call, fails: Fails, name: str) -> None:
    made = await call("create-session", name=name)
    longer = await call("create-session", name=f"{name}-longer")
    assert await call("kill-session", sessionId=name) == {"killed": made["sessionId"], "processes": []}
    assert "not found" in await fails("kill-session", sessionId=name)
    assert "not found" in await fails("kill-session", sessionId=made["sessionId"])
    assert longer["sessionId"] in [row["id"] for row in (await call("list-sessions"))["sessions"]]


async def test_a_path_has_one_socket_in_a_private_folder(rig: Rig, call: Call) -> None:
    path = str(rig.folder)
    answer = await call("socket-for-path", path=path)
    assert set(answer) == {"path", "socket"}
    assert answer["path"] == path
    assert await call("socket-for-path", path=f"{path}/home/..") == {**answer, "path": f"{path}/home/.."}
    assert (await call("socket-for-path", path=f"{path}/home"))["socket"] != answer["socket"]
    folder = Path(answer["socket"]).parent.stat()
    assert (stat.S_IMODE(folder.st_mode), folder.st_uid) == (0o700, os.getuid())
    assert len(answer["socket"]) < 104


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cwd": "/no/such/folder"}, "/no/such/folder"),
        ({"env": {"A-B": "x"}}, "'A-B'"),
        ({"env": {"A": 5}}, "'env' must be an object with string values"),
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"windowName": ""}, "window"),
        ({"width": 0}, "'width' must be from 1 to 10000"),
        ({"height": 10001}, "'height' must be from 1 to 10000"),
        ({"socket": "/tmp/" + "x" * 200}, "socket"),
    ],
)
async def test_a_session_that_cannot_be_made_is_refused_and_not_made(
    call: Call, fails: Fails, arguments: dict[str, object], words: str
) -> None:
    before = await call("list-sessions")
    assert words in await fails("create-session", **arguments)
    assert await call("list-sessions") == before
