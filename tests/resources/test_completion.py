"""Completion of the variables of addresses, in both protocol eras."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rigs.wire import Message, Place, Wire, private_place

pytestmark = pytest.mark.asyncio(loop_scope="module")

PANE = "tmux://pane/{paneId}/tail/{lines}"
SESSION = "tmux://session/{sessionId}/tree"
BUFFER = "tmux://buffer/{name}"


def ask(uri: str, name: str, value: str = "") -> Message:
    return {"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": value}}


async def test_values_begin_with_what_was_typed(old: Wire, modern: Wire, place: Place, pane: str) -> None:
    place.tmux("set-buffer", "-b", "kept", "text")
    for wire in (old, modern):
        panes = (await wire.result("completion/complete", ask(PANE, "paneId", "%")))["completion"]
        assert pane in panes["values"]
        assert panes["total"] == len(panes["values"])
        assert panes["hasMore"] is False
        sessions = (await wire.result("completion/complete", ask(SESSION, "sessionId", "ho")))["completion"]
        assert sessions["values"] == ["home"]
        buffers = (await wire.result("completion/complete", ask(BUFFER, "name", "k")))["completion"]
        assert buffers["values"] == ["kept"]
        [content] = (await wire.result("resources/read", {"uri": "tmux://buffer/kept"}))["contents"]
        assert content["text"] == "text"


async def test_panes_of_the_workspace_are_offered_by_their_names(old: Wire) -> None:
    for name in ("server", "tests"):
        await old.call("execute-command", command="true", paneId=name)
    found = (await old.result("completion/complete", ask(PANE, "paneId", "se")))["completion"]
    assert found["values"] == ["server"]
    [content] = (await old.result("resources/read", {"uri": "tmux://pane/server"}))["contents"]
    assert content["mimeType"] == "text/plain"


async def test_at_most_a_hundred_values_are_sent(old: Wire, place: Place) -> None:
    for number in range(105):
        place.tmux("set-buffer", "-b", f"many-{number:03}", "x")
    found = (await old.result("completion/complete", ask(BUFFER, "name", "many-")))["completion"]
    assert (len(found["values"]), found["total"], found["hasMore"]) == (100, 105, True)


async def test_arguments_without_a_list_have_no_values(old: Wire) -> None:
    prompt = {"ref": {"type": "ref/prompt", "name": "run-and-report"}}
    for params in (ask(PANE, "lines", "1"), prompt | {"argument": {"name": "command", "value": "m"}}):
        assert (await old.result("completion/complete", params))["completion"]["values"] == []


BAD: list[Any] = [
    {},
    ask("tmux://nothing", "paneId"),
    ask(PANE, "sessionId"),
    {"ref": {"type": "ref/prompt", "name": "none"}, "argument": {"name": "command", "value": ""}},
    {"ref": {"type": "ref/tool", "name": "none"}, "argument": {"name": "command", "value": ""}},
]


@pytest.mark.parametrize("params", BAD)
async def test_what_does_not_exist_is_refused(old: Wire, params: Message) -> None:
    assert (await old.error("completion/complete", params))["code"] == -32602


async def test_where_no_tmux_runs_there_are_no_values_and_what_cannot_be_asked_is_an_error() -> None:
    with private_place() as empty:
        async with empty.serve() as wire:
            await wire.shake_hands()
            found = await wire.result("completion/complete", ask(SESSION, "sessionId"))
            assert found["completion"]["values"] == []
    with private_place() as bad:
        (bad.home.parent / "s").write_text("not a socket")
        async with bad.serve() as wire:
            await wire.shake_hands()
            fault = await wire.error("completion/complete", ask(SESSION, "sessionId"))
            assert fault["code"] == -32603
