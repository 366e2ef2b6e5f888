"""With `redact`, no tool, resource, prompt, notification or error shows a token; without it, all do.

The tables below cover the whole registry: a tool without a row fails the first test.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio

from muxpilot.server.prompts import PROMPTS
from muxpilot.toolkit.spec import INTERNAL
from muxpilot.tools import COMPLETIONS, RESOURCES, TOOLS
from tests.pictures.test_pictures import MARGIN, DecodedPng
from tests.redaction.planted import COLUMNS, TOKEN, Planted, ask, ended_watch, new_command, shows_token
from tests.redaction.tool_calls import SHOWS, SILENT, buffer_with_token_name
from tests.rigs.engine import attach_person
from tests.rigs.waiting import eventually
from tests.rigs.wire import TMUX, Wire, private_place

pytestmark = pytest.mark.asyncio(loop_scope="module")
BLOCK = "█"
CHANNEL = "notifications/claude/channel"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def planted() -> AsyncIterator[Planted]:
    with private_place() as place:
        folder = Path(place.socket).parent / TOKEN
        folder.mkdir()
        place.tmux("new-session", "-d", "-s", "home", "-x", "80", "-y", "24", "cat")
        place.tmux("new-session", "-d", "-s", TOKEN, "-n", TOKEN, "-x", "80", "-y", "24", "cat")
        async with attach_person(TMUX, place.socket, "attach", "-t", f"={TOKEN}"):
            planted = Planted(place, folder)
            planted.config.write_text("[security]\nredact = true\nredact_patterns = ['card \\d{4}']\n")
            yield planted


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def off(planted: Planted) -> AsyncIterator[Wire]:
    async with planted.place.serve("--scope", "all", "--channel") as wire:
        await wire.shake_hands()
        yield wire


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def on(planted: Planted) -> AsyncIterator[Wire]:
    async with planted.place.serve("--scope", "all", "--channel", "--config", str(planted.config)) as wire:
        await wire.shake_hands()
        yield wire


async def test_every_tool_has_a_row() -> None:
    resource_readers = {tool.name for tool in TOOLS if tool.scopes == INTERNAL}
    assert set(SHOWS) | SILENT | resource_readers == {tool.name for tool in TOOLS}
    assert not set(SHOWS) & SILENT


async def check_both(off: Wire, on: Wire, work: Callable[[Wire], Awaitable[Any]]) -> None:
    """Do the same with and without redaction."""
    plain = await work(off)
    assert shows_token(plain), plain
    redacted = await work(on)
    assert not shows_token(redacted), redacted
    assert "[redacted]" in str(redacted) or "<svg" in str(redacted) or BLOCK in str(redacted), redacted


@pytest.mark.parametrize("name", [name for name in SHOWS if name != "command-result"])
async def test_no_answer_of_a_tool_shows_the_token(planted: Planted, off: Wire, on: Wire, name: str) -> None:
    async def work(wire: Wire) -> object:
        arguments = await SHOWS[name](planted, wire)
        known = {tool.wire_name for tool in next(row for row in TOOLS if row.name == name).arguments}
        return await ask(wire, name, {key: value for key, value in arguments.items() if key in known})

    await check_both(off, on, work)


TARGETS = ("paneId", "sessionId", "windowId", "sourcePaneId", "commandId", "watchId", "clientTty")


@pytest.mark.parametrize("name", sorted({tool.name for tool in TOOLS if tool.scopes != INTERNAL}))
async def test_no_error_of_a_tool_shows_the_token(on: Wire, name: str) -> None:
    """Every argument is the token. With a blank it is not the name of a pane, which a tool could open."""
    tool = next(row for row in TOOLS if row.name == name)
    for argument in tool.arguments:
        answer = await ask(on, name, {argument.wire_name: TOKEN, "no": TOKEN, TOKEN: 1})
        assert not shows_token(answer), answer
        required = {row.wire_name: f"{TOKEN} x" for row in tool.arguments if row.wire_name in TARGETS}
        answer = await ask(on, name, required)
        if answer.get("result", {}).get("isError"):
            assert not shows_token(answer), answer


@pytest.mark.parametrize("name", ["capture-pane", "kill-session", "find-session", "get-watch"])
async def test_errors_show_the_token_without_redaction(off: Wire, name: str) -> None:
    target = {"capture-pane": "paneId", "kill-session": "sessionId", "get-watch": "watchId"}.get(name, "name")
    assert shows_token(await ask(off, name, {target: f"{TOKEN}-none"}))


async def _address(planted: Planted, wire: Wire, template: str) -> str:
    """Return the address of a resource that shows the token."""
    values = {
        "paneId": quote(await planted.shown()),
        "lines": "5",
        "windowId": planted.window_of(await planted.shown()),
        "sessionId": planted.place.tmux("display-message", "-p", "-t", f"={TOKEN}:", "#{session_id}"),
        "name": planted.buffer(),
    }
    if "{commandId}" in template:
        values["commandId"] = await new_command(planted, wire)
    if "{watchId}" in template:
        values["watchId"] = await ended_watch(planted, wire)
    return template.format(**values)


@pytest.mark.parametrize("template", [row.template for row in RESOURCES])
async def test_no_resource_shows_the_token(planted: Planted, off: Wire, on: Wire, template: str) -> None:
    async def work(wire: Wire) -> object:
        return await wire.result("resources/read", {"uri": await _address(planted, wire, template)})

    if template == "tmux://server/info":
        assert not shows_token(await work(on))
    else:
        await check_both(off, on, work)


async def test_neither_the_list_of_resources_nor_an_unknown_one_shows_the_token(
    planted: Planted, off: Wire, on: Wire
) -> None:
    await new_command(planted, off)
    await new_command(planted, on)
    await check_both(off, on, lambda wire: wire.result("resources/list"))
    for method, params in (
        ("resources/read", {"uri": f"tmux://pane/{TOKEN}-none"}),
        ("resources/subscribe", {"uri": f"tmux://watch/{TOKEN}"}),
        ("tools/call", {"name": TOKEN, "arguments": {}}),
    ):

        async def fail(wire: Wire, method: str = method, params: dict[str, Any] = params) -> object:
            error = await wire.error(method, params)
            return {**error, "data": error.get("data") if isinstance(error.get("data"), str) else None}

        await check_both(off, on, fail)


@pytest.mark.parametrize("row", COMPLETIONS, ids=lambda row: str(row.variable))
async def test_no_completion_shows_the_token(planted: Planted, off: Wire, on: Wire, row: Any) -> None:
    """Names are completed; ids are needed by the next call and have no form of a token."""
    template = next(each.template for each in RESOURCES if row.variable in each.variables)
    await buffer_with_token_name(planted, off)

    async def work(wire: Wire) -> object:
        params = {
            "ref": {"type": "ref/resource", "uri": template},
            "argument": {"name": row.variable, "value": ""},
        }
        return await wire.result("completion/complete", params)

    if row.variable in ("sessionId", "name"):
        await check_both(off, on, work)
    else:
        assert not shows_token(await work(on))


@pytest.mark.parametrize("name", list(PROMPTS))
async def test_no_prompt_shows_the_token(off: Wire, on: Wire, name: str) -> None:
    given = {row.name: f"echo {TOKEN}" for row in PROMPTS[name].arguments}
    await check_both(off, on, lambda wire: wire.result("prompts/get", {"name": name, "arguments": given}))
    await check_both(
        off, on, lambda wire: wire.error("prompts/get", {"name": name, "arguments": {TOKEN: "x"}})
    )


async def test_no_message_of_the_channel_shows_the_token(planted: Planted, off: Wire, on: Wire) -> None:
    async def work(wire: Wire) -> object:
        wire.notices.clear()
        await ended_watch(planted, wire)
        return await wire.wait_for_notification(lambda message: message["method"] == CHANNEL)

    await check_both(off, on, work)


async def test_no_other_notification_shows_the_token(planted: Planted, on: Wire) -> None:
    """Progress and updates of resources; the address of a resource has ids only."""
    pane = await planted.chatty()
    await on.result("resources/subscribe", {"uri": f"tmux://pane/{quote(pane)}"})
    call = {
        "name": "watch-pane",
        "arguments": {"paneId": pane, "mode": "line", "triggers": "bell", "timeout": 2},
    }
    pending = await on.start("tools/call", {**call, "_meta": {"progressToken": "p"}})
    for _ in range(3):
        await on.call("send-enter", paneId=pane)
    assert not shows_token(await pending)
    assert on.notices
    assert not shows_token(on.notices)


@pytest.mark.parametrize("scope", ["classic", "debug"])
async def test_no_answer_of_a_dialect_shows_the_token(planted: Planted, scope: str) -> None:
    pane = await planted.shown()
    for flags in ((), ("--config", str(planted.config))):
        async with planted.place.serve("--scope", scope, *flags) as wire:
            await wire.shake_hands()
            if scope == "classic":
                names = ("tmux_list_sessions", "tmux_list_windows", "tmux_read_pane")
                told = [await ask(wire, name, {"target": pane} if "read" in name else {}) for name in names]
            else:
                made = await ask(wire, "tmux_create_pane", {"command": f"echo {TOKEN}; cat", "name": TOKEN})

                async def captured(wire: Wire = wire) -> Any:
                    found = await ask(wire, "tmux_capture_pane", {"pane_id": "debug-1"})
                    return found if found["result"]["content"][0]["text"] else None

                shown: Any = await eventually(captured)
                told = [made, await ask(wire, "tmux_list_panes", {}), shown]
            for answer in told:
                assert shows_token(answer) is not bool(flags), answer
                assert ("[redacted]" in str(answer)) is bool(flags), answer


@pytest.mark.parametrize("pane", ["shown", "menu"])
async def test_a_picture_has_blocks_where_the_token_is(
    planted: Planted, off: Wire, on: Wire, pane: str
) -> None:
    """Count the cells without a shape in the first two rows."""
    where = await getattr(planted, pane)()

    async def count_plain_cells(wire: Wire) -> int:
        answer = await ask(wire, "screenshot-pane", {"paneId": where})
        shown = DecodedPng.of(base64.b64decode(answer["result"]["content"][0]["data"]))
        scale = (shown.width - 2 * MARGIN) // (8 * COLUMNS)
        cells = [shown.cell(column, row, scale) for row in (0, 1) for column in range(COLUMNS)]
        return sum(len(set("".join(cell))) == 1 for cell in cells)

    assert await count_plain_cells(on) - await count_plain_cells(off) == len(TOKEN)


@pytest.mark.parametrize("output", ["svg", "html"])
async def test_a_drawing_has_no_letter_of_the_token(
    planted: Planted, off: Wire, on: Wire, output: str
) -> None:
    pane = await planted.menu()
    await check_both(off, on, lambda wire: ask(wire, "screenshot-pane", {"paneId": pane, "output": output}))
