"""What muxpilot created and what others created: `allow_foreign`, and what the audit log says about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muxpilot.app import build
from muxpilot.config.flags import load_settings
from tests.rigs.policies import Policy, PolicyPlace, place_with_sessions
from tests.rigs.waiting import eventually

KEY = "security.allow_foreign"
TOML = "[security]\nallow_foreign = false\n"


@pytest.fixture
def place() -> Iterator[PolicyPlace]:
    with place_with_sessions() as place:
        yield place


# Every one of them is aimed at what a person made.
TOUCHING: list[tuple[str, dict[str, Any]]] = [
    ("send-keys", {"paneId": "PANE", "keys": "ls"}),
    ("send-enter", {"paneId": "PANE"}),
    ("execute-command", {"paneId": "PANE", "command": "true"}),
    ("start-and-watch", {"paneId": "PANE", "command": "true", "pattern": "x"}),
    ("run-in-repl", {"paneId": "PANE", "input": "1"}),
    ("resize-pane", {"paneId": "PANE", "height": 5}),
    ("select-layout", {"windowId": "dev:first", "layout": "tiled"}),
    ("rename-session", {"sessionId": "dev", "newName": "x"}),
    ("respawn-pane", {"paneId": "PANE", "kill": True}),
    ("kill-pane", {"paneId": "PANE"}),
    ("kill-window", {"windowId": "dev:first"}),
    ("kill-session", {"sessionId": "dev"}),
    ("create-window", {"sessionId": "dev"}),
    ("write-to-display", {"paneId": "PANE", "text": "x", "clear": True}),
    ("detach-client", {"clientTty": "/dev/pts/999"}),
]


def panes(place: PolicyPlace) -> str:
    return place.raw("list-panes", "-a", "-F", "#{session_name} #{pane_id} #{pane_pid} #{pane_height}")


async def test_what_a_person_made_is_read_but_neither_typed_into_changed_nor_ended(
    under: Policy, place: PolicyPlace
) -> None:
    before = panes(place)
    pane = place.panes["one"]
    async with under(TOML) as it:
        for tool, arguments in TOUCHING:
            given = {name: pane if value == "PANE" else value for name, value in arguments.items()}
            await it.check_denied(KEY, tool, **given)
        results = await it.call("run-on", command="true", panes=[{"paneId": pane}])
        assert KEY in results["results"][0]["reason"]
        assert await it.call("capture-pane", paneId=pane) is not None
        await it.call("display-message", message="hello", paneId=pane)
        asked = await it.call("ask-person", question="May I?", paneId=pane, timeoutSeconds=0)
        assert asked["answered"] is False

    async def is_as_before() -> bool:
        """Wait: our own session takes a moment to end."""
        return panes(place) == before

    await eventually(is_as_before)


async def test_what_any_muxpilot_made_is_open_unless_a_pane_of_a_person_is_in_it(
    under: Policy, place: PolicyPlace
) -> None:
    async with under("") as earlier:
        made = await earlier.call("create-session", name="ours", command="cat")
    async with under(TOML) as it:
        await it.call("send-keys", paneId=made["paneId"], keys="typed", enter=True)
        theirs = place.raw("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", made["paneId"])
        for tool, target in (
            ("kill-window", {"windowId": made["windowId"]}),
            ("kill-session", {"sessionId": "ours"}),
        ):
            assert theirs in await it.check_denied(KEY, tool, **target)
        place.raw("set-option", "-w", "-t", made["windowId"], "synchronize-panes", "on")
        assert theirs in await it.check_denied(KEY, "send-keys", paneId=made["paneId"], keys="x")
        place.raw("kill-pane", "-t", theirs)
        assert (await it.call("kill-session", sessionId="ours"))["killed"] == made["sessionId"]


# Calls that arrange a window, whose panes are OURS and THEIRS. LONE is a pane of ours in a window of its own.
ARRANGING: list[tuple[str, dict[str, Any]]] = [
    ("split-pane", {"paneId": "OURS"}),
    ("split-pane", {"paneId": "THEIRS"}),
    ("resize-pane", {"paneId": "OURS", "height": 3}),
    ("zoom-pane", {"paneId": "OURS"}),
    ("select-pane", {"paneId": "OURS"}),
    ("break-pane", {"paneId": "OURS"}),
    ("join-pane", {"sourcePaneId": "LONE", "targetPaneId": "OURS"}),
    ("join-pane", {"sourcePaneId": "OURS", "targetPaneId": "LONE"}),
    ("swap-pane", {"sourcePaneId": "LONE", "targetPaneId": "OURS"}),
    ("swap-pane", {"sourcePaneId": "OURS", "targetPaneId": "LONE"}),
    ("select-layout", {"windowId": "SHARED", "layout": "tiled"}),
    ("set-synchronize-panes", {"windowId": "SHARED", "enabled": True}),
    ("rename-window", {"windowId": "SHARED", "name": "x"}),
    ("select-window", {"windowId": "SHARED"}),
    ("move-window", {"windowId": "SHARED", "targetSessionId": "ours"}),
    ("move-window", {"windowId": "LONE-WINDOW", "targetSessionId": "dev"}),
    ("rename-pane", {"paneId": "THEIRS", "title": "x"}),
]


def look(place: PolicyPlace) -> str:
    fields = "#{session_name} #{window_id} #{window_name} #{window_layout} #{pane_id} #{pane_title}"
    rows = place.raw(
        "list-panes", "-a", "-F", f"{fields} #{{pane_active}} #{{window_active}} #{{pane_synchronized}}"
    )
    return "\n".join(row for row in rows.splitlines() if not row.startswith("muxpilot-hub-"))


@pytest.mark.parametrize("toml", [TOML, '[security]\npreset = "guarded"\n'], ids=["allow_foreign", "guarded"])
async def test_a_window_with_a_pane_of_a_person_is_not_arranged(
    under: Policy, place: PolicyPlace, toml: str
) -> None:
    place.raw("set-option", "-g", "automatic-rename", "off")  # tmux would name windows at any moment
    async with under("") as earlier:
        made = await earlier.call("create-session", name="ours", command="cat")
        lone = await earlier.call("create-window", sessionId="ours", command="cat")
    theirs = place.raw("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", made["paneId"], "cat")
    names = {
        "OURS": made["paneId"],
        "THEIRS": theirs,
        "LONE": lone["paneId"],
        "SHARED": made["windowId"],
        "LONE-WINDOW": lone["windowId"],
    }
    async with under(toml) as it:
        before = look(place)
        for tool, arguments in ARRANGING:
            given = {key: names.get(str(value), value) for key, value in arguments.items()}
            await it.check_denied(KEY, tool, **given)
            assert look(place) == before, tool
        split = await it.call("split-pane", paneId=lone["paneId"], command="cat")
        await it.call("zoom-pane", paneId=split["paneId"])
        await it.call("rename-pane", paneId=made["paneId"], title="mine")
        await it.call("send-keys", paneId=made["paneId"], keys="typed")


# Calls that would change a person's session through a window of an agent in it: AGENTS, with the pane IN-IT.
IN_A_PERSONS_SESSION: list[tuple[str, dict[str, Any]]] = [
    ("create-window", {"sessionId": "dev"}),
    ("select-window", {"windowId": "AGENTS"}),
    ("break-pane", {"paneId": "IN-IT"}),
    ("move-window", {"windowId": "AGENTS", "targetSessionId": "ours"}),
    ("move-window", {"windowId": "ELSEWHERE", "targetSessionId": "dev"}),
]


@pytest.mark.parametrize("toml", [TOML, '[security]\npreset = "guarded"\n'], ids=["allow_foreign", "guarded"])
async def test_a_persons_session_gets_no_new_windows_and_shows_the_same_one(
    under: Policy, place: PolicyPlace, toml: str
) -> None:
    place.raw("set-option", "-g", "automatic-rename", "off")  # tmux would name windows at any moment
    async with under("") as earlier:
        inside = await earlier.call("create-window", sessionId="dev", command="cat")
        await earlier.call("split-pane", paneId=inside["paneId"], command="cat")
        elsewhere = await earlier.call("create-session", name="ours", command="cat")
    names = {"AGENTS": inside["windowId"], "IN-IT": inside["paneId"], "ELSEWHERE": elsewhere["windowId"]}
    async with under(toml) as it:
        before = look(place)
        for tool, arguments in IN_A_PERSONS_SESSION:
            given = {key: names.get(str(value), value) for key, value in arguments.items()}
            assert "session $0" in await it.check_denied(KEY, tool, **given) or given.get("targetSessionId")
            assert look(place) == before, tool
        # The agent's panes there are its own all the same.
        await it.call("send-keys", paneId=inside["paneId"], keys="typed")
        await it.call("split-pane", paneId=inside["paneId"], command="cat")


async def test_a_window_that_a_person_also_shows_in_their_session_is_not_selected(
    under: Policy, place: PolicyPlace
) -> None:
    async with under("") as earlier:
        made = await earlier.call("create-session", name="ours", command="cat")
    place.raw("link-window", "-d", "-s", made["windowId"], "-t", "dev:7")
    async with under(TOML) as it:
        await it.check_denied(KEY, "select-window", windowId=made["windowId"])
    assert place.raw("display-message", "-p", "-t", "dev:", "#{window_index}") != "7"


async def test_an_agents_session_stays_its_own_if_a_person_opens_a_window_in_it(
    under: Policy, place: PolicyPlace
) -> None:
    async with under("") as earlier:
        await earlier.call("create-session", name="ours", command="cat")
    place.raw("new-window", "-t", "ours:", "cat")
    async with under(TOML) as it:
        window = await it.call("create-window", sessionId="ours", command="cat")
        await it.call("select-window", windowId=window["windowId"])


async def test_the_audit_says_of_what_was_ended_who_had_made_it(place: PolicyPlace, tmp_path: Path) -> None:
    app = build(load_settings({}, scope="all", socket=place.socket, audit=str(tmp_path / "log")))
    made = (await app.dispatch.call("create-session", {"name": "ours", "command": "cat"})).structured
    assert made is not None
    for name, arguments in (
        ("kill-pane", {"paneId": place.panes["two"]}),
        ("kill-session", {"sessionId": "other"}),
        ("kill-session", {"sessionId": "ours"}),
        ("kill-session", {"sessionId": "gone"}),
    ):
        await app.dispatch.call(name, arguments)
    await app.close()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(line["ok"], line.get("made_by")) for line in lines] == [
        (True, None),
        (True, "others"),
        (True, "others"),
        (True, "muxpilot"),
        (False, None),
    ]
