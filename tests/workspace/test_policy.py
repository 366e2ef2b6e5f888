"""What policy and audit make of a call that opens a pane: it is judged as one that creates a pane."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager

import pytest

from tests.rigs.muxpilots import one_server
from tests.rigs.wire import Place, Wire
from tests.workspace.test_named_panes import refusal, run, windows


def serve_under(place: Place, config: str, *args: str) -> AbstractAsyncContextManager[Wire]:
    """Serve with a configuration, besides a person's session that keeps tmux running."""
    place.tmux("new-session", "-d", "-s", "keeper", "-n", "w", "cat")
    path = place.home / "config.toml"
    path.write_text(config)
    return one_server(place, "--scope", "all", "--config", str(path), *args)


KEEPER = "keeper:w 80x24 0"


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ("[security]\nallow_create = false\n", "security.allow_create"),
        ('[security]\nallowed_sessions = ["keeper"]\n', "security.allowed_sessions"),
        ('[security]\nallowed_panes = ["keeper:0.0"]\n', "security.allowed_panes"),
        ('[security.command_filter]\nmode = "denylist"\npatterns = ["true"]\n', "command_filter"),
    ],
)
async def test_a_denied_call_opens_nothing(place: Place, config: str, key: str) -> None:
    async with serve_under(place, config) as wire:
        for tool, arguments in (
            ("execute-command", {"command": "true"}),
            ("send-keys", {"keys": "true", "enter": True}),
            ("paste-text", {"content": "true", "enter": True}),
            ("start-and-watch", {"command": "true", "pattern": "x"}),
        ):
            assert key in await refusal(wire, tool, **arguments), tool
    assert windows(place) == [KEEPER]


async def test_without_leave_to_create_an_open_pane_is_used(place: Place) -> None:
    async with one_server(place) as wire:
        await run(wire, "true")
    async with serve_under(place, "[security]\nallow_create = false\n") as wire:
        assert (await run(wire, "echo used"))["output"] == "used\n"
        assert "security.allow_create" in await refusal(wire, "execute-command", command="x", paneId="new")


async def test_a_workspace_that_is_allowed_by_its_name_can_be_opened(place: Place) -> None:
    async with serve_under(place, '[security]\nallowed_sessions = ["agent-home"]\n') as wire:
        assert (await run(wire, "echo in"))["output"] == "in\n"
        assert (await run(wire, "echo in", paneId="second"))["created"] is True
        assert "allowed_sessions" in await refusal(wire, "send-keys", paneId="keeper", keys="x")


async def test_named_panes_that_the_policy_hides_are_not_listed(place: Place) -> None:
    async with one_server(place) as wire:
        await run(wire, "true", paneId="hidden")
    async with serve_under(place, '[security]\nallowed_sessions = ["keeper"]\n') as wire:
        said = await refusal(wire, "capture-pane", paneId="other")
        assert "hidden" not in said
        assert "allowed_sessions" in await refusal(wire, "capture-pane", paneId="hidden")


async def test_what_opens_a_pane_and_what_follows_are_judged_as_one_line(place: Place) -> None:
    config = '[security.command_filter]\nmode = "denylist"\npatterns = ["^rm -r"]\n'
    async with serve_under(place, config) as wire:
        await wire.call("send-keys", keys="rm ")
        assert "command_filter" in await refusal(wire, "send-keys", keys="-r x", enter=True)


async def test_variables_of_a_new_pane_are_judged(place: Place) -> None:
    config = '[security.command_filter]\nmode = "denylist"\npatterns = ["^evil"]\n'
    async with serve_under(place, config) as wire:
        given = {"command": "true", "env": {"PROMPT_COMMAND": "evil"}}
        assert "command_filter" in await refusal(wire, "execute-command", **given)
    assert windows(place) == [KEEPER]


async def test_others_panes_are_foreign_and_named_ones_are_not(place: Place) -> None:
    async with serve_under(place, "[security]\nallow_foreign = false\n") as wire:
        assert (await run(wire, "echo ours"))["output"] == "ours\n"
        assert "allow_foreign" in await refusal(wire, "send-keys", paneId="keeper", keys="x")
        assert (await run(wire, "echo ours"))["created"] is False


async def test_the_audit_log_tells_which_pane_was_opened(place: Place) -> None:
    log = place.home / "audit.log"
    async with one_server(place, "--audit", str(log)) as wire:
        pane = (await run(wire, "true"))["paneId"]
        await run(wire, "true", paneId="main")
    opened, used = [json.loads(line) for line in log.read_text().splitlines()]
    assert (opened["paneId"], opened["pane"], opened["created"]) == (pane, "main", True)
    assert (used["paneId"], used.get("created")) == (pane, None)
