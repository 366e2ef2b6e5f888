"""The arguments of read-pane: a cursor, a number of lines, a pattern."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.rigs.mcp_client import PROMPT, Rig, serving
from tests.rigs.mcp_fixtures import Call, Fails, Shell
from tests.rigs.reading_agent import SMALL_JOURNALS, Panes, ReadingAgent, reading, type_line
from tests.rigs.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig() -> AsyncIterator[Rig]:
    async with serving("all", config=SMALL_JOURNALS) as rig:
        yield rig


@pytest.mark.parametrize("max_lines", [1, 7, 200])
async def test_more_lines_than_asked_for_are_cut_from_the_front(
    rig: Rig, call: Call, shell: Panes, max_lines: int
) -> None:
    made, reader = await reading(call, shell)
    await type_line(rig, made.pane, "seq 300; echo 'en''d'")
    await rig.wait_until_shown(made.pane, "\nend\n")
    text = await reader.until(f"{PROMPT}$", maxLines=max_lines)
    assert text.split("\n") == [*map(str, range(1, 301)), "end", PROMPT][-max_lines:]
    assert (reader.last["newLines"], reader.last["truncated"]) == (303, True)
    assert await reader.read() == ""


async def test_the_first_reading_has_the_last_lines_and_says_if_there_were_more(
    rig: Rig, call: Call, shell: Panes
) -> None:
    made = await shell()
    await type_line(rig, made.pane, "clear; seq 300; echo 'en''d'")
    await rig.wait_until_shown(made.pane, "\nend\n")
    first = ReadingAgent(call, made.pane)
    text = await first.until(f"\nend\n{PROMPT.strip()}", maxLines=5)
    assert text.rstrip() == f"298\n299\n300\nend\n{PROMPT.strip()}"
    assert (first.last["newLines"], first.last["missedLines"], first.last["truncated"]) == (5, 0, True)
    everything = await call("read-pane", paneId=made.pane, maxLines=100_000)
    assert everything["truncated"] is False


async def test_grep_keeps_the_lines_that_match(rig: Rig, call: Call, shell: Panes) -> None:
    made, reader = await reading(call, shell)
    await type_line(rig, made.pane, "seq 300")
    begun = reader.cursor
    await reader.until(f"\n300\n{PROMPT}", maxLines=1000)
    reader.cursor = begun
    assert await reader.read(grep="^[0-9]*99$") == "99\n199\n299"
    assert (reader.last["newLines"], reader.last["truncated"]) == (302, False)
    assert (await call("read-pane", paneId=made.pane, grep="^1?99$"))["text"] == "99\n199"
    cut = await call("read-pane", paneId=made.pane, grep="^[0-9]*99$", maxLines=2)
    assert (cut["text"], cut["truncated"]) == ("199\n299", True)


async def test_grep_without_a_cursor_counts_the_lines_that_are_gone(
    rig: Rig, call: Call, pane: Shell
) -> None:
    made = await pane()
    await type_line(rig, made.pane, "seq 1 700000")
    await rig.wait_until_shown(made.pane, f"700000\n{PROMPT.strip()}")

    async def read_all() -> dict[str, Any]:
        answer = await call("read-pane", paneId=made.pane, grep="^69999[0-9]$|ready")
        is_whole = answer["text"].split("\n")[-2:] == ["699999", PROMPT]
        return answer if is_whole else {}

    began = time.monotonic()
    answer = await eventually(read_all)
    assert isinstance(answer, dict)
    assert time.monotonic() - began < 5
    assert answer["missedLines"] > 400_000
    assert answer["missedLines"] + answer["newLines"] == 700_002
    assert answer["text"].split("\n")[:-1] == [str(number) for number in range(699990, 700000)]


@pytest.mark.parametrize("grep", ["a(?=b)", "(", "(a)\\1", "[z-a]", "", "(?<!x)y"])
async def test_a_pattern_that_is_no_re2_is_refused(fails: Fails, pane: Shell, grep: str) -> None:
    made = await pane("exec sleep 60")
    assert "The argument 'grep'" in await fails("read-pane", paneId=made.pane, grep=grep)


@pytest.mark.parametrize("since", ["", "0", "abc", "a.b.c.d", "0.0.0.0", "x" * 5000, "é.1.2.3", "%1"])
async def test_a_bad_cursor_is_refused_clearly(call: Call, fails: Fails, pane: Shell, since: str) -> None:
    made = await pane("exec sleep 60")
    for _ in range(2):
        words = await fails("read-pane", paneId=made.pane, since=since)
        assert "'since' must be a cursor of this pane" in words
        assert "read-pane without it" in words
        assert len(words) < 300
        await call("read-pane", paneId=made.pane)


async def test_cursors_of_others_and_made_up_ones_are_refused(call: Call, fails: Fails, pane: Shell) -> None:
    one, two = await pane("exec sleep 60"), await pane("exec sleep 60")
    cursor = (await call("read-pane", paneId=one.pane))["cursor"]
    await call("read-pane", paneId=two.pane)
    for wrong in (cursor + "9", f"{cursor}.1", cursor.rpartition(".")[0], cursor.upper() + "x"):
        assert "'since'" in await fails("read-pane", paneId=one.pane, since=wrong)
    assert "'since'" in await fails("read-pane", paneId=two.pane, since=cursor)
