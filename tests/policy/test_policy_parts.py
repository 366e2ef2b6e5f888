"""A policy that allows some panes only: the others stay untouched, and there is no way around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from muxpilot.errors import NotFound
from muxpilot.resources import ResourceFailed
from muxpilot.tools import RESOURCES
from tests.rigs.policies import AppUnderPolicy, Policy, PolicyPlace, place_with_sessions
from tests.rigs.waiting import eventually


@pytest.fixture
def place() -> Iterator[PolicyPlace]:
    with place_with_sessions() as place:
        yield place


async def test_a_pane_leaves_those_that_may_not_be_seen_behind(under: Policy, place: PolicyPlace) -> None:
    one, two = place.panes["one"], place.panes["two"]
    async with under(f'[security]\nallowed_panes = ["{one}"]') as it:
        made = await it.call("break-pane", paneId=one, name="mine")
    assert place.raw("list-panes", "-t", made["windowId"], "-F", "#{pane_id} #{window_name}") == f"{one} mine"
    assert place.raw("display-message", "-p", "-t", two, "#{window_name}") == "first"


@pytest.mark.parametrize("name", ["dev", "other"])
async def test_a_window_is_told_as_the_session_that_is_allowed_shows_it(
    under: Policy, place: PolicyPlace, name: str
) -> None:
    place.raw("link-window", "-d", "-s", "other:0", "-t", "dev:7")
    window = place.raw("display-message", "-p", "-t", "other:0", "#{window_id}")
    async with under(f'[security]\nallowed_sessions = ["{name}"]') as it:
        _, text = await it.app.resources.read(f"tmux://window/{window}/info")
    assert f'"sessionName":"{name}"' in text


async def test_a_refusal_names_the_pane_by_its_id(under: Policy, place: PolicyPlace) -> None:
    async with under(f'[security]\nallowed_panes = ["{place.panes["one"]}"]') as it:
        words = await it.check_denied("security.allowed_panes", "kill-window", windowId="dev:first")
    assert f"it would reach {place.panes['two']}, which" in words


async def test_the_result_of_a_command_is_closed_with_its_tool(under: Policy, place: PolicyPlace) -> None:
    async with under('[security.tools]\nitems = ["get-command-result"]') as it:
        done = await it.call("execute-command", paneId=place.panes["one"], command="echo a")
        uris = {entry.uri for entry in await it.app.resources.list()}
        assert f"tmux://command/{done['commandId']}/result" not in uris
        with pytest.raises(ResourceFailed, match=r"security\.tools"):
            await it.app.resources.read(f"tmux://command/{done['commandId']}/result")


async def test_every_resource_is_closed_by_some_tool(under: Policy) -> None:
    async with under('[security.tools]\nitems = ["@all"]') as it:
        open_ones = [row.template for row in RESOURCES if it.app.dispatch.is_tool_open(row.tool)]
    assert open_ones == ["tmux://server/info"]


async def test_a_pane_is_listed_where_panes_may_be_and_read_by_who_knows_it(
    under: Policy, place: PolicyPlace
) -> None:
    async with under("[security]\nallow_list = false") as it:
        done = await it.call("execute-command", paneId=place.panes["one"], command="echo a")
        assert {entry.uri for entry in await it.app.resources.list()} == {"tmux://server/info"}
        await it.app.resources.read(f"tmux://command/{done['commandId']}/result")
        _, text = await it.app.resources.read(f"tmux://pane/{place.panes['one']}")
        assert "echo a" in text


async def test_a_command_is_listed_where_commands_may_be(under: Policy, place: PolicyPlace) -> None:
    async with under('[security.tools]\nitems = ["list-commands"]') as it:
        done = await it.call("execute-command", paneId=place.panes["one"], command="echo a")
        assert f"tmux://command/{done['commandId']}/result" not in {
            entry.uri for entry in await it.app.resources.list()
        }
        assert (await it.app.resources.read(f"tmux://command/{done['commandId']}/result"))[1]


def foreground_program(place: PolicyPlace, pane: str) -> str:
    return place.raw("display-message", "-p", "-t", pane, "#{pane_current_command}")


async def start_long_command(it: AppUnderPolicy, place: PolicyPlace, pane: str) -> Any:
    """Start a command that runs until it is interrupted."""
    running = await it.call("execute-command", paneId=pane, command="sleep 300", waitMs=0)

    async def runs() -> bool:
        found = await it.call("get-command-result", commandId=running["commandId"])
        return found["status"] == "running" and foreground_program(place, pane) == "sleep"

    await eventually(runs)
    return running


async def test_a_command_is_not_interrupted_where_that_would_reach_another_pane(
    under: Policy, place: PolicyPlace
) -> None:
    one = place.panes["one"]
    async with under(f'[security]\nallowed_panes = ["{one}"]') as it:
        running = await start_long_command(it, place, one)
        queued = await it.call("execute-command", paneId=one, command="echo later", waitMs=0)
        place.raw("set-option", "-w", "-t", one, "synchronize-panes", "on")
        words = await it.check_denied(
            "security.allowed_panes", "cancel-command", commandId=running["commandId"]
        )
        assert f"it would reach {place.panes['two']}, which is not in it" in words
        withdrawn = await it.call("cancel-command", commandId=queued["commandId"])
        assert withdrawn["reason"] == "The command was cancelled before it began."
        place.raw("set-option", "-w", "-t", one, "synchronize-panes", "off")
        await it.call("cancel-command", commandId=running["commandId"])
        ended = await it.call("get-command-result", commandId=running["commandId"], waitMs=15000)
        assert ended["status"] == "cancelled"


async def test_a_command_is_not_interrupted_in_a_pane_that_left(under: Policy, place: PolicyPlace) -> None:
    pane = place.panes["three"]
    async with under('[security]\nallowed_sessions = ["dev"]') as it:
        running = await start_long_command(it, place, pane)
        place.raw("move-window", "-d", "-s", "dev:second", "-t", "other:9")
        answer = await it.app.dispatch.call("cancel-command", {"commandId": running["commandId"]})
        # Until it is noticed that the pane left, the key is refused; then the command is followed no more.
        assert answer.error == "denied" or '"status":"lost"' in answer.text
        assert foreground_program(place, pane) == "sleep"


async def test_a_line_begins_anew_where_a_command_was_interrupted(under: Policy, place: PolicyPlace) -> None:
    """Check that C-c clears the line, so that it hides nothing that is typed after it."""
    pane = place.panes["one"]
    async with under("[security.command_filter]\nmode = 'denylist'\npatterns = ['^rm\\b']") as it:
        running = await start_long_command(it, place, pane)
        await it.call("send-keys", paneId=pane, keys="echo ")
        await it.call("cancel-command", commandId=running["commandId"])
        await it.check_denied("security.command_filter", "send-keys", paneId=pane, keys="rm x", enter=True)


async def test_what_other_muxpilots_do_in_hidden_panes_is_not_listed(
    under: Policy, place: PolicyPlace
) -> None:
    one, two = place.panes["one"], place.panes["two"]
    async with under("") as other, under(f'[security]\nallowed_panes = ["{one}"]') as it:
        hidden = await start_long_command(other, place, two)
        shown = await start_long_command(other, place, one)
        watches = [
            await other.call("notify-when", paneId=pane, triggers="exit", timeout=60) for pane in (one, two)
        ]
        await it.app.services.shells.finder.recover(it.app.servers.default)
        # This muxpilot knows the commands of both panes: it may have to take them over.
        await it.app.services.shells.finder.list_recorded(it.app.servers.default)
        with pytest.raises(NotFound):
            await it.app.services.watches.find(it.app.servers.default, "none")
        listed = {row["commandId"] for row in (await it.call("list-commands"))["commands"]}
        uris = {entry.uri for entry in await it.app.resources.list()}
        found = {uri.split("/")[3] for uri in uris if uri.startswith(("tmux://command", "tmux://watch"))}
    assert listed == {shown["commandId"]}
    assert found == {shown["commandId"], watches[0]["watchId"]}
    assert hidden["commandId"] not in str(uris)
