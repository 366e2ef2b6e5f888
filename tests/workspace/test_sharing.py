"""Several muxpilots: which of them share a workspace, and panes that they ask for at the same moment."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

from tests.rigs.muxpilots import one_server, several_servers
from tests.rigs.waiting import eventually
from tests.rigs.wire import Place, Wire, serving
from tests.workspace.test_named_panes import is_dead, keep_dead_panes, refusal, run, windows

NAMES = [f"pane{number}" for number in range(6)]


def serve_in(place: Place, folder: Path, *args: str) -> AbstractAsyncContextManager[Wire]:
    """Serve from another folder on the same tmux."""
    folder.mkdir(parents=True, exist_ok=True)
    env = {"TMPDIR": str(place.passing), "PATH": place.path}
    return serving(folder, "--socket", place.socket, *args, env=env)


async def test_muxpilots_that_ask_for_a_pane_in_the_same_moment_get_the_same(place: Place) -> None:
    async with several_servers(place, 3) as wires:
        for name in NAMES:
            asked = [await wire.start_call("execute-command", command="true", paneId=name) for wire in wires]
            answers = [answer["result"]["structuredContent"] for answer in await asyncio.gather(*asked)]
            assert len({answer["paneId"] for answer in answers}) == 1
            assert sorted(answer["created"] for answer in answers) == [False, False, True]
            assert {answer["exitCode"] for answer in answers} == {0}, repr([a.get("reason") for a in answers])
    assert windows(place) == [f"agent-home:{name} 200x50 0" for name in NAMES]


async def test_one_muxpilot_that_is_asked_twice_at_once_opens_one_pane(place: Place) -> None:
    async with one_server(place) as wire:
        asked = [await wire.start_call("execute-command", command=f"echo {turn}") for turn in range(4)]
        answers = [answer["result"]["structuredContent"] for answer in await asyncio.gather(*asked)]
    assert len({answer["paneId"] for answer in answers}) == 1
    assert [answer["output"] for answer in answers] == ["0\n", "1\n", "2\n", "3\n"]


async def test_muxpilots_that_start_a_dead_pane_again_share_it(place: Place) -> None:
    keep_dead_panes(place)
    async with several_servers(place, 2) as wires:
        pane = (await run(wires[0], "true"))["paneId"]
        place.tmux("respawn-pane", "-k", "-t", pane, "true")
        await eventually(partial(is_dead, place, pane))
        asked = [await wire.start_call("execute-command", command="echo up") for wire in wires]
        answers = [answer["result"]["structuredContent"] for answer in await asyncio.gather(*asked)]
    assert {(answer["paneId"], answer["output"]) for answer in answers} == {(pane, "up\n")}


async def test_folders_of_the_same_name_have_workspaces_of_their_own(place: Place, tmp_path: Path) -> None:
    async with serve_in(place, tmp_path / "a" / "home") as first, serve_in(place, place.home) as second:
        for wire in (first, second):
            await wire.shake_hands()
        one, two = await asyncio.gather(run(first, "pwd"), run(second, "pwd"))
        assert one["paneId"] != two["paneId"]
        assert (one["output"], two["output"]) == (f"{tmp_path}/a/home\n", f"{place.home}\n")
        assert (await run(first, "true"))["paneId"] == one["paneId"]
    assert windows(place) == ["agent-home-2:main 200x50 0", "agent-home:main 200x50 0"]


async def test_a_given_name_is_one_workspace_for_all_folders(place: Place, tmp_path: Path) -> None:
    async with serve_in(place, tmp_path / "x", "--workspace", "team.1") as first:
        await first.shake_hands()
        one = await run(first, "true")
        assert windows(place) == ["team_1:main 200x50 0"]
        async with serve_in(place, tmp_path / "y", "--workspace", "team.1") as second:
            await second.shake_hands()
            assert (await run(second, "true"))["paneId"] == one["paneId"]


async def test_the_workspace_of_a_folder_can_be_named_from_elsewhere(place: Place, tmp_path: Path) -> None:
    async with one_server(place) as first:
        one = await run(first, "true")
        async with serve_in(place, tmp_path / "y", "--workspace", "agent-home") as second:
            await second.shake_hands()
            assert (await run(second, "true"))["paneId"] == one["paneId"]


async def test_a_persons_session_is_never_made_a_workspace(place: Place, tmp_path: Path) -> None:
    place.tmux("new-session", "-d", "-s", "agent-home", "-n", "w", "cat")
    async with one_server(place) as wire:
        await run(wire, "true")
        assert windows(place) == ["agent-home-2:main 200x50 0", "agent-home:w 80x24 0"]
    async with serve_in(place, tmp_path / "y", "--workspace", "agent-home") as wire:
        await wire.shake_hands()
        said = await refusal(wire, "execute-command", command="true")
    assert "'agent-home' exists, and is not a workspace of muxpilot" in said


async def test_a_pane_of_another_workspace_has_no_name_here(place: Place, tmp_path: Path) -> None:
    async with one_server(place) as first, serve_in(place, tmp_path / "other") as second:
        await second.shake_hands()
        theirs = (await run(first, "true"))["paneId"]
        answer = await run(second, "true", paneId=theirs)
        assert (answer["paneId"], answer["pane"], answer["created"]) == (theirs, None, False)
        assert "not found" in await refusal(second, "capture-pane")
