"""A watch over a stream that the test feeds itself: gaps, ends, progress, and which trigger wins."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest

from muxpilot.timing import WatchTiming
from muxpilot.tmux import Pane, PaneId, PaneStream, SessionId, WindowId
from muxpilot.tmux.streams import ExitStatus
from muxpilot.watch.pane_watch import PaneWatch, WatchEvent
from muxpilot.watch.progress import MODES, ProgressMode, ProgressReporter
from muxpilot.watch.state_checks import next_state_check
from muxpilot.watch.triggers import parse_triggers
from muxpilot.watch.watch_start import WatchStart
from tests.rigs.waiting import eventually

PANE = Pane(
    id=PaneId("%1"),
    index=0,
    title="",
    is_active=True,
    width=80,
    height=24,
    current_command="sh",
    current_path="/",
    pid=2**22 + 1,  # no process has it
    tty="/dev/none",
    is_dead=False,
    dead_status=None,
    dead_signal=None,
    in_mode=False,
    is_alternate=False,
    cursor_column=0,
    window_id=WindowId("@1"),
    session_id=SessionId("$1"),
    server_pid=1,
)
LIMIT_S = 10.0
SHORTEST_S = WatchTiming().shortest_progress_s


class RunningWatch:
    """A watch that runs in a task, and its stream."""

    def __init__(
        self,
        triggers: str,
        *,
        timeout_s: float = LIMIT_S,
        progress: ProgressReporter | None = None,
        pane: Pane = PANE,
    ) -> None:
        self.stream = PaneStream(PaneId("%1"), memory_bytes=64)
        self.watch = PaneWatch(
            pane, WatchStart(0), triggers=parse_triggers(triggers), timeout_s=timeout_s, progress=progress
        )
        self.task = asyncio.create_task(self.watch.run(self.stream))

    async def wait(self) -> WatchEvent:
        return await asyncio.wait_for(self.task, LIMIT_S)


async def test_what_is_fed_in_pieces_is_one_line() -> None:
    running = RunningWatch("pattern:needle")
    for byte in b"nee\x1b[1mdle\r\n":
        running.stream.feed(bytes([byte]))
        await asyncio.sleep(0)
    assert (await running.wait()).detail == 'Matched pattern "needle": needle'


async def test_bytes_that_nobody_saw_are_told() -> None:
    running = RunningWatch("pattern:needle")
    running.stream.feed(b"x" * 1000)  # more than it remembers, before the watch reads
    running.stream.add_gap("tmux dropped some")
    running.stream.feed(b"\nneedle\n")
    assert (await running.wait()).event == "pattern:needle"
    assert [gap.lost_bytes is None for gap in running.watch.gaps] == [False, True]


async def test_the_end_tells_what_is_left_on_the_last_line() -> None:
    running = RunningWatch("exit,pattern:bye")
    running.stream.feed(b"bye")
    running.stream.finish(ExitStatus(3), "the program has ended")
    fired = await running.wait()
    assert fired == WatchEvent("exit", "Process exited with code 3 (the program has ended)", 3)
    other = RunningWatch("pattern:bye,exit")
    other.stream.feed(b"bye")
    other.stream.finish(ExitStatus(3), "the program has ended")
    assert (await other.wait()).event == "pattern:bye"


async def test_an_end_whose_code_is_not_known_says_so() -> None:
    running = RunningWatch("exit")
    running.stream.finish(None, "the pane is gone")
    assert (await running.wait()).detail == "Process exited, its code is not known (the pane is gone)"


@pytest.mark.parametrize("triggers", ["exit", "pattern:x", "exit,user_input,error", "port:1,exit"])
async def test_a_dead_pane_is_an_exit_at_once(triggers: str) -> None:
    dead = replace(PANE, is_dead=True, dead_status=6)
    fired = await RunningWatch(triggers, timeout_s=10 * LIMIT_S, pane=dead).wait()
    assert (fired.event, fired.exit_code) == ("exit", 6)


async def test_a_dead_pane_does_not_end_a_wait_for_something_else() -> None:
    running = RunningWatch("port:1", timeout_s=0.2, pane=replace(PANE, is_dead=True, dead_status=6))
    assert (await running.wait()).event == "timeout"


async def test_a_timeout_of_nothing_still_sees_what_is_there() -> None:
    running = RunningWatch("idle:5", timeout_s=0)
    assert (await running.wait()) == WatchEvent("timeout", "Timed out after 0s")


async def test_output_puts_off_idle_and_quiet_begins_with_a_change() -> None:
    running = RunningWatch("idle:0.3,quiet:50")
    running.stream.feed(b"\x1b]0;title\x07")
    assert (await running.wait()).event == "idle:0.3"
    running = RunningWatch("idle:60,quiet:50")
    running.stream.feed(b"x")
    assert (await running.wait()).event == "quiet:50"


def test_watches_in_which_nothing_happens_look_at_the_same_moments() -> None:
    """Their looks are 1 to 2 s apart. Together they cost a fifth of as many that come one by one."""
    timing = WatchTiming()
    assert next_state_check(10.3, 0, timing) == pytest.approx(10.45)
    assert {next_state_check(now, 4, timing) for now in (10.001, 10.3, 10.9)} == {12.0}
    assert next_state_check(12.0, 5, timing) == 14.0
    short = replace(timing, state_checks_s=(0.01,))
    assert next_state_check(10.3, 9, short) == pytest.approx(10.31)


async def test_a_cancelled_watch_ends_every_task_of_its_own() -> None:
    before = asyncio.all_tasks()
    running = RunningWatch("pattern:x,port:1,file:/no/such/file,url:http://127.0.0.1:1/")

    async def are_begun() -> bool:
        return len(asyncio.all_tasks()) > len(before) + 3

    await eventually(are_begun)
    running.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running.task
    assert asyncio.all_tasks() == before


async def test_progress_counts_new_lines_and_never_holds_up_the_watch() -> None:
    reported: list[tuple[float, float | None, str]] = []
    stuck = asyncio.Event()

    async def report(progress: float, total: float | None, message: str) -> None:
        reported.append((progress, total, message))
        await stuck.wait()  # a client that does not read

    async def has_reported() -> bool:
        return bool(reported)

    # This test is about time: nothing is reported more often than this.
    running = RunningWatch(
        "pattern:END", progress=ProgressReporter(report, ProgressMode(10.0, 2), pane="%1", total_s=5.0)
    )
    running.stream.feed(b"1\n")
    await asyncio.sleep(2 * SHORTEST_S)
    assert reported == []
    running.stream.feed(b"2\n3\n")
    await eventually(has_reported)
    for _ in range(2):
        running.stream.feed(b"4\n5\n")
        await asyncio.sleep(2 * SHORTEST_S)
    running.stream.feed(b"END\n")
    assert (await running.wait()).event == "pattern:END"
    [(progress, total, message)] = reported
    assert total == 5.0
    assert re.fullmatch(r"\[%1 \+\d+s\] 3 new lines", message)
    assert progress > 0


def test_the_modes_are_those_of_the_table() -> None:
    assert [(name, mode.lines) for name, mode in MODES.items()] == [
        ("quick", 10),
        ("medium", 40),
        ("slow", 100),
        ("line", 1),
        ("bunch", 10),
        ("screen", 40),
    ]
    assert [MODES[name].seconds for name in ("quick", "medium", "slow")] == [1, 5, 30]
