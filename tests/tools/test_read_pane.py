"""read-pane: all new lines and only these, and an exact count of lost ones."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.rigs.engine import wait_until
from tests.rigs.mcp_client import PROMPT, Rig, serving
from tests.rigs.mcp_fixtures import Call, Fails, Shell
from tests.rigs.reading_agent import SMALL_JOURNALS, Panes, ReadingAgent, reading, type_line
from tests.rigs.waiting import eventually, is_running

pytestmark = pytest.mark.asyncio(loop_scope="module")
LINES = 100_000


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig() -> AsyncIterator[Rig]:
    async with serving("all", config=SMALL_JOURNALS) as rig:
        yield rig


async def test_only_what_is_new_is_read(rig: Rig, call: Call, shell: Panes) -> None:
    made, reader = await reading(call, shell)
    await type_line(rig, made.pane, "echo one; echo two")
    assert (await reader.until(f"two\n{PROMPT}")).rstrip() == (
        f"{PROMPT}echo one; echo two\none\ntwo\n{PROMPT.strip()}"
    )
    assert (reader.last["newLines"], reader.last["missedLines"]) == (4, 0)
    assert await reader.read() == ""
    assert (reader.last["newLines"], reader.last["truncated"]) == (0, False)
    await type_line(rig, made.pane, "echo three")
    assert await reader.until(f"three\n{PROMPT}") == f"{PROMPT}echo three\nthree\n{PROMPT}"


async def test_a_line_that_grew_is_told_whole(rig: Rig, call: Call, shell: Panes) -> None:
    made, reader = await reading(call, shell)
    for sent, seen in (("echo", "echo"), (" hel", "echo hel"), ("lo", "echo hello")):
        await call("send-keys", paneId=made.pane, keys=sent)
        assert await reader.until(f"{seen}$") == f"{PROMPT}{seen}"
        assert reader.last["newLines"] == 1


async def test_older_cursors_stay_valid(rig: Rig, call: Call, shell: Panes) -> None:
    made, reader = await reading(call, shell)
    cursors = [reader.cursor]
    for number in range(3):
        await type_line(rig, made.pane, f"echo =''{number}=")
        await reader.until(f"={number}=\n{PROMPT}")
        cursors.append(reader.cursor)
    for index, cursor in enumerate(cursors):
        text = (await call("read-pane", paneId=made.pane, since=cursor))["text"]
        assert re.findall(r"^=(\d)=", text, re.MULTILINE) == [str(number) for number in range(index, 3)]
    again = await call("read-pane", paneId=made.pane, since=cursors[1])
    assert again == await call("read-pane", paneId=made.pane, since=cursors[1])


async def test_of_a_flood_nothing_is_lost_that_is_not_counted(rig: Rig, call: Call, shell: Panes) -> None:
    made, reader = await reading(call, shell)
    begun = reader.cursor
    await type_line(rig, made.pane, f"seq -f 'a line with the number %06.0f in it' {LINES}; echo OV''ER")
    await rig.wait_until_read(made.pane, f"OVER\n{PROMPT}")
    text = await reader.read(maxLines=100_000)
    numbers = [int(number) for number in re.findall(r"number (\d{6}) in", text)]
    assert numbers == list(range(LINES - len(numbers) + 1, LINES + 1))
    # Besides the numbers: the line of the command, OVER, and the prompt.
    assert reader.last["missedLines"] + reader.last["newLines"] == LINES + 3
    assert 0 < reader.last["missedLines"] < LINES - 1000
    again = await call("read-pane", paneId=made.pane, since=begun, maxLines=10)
    assert again["missedLines"] == reader.last["missedLines"]
    assert (len(again["text"].split("\n")), again["truncated"]) == (10, True)


@pytest.mark.parametrize("whose", ["ours", "a person's"])
async def test_a_pane_that_never_rests_is_read_without_loss_or_doubles(
    rig: Rig, call: Call, pane: Shell, name: str, whose: str
) -> None:
    # Each reading lets it continue, so that there are several readings however fast it is.
    wait = "[ $((i % 10000)) -gt 0 ] || read x"
    count = f"i=0; while [ $i -lt 80000 ]; do i=$((i+1)); printf '%06d\\n' $i; {wait}; done; exec sleep 60"
    made = await pane(count) if whose == "ours" else rig.session_of_a_person(name, "sh", "-c", count)
    reader, readings = ReadingAgent(call, made.pane), 0
    seen: list[str] = []
    while seen[-1:] != ["080000"]:
        lines = (await reader.read(maxLines=100_000)).split()
        if seen and lines and lines[0].startswith(seen[-1]):  # it was not complete, and is read again
            seen.pop()
        seen += lines
        assert reader.last["missedLines"] == 0
        readings += 1
        await call("send-enter", paneId=made.pane)
    assert seen == [f"{number:06}" for number in range(int(seen[0]), 80_001)]
    assert readings > 5


async def test_clear_loses_nothing(rig: Rig, call: Call, shell: Panes) -> None:
    made, reader = await reading(call, shell)
    await type_line(rig, made.pane, "echo before; printf '\\033[H\\033[2J\\033[3J'; echo after")
    lines = (await reader.until(f"after\n{PROMPT}")).split("\n")
    assert [line for line in lines if line in ("before", "after")] == ["before", "after"]
    assert reader.last["missedLines"] == 0
    await type_line(rig, made.pane, "echo later")
    assert "before" not in await reader.until("\nlater\n")


async def test_a_resize_changes_nothing_of_what_is_read(rig: Rig, call: Call, shell: Panes) -> None:
    made, reader = await reading(call, shell)
    await type_line(rig, made.pane, f"echo {'w' * 150}")
    await rig.wait_until_shown(made.pane, f"\n{'w' * 150}\n{PROMPT.strip()}")
    rig.raw("resize-window", "-t", made.window, "-x", "40", "-y", "12")
    await type_line(rig, made.pane, f"echo {'n' * 150}")
    lines = (await reader.until(f"\n{'n' * 150}\n{PROMPT}")).split("\n")
    assert lines.count("w" * 150) == 1
    assert lines.count("n" * 150) == 1
    assert (await reader.read(), reader.last["missedLines"]) == ("", 0)


async def test_a_full_screen_program_is_told_as_its_screen(rig: Rig, call: Call, shell: Panes) -> None:
    made, reader = await reading(call, shell)
    draw = "tput smcup; tput clear; tput cup 3 5; printf DR''A''WN; read x; tput cup 4 5; printf MORE; read x"
    await type_line(rig, made.pane, f"echo main-1; {draw}; tput rmcup; echo main-2")
    assert await reader.until("DRAWN") == "\n\n\n     DRAWN"
    assert reader.last["alternateScreen"]
    await call("send-enter", paneId=made.pane)
    assert "     MORE" in await reader.until("MORE")
    await call("send-enter", paneId=made.pane)
    text = await reader.until(f"main-2\n{PROMPT}")
    assert "\nmain-1\nmain-2\n" in text
    assert "DRAWN" not in text
    assert not reader.last["alternateScreen"]
    await type_line(rig, made.pane, "echo main-3")
    assert await reader.until(f"\nmain-3\n{PROMPT}") == f"{PROMPT}echo main-3\nmain-3\n{PROMPT}"


async def test_a_pane_first_seen_in_a_full_screen_program_is_read_on_below_it(
    rig: Rig, call: Call, shell: Panes
) -> None:
    made = await shell()
    await type_line(
        rig, made.pane, "tput smcup; tput clear; printf DR''A''WN; read x; tput rmcup; echo main-1"
    )
    await rig.wait_until_shown(made.pane, "DRAWN")
    reader = ReadingAgent(call, made.pane)
    assert await reader.until("DRAWN") == "DRAWN"
    assert reader.last["alternateScreen"]
    await call("send-enter", paneId=made.pane)
    text = await reader.until(f"main-1\n{PROMPT}")
    assert "DRAWN" not in text
    assert text.rstrip().endswith(f"main-1\n{PROMPT.strip()}")


async def test_a_progress_bar_is_its_last_state(rig: Rig, call: Call, shell: Panes) -> None:
    made, reader = await reading(call, shell)
    await type_line(rig, made.pane, "for i in 10 50 100; do printf '\\r%s%%' $i; done; echo; echo 'en''d'")
    text = await reader.until(f"\nend\n{PROMPT}")
    assert text.split("\n")[1:3] == ["100%", "end"]


async def test_a_progress_bar_longer_than_the_memory_is_still_its_last_state(
    rig: Rig, call: Call, pane: Shell
) -> None:
    made = await pane(
        "yes \"$(printf '\\r12345678%%')\" | head -c 2000000 | tr -d '\\n'; printf '\\rLAST'; exec sleep 60"
    )
    reader = ReadingAgent(call, made.pane)
    await reader.read()
    assert (await reader.until("LAST")).startswith("LAST")


async def test_a_pane_that_ended_is_read_to_its_last_line(rig: Rig, call: Call, shell: Panes) -> None:
    made = await shell()
    rig.raw("set-option", "-p", "-t", made.pane, "remain-on-exit", "on")
    reader = ReadingAgent(call, made.pane)
    await reader.read()
    await type_line(rig, made.pane, "seq 1000; echo 'la''st'")
    await rig.wait_until_shown(made.pane, "\nlast\n")
    await type_line(rig, made.pane, "exit 3")

    async def dead() -> bool:
        rows = (await call("list-panes", windowId=made.window))["panes"]
        return bool(rows[0]["dead"])

    await eventually(dead)
    lines = (await reader.until("\nlast\n", maxLines=5000)).split("\n")
    assert [line for line in lines if line.isdigit()] == [*map(str, range(1, 1001))]
    assert reader.last["missedLines"] == 0
    await reader.rest()
    assert "\n1000\nlast\n" in (await call("read-pane", paneId=made.pane))["text"]


async def test_not_a_byte_of_a_program_of_ours_is_lost_when_it_ends(
    rig: Rig, call: Call, pane: Shell
) -> None:
    made = await pane("exec sleep 60")
    rig.raw("set-option", "-p", "-t", made.pane, "remain-on-exit", "on")
    await call("respawn-pane", paneId=made.pane, command="seq 5000; printf last", kill=True)
    reader = ReadingAgent(call, made.pane)
    lines = (await reader.until("\nlast$", maxLines=6000)).split("\n")
    assert lines == [*map(str, range(1, 5001)), "last"]


async def test_what_another_program_prints_in_the_pane_is_read_on(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane("echo first; exec sleep 60")
    await rig.wait_until_shown(made.pane, "first")
    reader = ReadingAgent(call, made.pane)
    assert await reader.until("first") == "first"
    await reader.rest()
    begun = reader.cursor
    await call("respawn-pane", paneId=made.pane, command="echo second; exec sleep 60", kill=True)
    assert await reader.until("second") == "second"
    await reader.rest()
    await call("respawn-pane", paneId=made.pane, command="echo third; exec sleep 60", kill=True)
    assert await reader.until("third") == "third"
    reader.cursor = begun
    assert await reader.read() == "second\nthird"


async def test_a_pane_of_another_server_with_the_same_id_is_another_pane(
    rig: Rig, call: Call, fails: Fails
) -> None:
    other = str(rig.folder / "again")
    made = await call("create-session", name="x", command="echo one; exec sleep 60", socket=other)
    first = await call("read-pane", paneId=made["paneId"], socket=other)
    server = int(rig.raw("-S", other, "display-message", "-p", "#{pid}"))
    await call("kill-session", sessionId="x", socket=other)
    await wait_until(lambda: not is_running(server))
    again = await call("create-session", name="x", command="echo two; exec sleep 60", socket=other)
    try:
        assert again["paneId"] == made["paneId"]
        words = await fails("read-pane", paneId=again["paneId"], since=first["cursor"], socket=other)
        assert "'since'" in words

        async def two() -> bool:
            answer = await call("read-pane", paneId=again["paneId"], socket=other)
            return str(answer["text"]) == "two"

        await eventually(two)
    finally:
        rig.raw("-S", other, "kill-server", check=False)


async def test_many_readers_of_one_pane_see_the_same(rig: Rig, call: Call, shell: Panes) -> None:
    made = await shell()
    firsts = await asyncio.gather(*(call("read-pane", paneId=made.pane) for _ in range(10)))
    await type_line(rig, made.pane, "echo for''all")
    await rig.wait_until_shown(made.pane, f"forall\n{PROMPT.strip()}")
    texts = set()
    for first in firsts:
        reader = ReadingAgent(call, made.pane)
        reader.cursor = first["cursor"]
        texts.add(await reader.until(f"forall\n{PROMPT}"))
    assert texts == {f"{PROMPT}echo for''all\nforall\n{PROMPT}"}
