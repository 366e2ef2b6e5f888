"""Triggers on what a pane prints."""

from __future__ import annotations

import pytest

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Shell
from tests.rigs.watching import start_line_runner, watch_and_type

pytestmark = pytest.mark.asyncio(loop_scope="module")


PRINTED = [
    ("pattern:re+ady", "echo is reeady now", 'Matched pattern "re+ady": is reeady now'),
    ("pattern:^a{1,3}$", "echo aa", 'Matched pattern "^a{1,3}$": aa'),
    ("pattern:Continue\\?", "printf 'Continue? '", 'Matched pattern "Continue\\?": Continue?'),
    ("pattern:needle", "printf 'needle\\r\\n\\033[2J\\033[H'", 'Matched pattern "needle": needle'),
    ("pattern:needle", "printf 'needle\\r\\033[K'; seq 1 5", 'Matched pattern "needle": needle'),
    ("pattern:needle", "seq 1 20000; echo needle; seq 1 20000", 'Matched pattern "needle": needle'),
    ("pattern:needle", "printf '\\033[1mnee\\033[0mdle\\n'", 'Matched pattern "needle": needle'),
    ("pattern:grün", "echo ist grün", 'Matched pattern "grün": ist grün'),
    ("error", "echo fatal: no", "Matched error pattern: fatal: no"),
    ("bell", "printf '\\a'", "The pane rang its bell"),
    ("change", "echo x", "The screen changed"),
    ("quiet:100", "echo x", "Nothing changed for 100 ms"),
    ("idle:0.2", "", "No new output for 0.2s"),
    ("idle:0.2", "echo x; echo y", "No new output for 0.2s"),
]


@pytest.mark.parametrize(("trigger", "keys", "detail"), PRINTED)
async def test_a_trigger_fires_on_what_is_printed(
    rig: Rig, call: Call, pane: Shell, trigger: str, keys: str, detail: str
) -> None:
    target = await start_line_runner(rig, pane)
    report = await watch_and_type(call, target, trigger, keys)
    assert (report["event"], report["detail"]) == (trigger, detail)
    assert report["paneId"] == target
    assert report["paneState"]["isAlive"] is True
    assert report["elapsed"] < 60


async def test_only_new_output_counts(rig: Rig, call: Call, pane: Shell) -> None:
    target = await start_line_runner(rig, pane)
    answer = await call("watch-pane", paneId=target, triggers="error,pattern:old", timeout=0.3)
    assert (answer["event"], answer["detail"]) == ("timeout", "Timed out after 0.3s")
    assert answer["output"] == ""


async def test_a_title_is_neither_a_bell_nor_a_line_nor_a_change(rig: Rig, call: Call, pane: Shell) -> None:
    target = await start_line_runner(rig, pane)
    triggers = "bell,change,pattern:title,pattern:END"
    report = await watch_and_type(call, target, triggers, "printf '\\033]0;title\\a'; sleep 0.3; printf END")
    assert report["event"] == "change"
    assert report["output"] == "END"


@pytest.mark.parametrize("triggers", ["pattern:ready,error", "error,pattern:ready"])
async def test_of_two_that_happen_together_the_first_in_the_list_wins(
    rig: Rig, call: Call, pane: Shell, triggers: str
) -> None:
    target = await start_line_runner(rig, pane)
    report = await watch_and_type(call, target, triggers, "echo error: not ready")
    assert report["event"] == triggers.split(",")[0]


async def test_an_earlier_line_comes_before_a_later_one(rig: Rig, call: Call, pane: Shell) -> None:
    target = await start_line_runner(rig, pane)
    report = await watch_and_type(call, target, "pattern:two,pattern:one", "printf 'one\\ntwo\\n'")
    assert report["event"] == "pattern:one"


async def test_the_output_is_what_came_since_the_beginning(rig: Rig, call: Call, pane: Shell) -> None:
    target = await start_line_runner(rig, pane)
    report = await watch_and_type(
        call, target, "pattern:END", "printf '\\033[31mred\\033[0m\\n10%%\\r20%%\\nEND\\n'"
    )
    assert report["output"] == "red\n20%\nEND"


async def test_long_output_is_cut_to_its_end_and_says_so(rig: Rig, call: Call, pane: Shell) -> None:
    target = await start_line_runner(rig, pane)
    report = await watch_and_type(call, target, "pattern:END", "seq 1 20000; echo END")
    first, second, *_, last = report["output"].split("\n")
    assert first == "[only the end; use read-pane for more]"
    assert second.isdigit()
    assert last == "END"
    assert len(report["output"]) < 17_000


async def test_the_echo_of_what_is_typed_meanwhile_does_not_count(call: Call, pane: Shell) -> None:
    made = await pane()
    report = await watch_and_type(
        call, made.pane, "error,pattern:END", "true error: x; sleep 0.3; echo E''ND"
    )
    assert report["event"] == "pattern:END"
    report = await watch_and_type(call, made.pane, "error", "echo error: this")
    assert report["detail"] == "Matched error pattern: error: this"
