"""Names that mean something else, or that attack: each means exactly one pane, or none."""

from __future__ import annotations

import pytest

from tests.rigs.muxpilots import one_server
from tests.rigs.waiting import eventually
from tests.rigs.wire import Place
from tests.workspace.test_named_panes import refusal, run, windows

HOSTILE = [
    "#(touch CANARY)",
    "#{E:#(touch CANARY)}",
    "$(touch CANARY)",
    "a;b",
    "a b",
    "a:b",
    "a:0.0",
    "a*",
    "*",
    "{last}",
    "-t",
    "--",
    ".",
    "..",
    "../x",
    "a/b",
    "a|b",
    "a,b",
    "a}b",
    "a\nb",
    "a\x00b",
    "a\x1b[31m",
    "é",
    "%",
    "%x",
    "=main",
    "x" * 65,
]


async def test_a_hostile_name_opens_nothing_and_runs_nothing(place: Place) -> None:
    async with one_server(place) as wire:
        await run(wire, "true")
        before = windows(place)
        for name in HOSTILE:
            name = name.replace("CANARY", f"{place.home}/canary")
            for tool, arguments in (("execute-command", {"command": "true"}), ("send-keys", {"keys": "x"})):
                said = await refusal(wire, tool, paneId=name, **arguments)
                assert "not found" in said or "must be a pane id" in said or "is empty" in said, (name, said)
        assert windows(place) == before
    assert not (place.home / "canary").exists()


async def test_a_name_that_is_a_prefix_or_a_pattern_of_another_is_another_pane(place: Place) -> None:
    async with one_server(place) as wire:
        panes = [(await run(wire, "true", paneId=name))["paneId"] for name in ("server", "serve", "s.rver")]
    assert len(set(panes)) == 3


async def test_a_session_of_that_name_is_meant_while_the_workspace_has_no_such_pane(place: Place) -> None:
    person = place.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "dev", "-n", "w", "cat")
    async with one_server(place) as wire:
        assert (await wire.call("pane-state", paneId="dev"))["paneId"] == person
        sent = await wire.call("send-keys", paneId="dev", keys="x")
        assert (sent["paneId"], sent["pane"], sent["created"]) == (person, None, False)
        assert windows(place) == ["dev:w 80x24 0"]


async def test_a_name_that_no_pane_can_have_is_told_with_what_names_are(place: Place) -> None:
    hint = (
        "Use list-panes to see the panes there are. "
        "The name of a new pane has at most 64 letters, digits, -, _ and ., "
        "and begins with a letter, a digit or _."
    )
    async with one_server(place) as wire:
        for name in ("my server", "é", ".x", "x" * 65):  # before there is a tmux server, and after
            said = await refusal(wire, "execute-command", paneId=name, command="true")
            assert said == f"Pane {name!r} not found. {hint}"
            await run(wire, "true")
        for name in ("%99", "dev:0.1", "=dev"):
            assert "see the panes there are" in await refusal(wire, "send-keys", paneId=name, keys="x")
        assert "see the panes there are" in await refusal(wire, "capture-pane", paneId="my server")
        place.tmux("new-session", "-d", "-s", "my server", "cat")
        assert (await wire.call("send-keys", paneId="my server", keys="x"))["created"] is False


async def test_the_workspace_is_looked_at_before_sessions(place: Place) -> None:
    async with one_server(place) as wire:
        ours = (await run(wire, "true", paneId="dev"))["paneId"]
        person = place.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "dev", "cat")
        assert (await wire.call("pane-state", paneId="dev"))["paneId"] == ours
        assert (await wire.call("pane-state", paneId="dev:"))["paneId"] == person


async def test_main_is_never_a_persons_session(place: Place) -> None:
    """A call that names no pane must not type into a session that happens to have this name."""
    person = place.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "main", "cat")
    async with one_server(place) as wire:
        assert "Pane 'main' not found" in await refusal(wire, "capture-pane")
        answer = await run(wire, "echo typed")
        assert (answer["paneId"] != person, answer["created"]) == (True, True)
        assert (await wire.call("pane-state", paneId="main:"))["paneId"] == person
    assert "typed" not in place.tmux("capture-pane", "-p", "-t", person)


@pytest.mark.parametrize("name", ["server", "main"])
async def test_a_persons_window_in_the_workspace_is_not_the_named_pane(place: Place, name: str) -> None:
    async with one_server(place) as wire:
        await run(wire, "true", paneId="first")
        person = place.tmux(
            "new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "=agent-home:", "-n", name, "cat"
        )
        assert "not found" in await refusal(wire, "capture-pane", paneId=name)
        assert (await run(wire, "true", paneId=name))["paneId"] != person


async def test_the_id_of_anothers_pane_is_that_pane_and_has_no_name(place: Place) -> None:
    person = place.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "person", "sh")
    async with one_server(place) as wire:
        main = (await run(wire, "true"))["paneId"]
        theirs = await run(wire, "echo there", paneId=person, queue=True)
        ours = await run(wire, "echo here", paneId=main)
        assert "not found" in await refusal(wire, "execute-command", command="true", paneId="%999")
    assert (theirs["paneId"], theirs["pane"], theirs["created"]) == (person, None, False)
    assert (ours["paneId"], ours["pane"], ours["created"]) == (main, "main", False)


async def test_a_mark_that_a_person_copies_gives_no_name(place: Place) -> None:
    async with one_server(place) as wire:
        ours = (await run(wire, "true"))["paneId"]
        mark = place.tmux("show-options", "-pqv", "-t", ours, "@muxpilot_pane")
        person = place.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "person", "cat")
        place.tmux("set-option", "-p", "-t", person, "@muxpilot_pane", mark)
        place.tmux("set-option", "-g", "@muxpilot_pane", mark)
        assert (await wire.call("pane-state"))["paneId"] == ours
        assert (await wire.call("send-keys", paneId=person, keys="x"))["pane"] is None


async def test_a_person_may_rename_move_and_split_without_losing_the_pane(place: Place) -> None:
    person = place.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "person", "cat")
    async with one_server(place) as wire:
        ours = (await run(wire, "true", paneId="server"))["paneId"]
        await run(wire, "true")
        place.tmux("rename-window", "-t", ours, "other")
        place.tmux("rename-session", "-t", "=agent-home", "renamed")
        assert (await run(wire, "true", paneId="server"))["paneId"] == ours
        place.tmux("split-window", "-d", "-t", ours, "cat")
        assert (await run(wire, "true", paneId="server"))["paneId"] == ours
        place.tmux("join-pane", "-d", "-s", ours, "-t", person)
        moved = await run(wire, "true", paneId="server")
        assert (moved["paneId"], moved["created"]) == (ours, False)


async def test_nothing_depends_on_the_persons_configuration(place: Place) -> None:
    place.tmux("new-session", "-d", "-s", "keeper", "cat")
    for option in (
        ("-g", "base-index", "5"),
        ("-gw", "pane-base-index", "3"),
        ("-gw", "automatic-rename", "on"),
        ("-gw", "allow-rename", "on"),
        ("-g", "renumber-windows", "on"),
        ("-gw", "remain-on-exit", "on"),
        ("-g", "default-size", "20x10"),
        ("-g", "default-command", "exec sh"),
    ):
        place.tmux("set-option", *option)
    async with one_server(place) as wire:
        first = await run(wire, "printf '\\033kstolen\\033\\\\'; echo a", paneId="first")
        second = await run(wire, "echo b", paneId="second")
        await wire.call("kill-pane", paneId="first")
        assert (await run(wire, "echo c", paneId="second"))["paneId"] == second["paneId"]

        async def names() -> bool:
            return [row for row in windows(place) if "agent" in row] == ["agent-home:second 200x50 0"]

        await eventually(names)
    assert (first["exitCode"], second["exitCode"]) == (0, 0)


async def test_the_focus_and_the_size_of_a_persons_window_do_not_change(place: Place) -> None:
    place.tmux("new-session", "-d", "-s", "person", "-n", "w", "-x", "90", "-y", "30", "cat")
    async with one_server(place) as wire:
        await run(wire, "true", paneId="one")
        active = place.tmux("display-message", "-p", "-t", "=agent-home:", "#{window_id}")
        await run(wire, "true", paneId="two")
        assert place.tmux("display-message", "-p", "-t", "=agent-home:", "#{window_id}") == active
    assert "person:w 90x30 0" in windows(place)
