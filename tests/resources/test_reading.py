"""Resources: live lists, and addresses in every spelling."""

from __future__ import annotations

import json
from typing import Any

import pytest

from muxpilot.tools import RESOURCES
from tests.rigs.waiting import eventually
from tests.rigs.wire import Message, Place, Wire, private_place

pytestmark = pytest.mark.asyncio(loop_scope="module")


UPDATED = "notifications/resources/updated"
LIST_CHANGED = "notifications/resources/list_changed"


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ("tmux://server/info", {"running": True}),
        ("tmux://sessions", {"sessions": [{"name": "home"}]}),
        ("tmux://clients", {"clients": []}),
        ("tmux://pane/{pane}/info", {"id": "{pane}", "dead": False}),
        ("tmux://window/{window}/info", {"id": "{window}"}),
        ("tmux://window/%40{number}/info", {"id": "{window}"}),
        ("tmux://session/home/tree", {"session": {"name": "home"}}),
        ("tmux://session/{session}/tree", {"session": {"name": "home"}}),
        ("tmux://session/%24{session_number}/tree", {"session": {"name": "home"}}),
    ],
)
async def test_facts_are_read_as_json(
    old: Wire, place: Place, pane: str, address: str, fields: dict[str, Any]
) -> None:
    ids = place.tmux("display-message", "-p", "-t", pane, "#{window_id} #{session_id}").split()
    words = {"pane": pane, "window": ids[0], "session": ids[1]}
    words |= {"number": ids[0][1:], "session_number": ids[1][1:]}
    uri = address.format(**words)
    content = await _read(old, uri)
    assert (content["uri"], content["mimeType"]) == (uri, "application/json")
    _assert_contains(json.loads(content["text"]), json.loads(_fill(json.dumps(fields), words)))


async def test_a_sessions_tree_holds_its_windows_and_panes(old: Wire, place: Place, pane: str) -> None:
    tree = json.loads((await _read(old, "tmux://session/home/tree"))["text"])
    panes = {row["id"] for branch in tree["windows"] for row in branch["panes"]}
    assert panes == set(place.tmux("list-panes", "-s", "-t", "=home:", "-F", "#{pane_id}").split())


@pytest.mark.parametrize(
    ("tail", "text"),
    [
        ("", "one\nred\nthree"),
        ("/tail/2", "red\nthree"),
        ("/tail/2/ansi", "\x1b[31mred\n\x1b[39mthree"),
        ("/tail/100", "one\nred\nthree"),
    ],
)
async def test_a_panes_text_is_read_as_text(old: Wire, place: Place, tail: str, text: str) -> None:
    program = r"printf 'one\n\033[31mred\033[0m\nthree'; exec cat"
    pane = place.tmux("new-window", "-d", "-t", "=home:", "-P", "-F", "#{pane_id}", program)

    async def shown() -> bool:
        return "three" in place.tmux("capture-pane", "-p", "-t", pane)

    await eventually(shown)
    content = await _read(old, f"tmux://pane/{pane}{tail}")
    assert (content["mimeType"], content["text"].rstrip("\n")) == ("text/plain", text)


async def test_every_spelling_of_a_panes_id_means_that_pane(old: Wire, place: Place, pane: str) -> None:
    number = pane[1:]
    for spelling in (f"%{number}", f"%25{number}"):
        content = await _read(old, f"tmux://pane/{spelling}/info")
        assert content["uri"] == f"tmux://pane/{spelling}/info"
        assert json.loads(content["text"])["id"] == pane


async def test_pane_253_has_an_address_of_its_own() -> None:
    """`%253` is pane %3, so pane %253 is `%25253`, as in the list."""
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "many", "exec sleep 1000")
        come_and_go = ("split-window", "-d", "-t", "=many:", "exec sleep 9", ";", "kill-pane", "-a", ";") * 21
        for _ in range(12):
            place.tmux(*come_and_go, "list-sessions")
        assert place.tmux("new-window", "-P", "-F", "#{pane_id}", "exec sleep 1000") == "%253"
        async with place.serve() as wire:
            await wire.shake_hands()
            content = await _read(wire, "tmux://pane/%25253/info")
            assert json.loads(content["text"])["id"] == "%253"
            listed = {row["uri"] for row in (await wire.result("resources/list"))["resources"]}
            assert "tmux://pane/%25253" in listed
            assert "tmux://pane/%253" not in listed
            uri = "tmux://pane/%25253"
            await wire.result("resources/subscribe", {"uri": uri})
            place.tmux("kill-pane", "-t", "%253")
            await _wait_for_update(wire, uri)


@pytest.mark.parametrize(
    "uri",
    [
        "tmux://pane/%9999",
        "tmux://pane/%9999/info",
        "tmux://pane/no:such.pane",
        "tmux://pane/",
        "tmux://pane/%0/no",
        "tmux://pane/%0/tail/many",
        "tmux://pane/%0/tail/0",
        "tmux://pane/%0/tail/-1",
        "tmux://window/@9999/info",
        "tmux://session/no-such/tree",
        "tmux://session/hom/tree",
        "tmux://session/*/tree",
        "tmux://nothing",
        "http://sessions",
        "",
    ],
)
async def test_what_is_not_there_is_an_error_and_never_text(old: Wire, modern: Wire, uri: str) -> None:
    for wire, code in ((old, -32002), (modern, -32602)):
        fault = await wire.error("resources/read", {"uri": uri})
        assert (fault["code"], fault["data"]) == (code, {"uri": uri})
        assert fault["message"]


async def test_where_no_tmux_runs_there_is_nothing_but_the_fixed_addresses() -> None:
    with private_place() as empty:
        async with empty.serve() as wire:
            await wire.shake_hands()
            listed = [row["uri"] for row in (await wire.result("resources/list"))["resources"]]
            assert listed == ["tmux://server/info", "tmux://sessions", "tmux://clients"]
            assert json.loads((await _read(wire, "tmux://sessions"))["text"]) == {"sessions": []}
            assert json.loads((await _read(wire, "tmux://server/info"))["text"])["running"] is False
            assert (await wire.error("resources/read", {"uri": "tmux://pane/%0"}))["code"] == -32002
            assert (await wire.error("resources/subscribe", {"uri": "tmux://pane/%0"}))["code"] == -32002
            # The first session is notified, although no tmux was running before.
            await wire.call("create-session", name="new")
            await wire.wait_for_notification(lambda notice: bool(notice["method"] == LIST_CHANGED))


async def test_tmux_that_cannot_be_asked_is_not_nothing(place: Place) -> None:
    with private_place() as bad:
        (bad.home.parent / "s").write_text("not a socket")
        async with bad.serve() as wire:
            await wire.shake_hands()
            for method, params in (
                ("resources/list", {}),
                ("resources/read", {"uri": "tmux://sessions"}),
                ("resources/read", {"uri": "tmux://pane/%0"}),
                ("resources/subscribe", {"uri": "tmux://pane/%0"}),
            ):
                fault = await wire.error(method, params)
                assert fault["code"] == -32603
                assert "is not a socket" in fault["message"]


async def test_the_list_is_what_there_is_now(old: Wire, place: Place, pane: str) -> None:
    rows = {row["uri"]: row for row in (await old.result("resources/list"))["resources"]}
    fields = "#{pane_id} #{window_id} #{session_id}"
    for line in place.tmux("list-panes", "-a", "-F", fields, "-f", "#{==:#{@muxpilot_hub},}").splitlines():
        pane_id, window_id, session_id = line.split()
        for uri in (f"pane/%25{pane_id[1:]}", f"pane/%25{pane_id[1:]}/info", f"window/{window_id}/info"):
            assert f"tmux://{uri}" in rows
        assert f"tmux://session/{session_id}/tree" in rows
    assert not any("hub" in row["name"] for row in rows.values())
    place.tmux("kill-pane", "-t", pane)
    assert f"tmux://pane/%25{pane[1:]}" not in {
        row["uri"] for row in (await old.result("resources/list"))["resources"]
    }


async def test_everything_that_is_listed_can_be_read(old: Wire, modern: Wire, pane: str) -> None:
    for wire in (old, modern):
        for row in (await wire.result("resources/list"))["resources"]:
            content = await _read(wire, row["uri"])
            assert (content["uri"], content["mimeType"]) == (row["uri"], row["mimeType"])


async def test_the_templates_are_those_of_the_table(old: Wire, modern: Wire) -> None:
    wanted = [row.template for row in RESOURCES if "{" in row.template]
    for wire in (old, modern):
        listed = (await wire.result("resources/templates/list"))["resourceTemplates"]
        assert [row["uriTemplate"] for row in listed] == wanted
        assert all(row["name"] and row["mimeType"] for row in listed)


async def _read(wire: Wire, uri: str) -> Message:
    [content] = (await wire.result("resources/read", {"uri": uri}))["contents"]
    return dict(content)


async def _wait_for_update(wire: Wire, uri: str) -> Message:
    return await wire.wait_for_notification(
        lambda notice: notice["method"] == UPDATED and notice["params"]["uri"] == uri
    )


def _fill(text: str, words: dict[str, str]) -> str:
    for name, value in words.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _assert_contains(found: Any, wanted: Any) -> None:
    """Assert that each wanted value is in what was found; in a list, in some row."""
    if isinstance(wanted, dict):
        for name, value in wanted.items():
            _assert_contains(found[name], value)
    elif isinstance(wanted, list) and wanted:
        names = [row["name"] for row in found]
        assert all(row["name"] in names for row in wanted)
    else:
        assert found == wanted
