"""Calls for one pane take effect in the order in which they were made."""

from __future__ import annotations

import asyncio

import pytest

from tests.shells.conftest import Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_commands_run_in_the_order_of_the_calls(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    # A command that may wait for other programs takes longer to be put into the queue.
    calls = [desk.run(pane, f"echo {n}", queue=n % 2 == 0) for n in range(6)]
    answers = await asyncio.gather(*calls)
    assert [answer["output"] for answer in answers] == [f"{n}\n" for n in range(6)]
    rows = (await desk.call("list-commands", paneId=pane))["commands"]
    assert [row["command"] for row in rows[1:]] == [f"echo {n}" for n in range(6)]


async def test_the_first_commands_of_a_pane_run_in_the_order_of_the_calls(desk: Desk) -> None:
    pane = await desk.own_pane()
    await asyncio.gather(*(desk.run(pane, f"echo {n}") for n in range(4)))
    rows = (await desk.call("list-commands", paneId=pane))["commands"]
    assert [row["command"] for row in rows] == [f"echo {n}" for n in range(4)]


async def test_keys_with_until_come_before_those_of_a_later_call(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "PS1='$ '; cat")
    calls = [
        desk.call("send-keys", paneId=pane, keys="one", enter=True, until="pattern:two"),
        desk.call("send-keys", paneId=pane, keys="two", enter=True),
    ]
    answers = await asyncio.gather(*calls)
    assert answers[0]["event"] == "pattern:two"
    rows = (await desk.wait_for_screen(pane, "two\n")).splitlines()
    assert rows.index("one") < rows.index("two")


async def test_keys_for_a_pane_that_is_opened_come_before_those_of_a_later_call(desk: Desk) -> None:
    words = ("first", "second", "third")
    calls = [desk.call("send-keys", paneId="fresh", keys=f"echo {word}", enter=True) for word in words]
    answers = await asyncio.gather(*calls)
    pane = answers[0]["paneId"]
    assert [answer["created"] for answer in answers] == [True, False, False]
    screen = await desk.wait_for_screen(pane, "\nthird\n")
    assert [row for row in screen.splitlines() if row in words] == list(words)
