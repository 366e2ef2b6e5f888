"""Output of any length is exact and within limits; the resource has all of it."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import tempfile
from pathlib import Path

import pytest

from tests.rigs.waiting import LIMIT_S, eventually
from tests.shells.conftest import Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")

MEGABYTES_20 = 20_000_000


@pytest.mark.timeout(240)
async def test_twenty_megabytes_come_back_byte_for_byte(desk: Desk) -> None:
    pane = await desk.own_pane()
    command = f"seq -f '%.0f the quick brown fox jumps over it' 1 1000000 | head -c {MEGABYTES_20}; echo"
    answer = await desk.run(pane, command, timeoutSeconds=200)
    assert (answer["status"], answer["outputBytes"]) == ("completed", MEGABYTES_20 + 1)
    assert answer["outputTruncated"]
    assert len(answer["output"].encode()) < 16384 + 100
    whole = await _resource(desk, answer)
    rows = "".join(f"{n} the quick brown fox jumps over it\n" for n in range(1, 1_000_001))
    assert whole["output"] == rows[:MEGABYTES_20] + "\n"
    assert not whole["outputTruncated"]
    assert answer["output"].startswith(rows[:8000])
    assert answer["output"].endswith(whole["output"][-8000:])


def _uri(answer: dict[str, object]) -> str:
    return f"tmux://command/{answer['commandId']}/result"


async def _resource(desk: Desk, answer: dict[str, object]) -> dict[str, object]:
    mime, text = await desk.app.resources.read(_uri(answer))
    assert mime == "application/json"
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


async def test_a_full_disk_stops_no_command(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: io.FileIO("/dev/full", "r+"))
    pane = await desk.own_pane()
    answer = await desk.run(pane, "seq 1 400000", maxOutputBytes=1000)
    assert (answer["status"], answer["exitCode"], answer["outputBytes"]) == ("completed", 0, 2688895)
    assert answer["outputTruncated"]
    assert "takes no more" in answer["reason"]
    assert answer["output"].startswith("1\n2\n")
    assert answer["output"].endswith("\n399999\n400000\n")
    late = await desk.call(
        "get-command-result", commandId=answer["commandId"], offsetBytes=2688895 - 14, maxOutputBytes=100
    )
    assert late["output"] == "399999\n400000\n"
    gone = await desk.call("get-command-result", commandId=answer["commandId"], offsetBytes=1_500_000)
    assert "not kept" in gone["reason"]
    assert (await desk.run(pane, "echo next"))["output"] == "next\n"


# A library for menus prints this: the menu, then another item as the chosen one, then the answer instead.
MENU = (
    b"\x1b[?25l\x1b[?7l\x1b[J\x1b[1m? \x1b[0mWhich one?\x1b[0m\r\r\n > one\r\r\n   two\r\r\n   three"
    b"\x1b[8D\x1b[3A\x1b[12C\x1b[?7h"
)
CHOSEN = (
    b"\x1b[?7l\x1b[0m\r\r\n   one\x1b[0m\r\r\n > two\x1b[2A\x1b[6C"
    b"\x1b[?7l\x1b[12D\x1b[0m\x1b[J\x1b[1m? \x1b[0mWhich one? two\x1b[15D\r\r\n\x1b[J\x1b[?7h\x1b[?25h"
)


@pytest.mark.parametrize("rows_before", [0, 200], ids=["top", "bottom"])
async def test_a_menu_that_was_erased_is_not_in_the_output(
    desk: Desk, tmp_path: Path, rows_before: int
) -> None:
    pane = await desk.own_pane()
    if rows_before:
        await desk.run(pane, f"seq {rows_before}")
    (tmp_path / "menu").write_bytes(MENU)
    (tmp_path / "chosen").write_bytes(CHOSEN)
    key = "stty -echo -icanon; head -c 1 >/dev/null; stty sane"
    answer = await desk.run(pane, f"cd {tmp_path}; cat menu; {key}; cat chosen; echo done")
    assert answer["waitingForInput"], answer
    assert answer["output"] == "? Which one?\n > one\n   two\n   three"
    await desk.call("send-keys", paneId=pane, keys="x")
    ended = await desk.get_result(answer)
    assert (ended["status"], ended["output"]) == ("completed", "? Which one? two\ndone\n"), ended


@pytest.mark.parametrize("shell", ["ksh93", "mksh"])
async def test_short_commands_of_ksh_are_never_told_before_they_have_ended(desk: Desk, shell: str) -> None:
    """ksh marks no start of a command: its end must not be mistaken for a program that waits."""
    pane = await desk.own_pane(shell)
    for number in range(60):
        answer = await desk.run(pane, f"/bin/echo {number}; (exit {number % 3})")
        told = (answer["exitCode"], answer["output"], answer["waitingForInput"], answer["timedOut"])
        assert told == (number % 3, f"{number}\n", False, False), answer


async def test_head_and_tail_keep_within_the_limit_and_say_what_is_left_out(desk: Desk) -> None:
    pane = await desk.shared_pane("bash")
    answer = await desk.run(pane, "seq 1 1000", maxOutputBytes=100)
    head, _, rest = answer["output"].partition("\n[… ")
    left_out, _, tail = rest.partition(" bytes left out …]\n")
    assert (head, tail) == (
        "\n".join(map(str, range(1, 21)))[:50],
        "".join(f"{n}\n" for n in range(900, 1001))[-50:],
    )
    assert int(left_out) == answer["outputBytes"] - 100
    assert answer["outputTruncated"]
    again = await desk.call("get-command-result", commandId=answer["commandId"], maxOutputBytes=1_000_000)
    assert again["output"] == "".join(f"{n}\n" for n in range(1, 1001))
    assert not again["outputTruncated"]


@pytest.mark.parametrize("limit", range(12))
async def test_no_character_is_cut_in_two(desk: Desk, limit: int) -> None:
    answer = await desk.run(await desk.shared_pane("bash"), "echo 漢字漢字", maxOutputBytes=limit)
    assert "\ufffd" not in answer["output"]
    assert answer["outputBytes"] == 13
    assert answer["resourceUri"] == _uri(answer)


async def test_a_command_that_still_runs_shows_what_it_has_said(desk: Desk) -> None:
    pane = await desk.own_pane()
    barrier = desk.barrier()
    answer = await desk.run(pane, f"echo early; {barrier.command}; echo late", timeoutSeconds=0.1)

    async def has_output() -> dict[str, object]:
        now = await desk.get_result(answer, wait_ms=1)
        return now if now["output"] else {}

    now = await eventually(has_output)
    assert isinstance(now, dict)
    assert (now["status"], now["timedOut"]) == ("running", True)
    assert now["output"] == "early\n"
    barrier.open()
    assert (await desk.get_result(answer))["output"] == "early\nlate\n"


async def test_a_subscriber_is_told_of_output_and_of_the_end(desk: Desk) -> None:
    pane = await desk.own_pane()
    answer = await desk.run(pane, "echo one; read x; echo two")
    told = asyncio.Queue[None]()
    stop = await desk.app.resources.follow(_uri(answer), lambda: told.put(None))
    desk.type_as_person(pane, "", "Enter")
    async with asyncio.timeout(LIMIT_S):
        while (await _resource(desk, answer))["status"] == "running":
            await told.get()
    assert (await _resource(desk, answer))["output"] == "one\n\ntwo\n"
    stop()


@pytest.mark.parametrize("shell", ["bash", "dash"])
async def test_a_pipe_that_is_behind_the_screen_is_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    desk.change_timing(monkeypatch, stream_lag_s=LIMIT_S)
    others = _pipes(desk)
    pane = await desk.own_pane(shell)
    await desk.run(pane, "true")
    [pipe] = _pipes(desk) - others
    barrier = desk.barrier()
    asked = asyncio.create_task(desk.run(pane, f"echo ear''ly; {barrier.command}; echo la''te"))
    await desk.wait_for_output(pane, b"early\r\n")
    os.kill(pipe, signal.SIGSTOP)
    try:
        barrier.open()
        await desk.wait_for_screen(pane, "late\n")
        done, _ = await asyncio.wait([asked], timeout=1)  # many checks for input
        assert not done
    finally:
        os.kill(pipe, signal.SIGCONT)
    answer = await asked
    assert (answer["status"], answer["output"]) == ("completed", "early\nlate\n")


def _pipes(desk: Desk) -> set[int]:
    """Return the processes that write the output of panes into journals: each dd below a child of tmux."""
    server = desk.run_tmux("display-message", "-p", "#{pid}")
    writers = [pid for shell in _children(server) for pid in _children(shell)]
    return {int(pid) for pid in writers if (Path("/proc") / pid / "comm").read_text() == "dd\n"}


def _children(pid: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []


async def test_what_scrolls_away_under_a_small_history_is_not_lost(desk: Desk) -> None:
    desk.run_tmux("set-option", "-g", "history-limit", "10")
    try:
        pane = await desk.own_pane()
        answer = await desk.run(pane, "seq 1 5000", maxOutputBytes=100_000)
    finally:
        desk.run_tmux("set-option", "-g", "history-limit", "2000")
    assert answer["output"] == "".join(f"{n}\n" for n in range(1, 5001))


async def test_commands_are_listed_with_how_they_are(desk: Desk) -> None:
    pane = await desk.own_pane()
    done = await desk.run(pane, "false")
    running = await desk.start_program(pane, "sleep 30")
    rows = (await desk.call("list-commands", paneId=pane))["commands"]
    assert [(row["commandId"], row["status"], row["exitCode"]) for row in rows] == [
        (done["commandId"], "failed", 1),
        (running["commandId"], "running", None),
    ]
    everywhere = (await desk.call("list-commands"))["commands"]
    assert {row["commandId"] for row in rows} <= {row["commandId"] for row in everywhere}
    await desk.call("cancel-command", commandId=running["commandId"])
