"""Large amounts: windows, lines, one long line, bytes that are no text (F6 to F12 of the catalogue).

Time is processor time of the server and tmux together, so that other programs do not count.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bench.measure import cpu_s
from tests.rigs.waiting import eventually, server_pid
from tests.rigs.wire import TMUX, Place, Wire, private_place

# Large amounts take long on a busy machine.
PATIENCE_S = 200.0
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(PATIENCE_S + 40)]

MEGABYTE = 1_000_000
WINDOWS = 500
LINES = 100_000
EVERY_BYTE = "".join(f"\\{byte:03o}" for byte in range(256))
GRAPHEMES = "世界 e\u0301 👩\u200d👩\u200d👧 🇩🇪 ❤\ufe0f 👍🏽"


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with private_place() as place:
        size = ("set-option", "-g", "history-limit", str(2 * LINES))
        place.tmux("new-session", "-d", "-s", "keeper", "cat", ";", *size)
        yield place


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def wire(place: Place) -> AsyncIterator[Wire]:
    async with place.serve("--scope", "all", is_new=True) as wire:
        await wire.shake_hands()
        yield wire


async def pane_with(wire: Wire, command: str | None = None) -> str:
    made = await wire.call("create-session", **({"command": command} if command else {}))
    return str(made["paneId"])


async def wait_until_shown(wire: Wire, pane: str, wanted: str) -> None:
    async def look() -> bool:
        return wanted in await wire.call("capture-pane", paneId=pane, lines=5)

    await eventually(look, limit_s=PATIENCE_S)


async def measure_cpu_s(place: Place, wire: Wire, times: int, tool: str, **arguments: Any) -> float:
    """Return the seconds of processor time that one call takes."""
    tmux = server_pid(TMUX, place.socket)
    assert tmux is not None
    before = cpu_s({wire.pid, tmux})
    for _ in range(times):
        await wire.call(tool, **arguments)
    return (cpu_s({wire.pid, tmux}) - before) / times


def resident_mb(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) / 1024


async def test_beside_a_flood_calls_are_answered_and_the_memory_is_flat(wire: Wire) -> None:
    program = f"read go; yes {'x' * 99} | head -c {20 * MEGABYTE}; echo; echo THE''END; exec cat"
    pane = await pane_with(wire, program)
    before = resident_mb(wire.pid)
    seen = await wire.start_call("watch-pane", paneId=pane, triggers="pattern:^THEEND", timeout=PATIENCE_S)
    await wire.call("send-keys", paneId=pane, keys="", enter=True)
    sizes = []
    while not seen.done():
        assert pane in str(await wire.call("list-panes"))
        sizes.append(resident_mb(wire.pid))
    assert seen.result()["result"]["structuredContent"]["event"] == "pattern:^THEEND"
    assert len(sizes) > 5
    assert max(sizes) - before < 50


async def test_500_windows_are_listed_within_200_ms() -> None:
    """They have their own tmux, because a tmux with long histories takes long to fork."""
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "many", "cat")
        script = place.home / "many"
        script.write_text("new-window -d -t =many: sleep 1000\n" * 50)
        for _ in range(WINDOWS // 50):
            place.tmux("source-file", str(script))
        async with place.serve("--scope", "all") as wire:
            await wire.shake_hands()
            for tool, rows in (("list-windows", "windows"), ("list-panes", "panes")):
                listed = (await wire.call(tool))[rows]
                assert len(listed) == WINDOWS + 1
                assert (
                    len(str(listed)) < WINDOWS * 300
                )  # not paged, because a row is short and a call can name a session
                assert await measure_cpu_s(place, wire, 5, tool) < 0.2


async def test_ten_and_a_hundred_thousand_lines_are_captured_in_time(place: Place, wire: Wire) -> None:
    pane = await pane_with(wire, f"seq 1 {LINES}; exec cat")
    await wait_until_shown(wire, pane, str(LINES))
    for lines, times, limit_s in ((10_000, 10, 0.1), (LINES, 3, 0.5)):
        text = await wire.call("capture-pane", paneId=pane, lines=lines)
        assert text == "\n".join(str(number) for number in range(LINES - lines + 1, LINES + 1))
        assert await measure_cpu_s(place, wire, times, "capture-pane", paneId=pane, lines=lines) < limit_s


async def test_bytes_that_are_no_text_lose_no_call(wire: Wire) -> None:
    pane = await pane_with(wire)
    await wire.call("read-pane", paneId=pane)
    script = f"for i in 1 2 3 4 5 6 7 8; do printf '{EVERY_BYTE}'; done"
    noise = await wire.call("execute-command", paneId=pane, command=script, timeoutSeconds=20)
    assert (noise["status"], noise["exitCode"]) == ("completed", 0)
    after = await wire.call("execute-command", paneId=pane, command="echo fine", timeoutSeconds=20)
    assert after["output"] == "fine\n"
    for tool in ("read-pane", "capture-pane", "pane-state"):
        await wire.call(tool, paneId=pane)


async def test_what_is_read_as_one_character_stays_one(wire: Wire) -> None:
    pane = await pane_with(wire)
    ran = await wire.call("execute-command", paneId=pane, command=f"echo '{GRAPHEMES}'", timeoutSeconds=20)
    assert ran["output"] == f"{GRAPHEMES}\n"


async def test_one_line_of_ten_megabytes_is_bounded_and_said_to_be_cut(wire: Wire) -> None:
    a_line = f"head -c {10 * MEGABYTE} /dev/zero | tr '\\0' x"
    pane = await pane_with(wire, f"{a_line}; echo; echo over; exec cat")
    await wait_until_shown(wire, pane, "over")
    read = await wire.call("read-pane", paneId=pane)
    assert read["truncated"]
    assert len(read["text"]) < 100_000
    assert len(await wire.call("capture-pane", paneId=pane, join=True)) < 100_000


async def test_a_commands_long_line_is_counted_whole_and_told_in_part(wire: Wire) -> None:
    pane = await pane_with(wire)
    a_line = f"head -c {2 * MEGABYTE} /dev/zero | tr '\\0' x"
    ran = await wire.call("execute-command", paneId=pane, command=a_line, timeoutSeconds=18)
    assert (ran["status"], ran["outputTruncated"], ran["outputBytes"]) == ("completed", True, 2 * MEGABYTE)
    assert len(ran["output"]) < 100_000


async def test_a_line_that_the_terminal_cuts_is_told(wire: Wire, place: Place) -> None:
    """A program that reads whole lines gets 4,095 bytes of each; one that reads keys gets all of them."""
    cooked = await pane_with(wire, "cat > cooked")
    for tool, given in (("send-keys", {"keys": "x" * 5000}), ("paste-text", {"content": "y\n" + "x" * 5000})):
        answer = await wire.call(tool, paneId=cooked, enter=True, **given)
        assert "of a line of 5000 bytes it gets the first 4095" in answer["hint"]
    await wire.call("send-cancel", paneId=cooked)
    lines = (place.home / "cooked").read_text().splitlines() if (place.home / "cooked").exists() else []
    assert all(len(line) <= 4095 for line in lines)
    short = await pane_with(wire, "exec cat")
    assert "hint" not in await wire.call("send-keys", paneId=short, keys="x" * 4095, enter=True)
    raw = await pane_with(wire, "stty raw; exec cat > /dev/null")
    await eventually(lambda: _reads_keys(wire, raw))
    assert "hint" not in await wire.call("paste-text", paneId=raw, content="x" * 5000)


async def _reads_keys(wire: Wire, pane: str) -> bool:
    return bool((await wire.call("pane-state", paneId=pane))["waitingFor"] == "key")
