"""A token that is printed in two parts: an answer that begins with the second part does not show it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from muxpilot.redaction.redactor import Redactor
from tests.redaction.planted import TOKEN, Planted
from tests.rigs.waiting import eventually
from tests.rigs.wire import Wire, private_place

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHANNEL = "notifications/claude/channel"
FIRST, SECOND = TOKEN[:20], TOKEN[20:]


@dataclass
class TwoParts:
    """A pane that shows the first part, and prints the second on the same line after a key."""

    planted: Planted
    wire: Wire
    pane: str

    async def print_second(self) -> None:
        self.planted.place.tmux("send-keys", "-t", self.pane, "Enter")

        async def is_there() -> bool:
            return "end" in self.planted.place.tmux("capture-pane", "-p", "-J", "-t", self.pane)

        await eventually(is_there)

    async def call(self, tool: str, **arguments: Any) -> Any:
        return await self.wire.call(tool, paneId=self.pane, **arguments)


async def read_since(parts: TwoParts) -> object:
    cursor = (await parts.call("read-pane"))["cursor"]
    await parts.print_second()
    return await parts.call("read-pane", since=cursor)


async def watch_since(parts: TwoParts) -> object:
    cursor = (await parts.call("read-pane"))["cursor"]
    await parts.print_second()
    return await parts.call("watch-pane", since=cursor, triggers="pattern:end")


async def watch_in_background(parts: TwoParts) -> object:
    """Return what get-watch, the channel and the resource say."""
    parts.wire.notices.clear()
    watch = (await parts.call("notify-when", triggers="pattern:end", timeout=60))["watchId"]
    await parts.print_second()
    pushed = await parts.wire.wait_for_notification(lambda message: message["method"] == CHANNEL)
    found = await parts.wire.call("get-watch", watchId=watch)
    return [pushed, found, await parts.wire.result("resources/read", {"uri": f"tmux://watch/{watch}"})]


async def act_and_see(parts: TwoParts) -> object:
    return await parts.call("send-keys", keys="", enter=True, until="pattern:end")


async def answer_prompt(parts: TwoParts) -> object:
    return await parts.call("run-in-repl", input="", promptPattern="end", timeout=20)


ANSWERS: dict[str, Callable[[TwoParts], Awaitable[object]]] = {
    "read-pane": read_since,
    "watch-pane": watch_since,
    "notify-when": watch_in_background,
    "send-keys": act_and_see,
    "run-in-repl": answer_prompt,
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def planted() -> AsyncIterator[Planted]:
    with private_place() as place:
        (folder := Path(place.socket).parent / "work").mkdir()
        place.tmux("new-session", "-d", "-s", "home", "-x", "80", "-y", "24", "cat")
        planted = Planted(place, folder)
        planted.config.write_text("[security]\nredact = true\n")
        yield planted


@asynccontextmanager
async def two_parts(planted: Planted, *flags: str, wraps: bool) -> AsyncIterator[TwoParts]:
    """Open the pane. With `wraps`, the second part is in the next row."""
    fill = "begun".ljust(59 if wraps else 10, "x")
    program = f"stty -echo; printf '{fill} {FIRST}'; read key; printf '{SECOND} end\\n'; exec cat"
    pane = await planted._open(program, "parts")
    async with planted.place.serve("--scope", "all", "--channel", *flags) as wire:
        await wire.shake_hands()
        yield TwoParts(planted, wire, pane)


# run-in-repl knows only the row of the prompt that it answers.
CASES = [(name, wraps) for name in ANSWERS for wraps in (False, True) if not wraps or name != "run-in-repl"]


@pytest.mark.parametrize(("name", "wraps"), CASES)
async def test_the_second_part_is_not_shown(planted: Planted, name: str, wraps: bool) -> None:
    async with two_parts(planted, wraps=wraps) as parts:
        assert SECOND in str(await ANSWERS[name](parts))
    async with two_parts(planted, "--config", str(planted.config), wraps=wraps) as parts:
        answer = str(await ANSWERS[name](parts))
        assert "[redacted]" in answer
        assert not [at for at in range(len(SECOND) - 7) if SECOND[at : at + 8] in answer], answer


@pytest.mark.parametrize(
    ("before", "text", "hidden"),
    [
        (f"x {FIRST}", f"{SECOND} end", SECOND),
        ("password: ", "hunter2 end", "hunter2"),
        ("password: ", "\nnext", ""),
        ("$ ", "ls", ""),
        ("", TOKEN, ""),
        (f"{TOKEN} ", "more", ""),
    ],
)
async def test_what_belongs_to_a_secret_before_it_is_found(before: str, text: str, hidden: str) -> None:
    found, shown = Redactor().find_continued(before, text)
    assert (found, shown) == (hidden, "[redacted]" if hidden else "")
    rest, _ = Redactor().find_continued(before, text, counts_values=False)
    assert rest == (hidden if hidden == SECOND else "")
