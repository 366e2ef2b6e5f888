"""A watch over a stream that the test feeds itself: gaps, ends, progress, and what wins."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest

from muxpilot.tmux import Pane, PaneId, PaneStream, SessionId, WindowId
from muxpilot.tmux.streams import Exit
from muxpilot.watch.progress import _SHORTEST_S, MODES, Mode, Teller
from muxpilot.watch.triggers import parse
from muxpilot.watch.watch import Fired, Start, Watch
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


class Bench:
    """A watch that runs, and its stream."""

    def __init__(
        self, triggers: str, *, timeout_s: float = LIMIT_S, teller: Teller | None = None, pane: Pane = PANE
    ) -> None:
        self.stream = PaneStream(PaneId("%1"), memory_bytes=64)
        self.watch = Watch(pane, Start(0), triggers=parse(triggers), timeout_s=timeout_s, teller=teller)
        self.task = asyncio.create_task(self.watch.run(self.stream))

    async def fired(self) -> Fired:
        return await asyncio.wait_for(self.task, LIMIT_S)


async def test_what_is_fed_in_pieces_is_one_line() -> None:
    bench = Bench("pattern:needle")
    for byte in b"nee\x1b[1mdle\r\n":
        bench.stream.feed(bytes([byte]))
        await asyncio.sleep(0)
    assert (await bench.fired()).detail == 'Matched pattern "needle": needle'


async def test_bytes_that_nobody_saw_are_told() -> None:
    bench = Bench("pattern:needle")
    bench.stream.feed(b"x" * 1000)  # more than it remembers, before anybody reads
    bench.stream.gap("tmux dropped some")
    bench.stream.feed(b"\nneedle\n")
    assert (await bench.fired()).event == "pattern:needle"
    assert [gap.lost is None for gap in bench.watch.gaps] == [False, True]


async def test_the_end_tells_what_is_left_on_the_last_line() -> None:
    bench = Bench("exit,pattern:bye")
    bench.stream.feed(b"bye")
    bench.stream.finish(Exit(3), "the program has ended")
    fired = await bench.fired()
    assert fired == Fired("exit", "Process exited with code 3 (the program has ended)", 3)
    other = Bench("pattern:bye,exit")
    other.stream.feed(b"bye")
    other.stream.finish(Exit(3), "the program has ended")
    assert (await other.fired()).event == "pattern:bye"


async def test_an_end_whose_code_is_not_known_says_so() -> None:
    bench = Bench("exit")
    bench.stream.finish(None, "the pane is gone")
    assert (await bench.fired()).detail == "Process exited, its code is not known (the pane is gone)"


@pytest.mark.parametrize("triggers", ["exit", "pattern:x", "exit,user_input,error", "port:1,exit"])
async def test_a_dead_pane_is_an_exit_at_once(triggers: str) -> None:
    dead = replace(PANE, is_dead=True, dead_status=6)
    fired = await Bench(triggers, timeout_s=10 * LIMIT_S, pane=dead).fired()
    assert (fired.event, fired.exit_code) == ("exit", 6)


async def test_a_dead_pane_does_not_end_a_wait_for_something_else() -> None:
    bench = Bench("port:1", timeout_s=0.2, pane=replace(PANE, is_dead=True, dead_status=6))
    assert (await bench.fired()).event == "timeout"


async def test_a_timeout_of_nothing_still_sees_what_is_there() -> None:
    bench = Bench("idle:5", timeout_s=0)
    assert (await bench.fired()) == Fired("timeout", "Timed out after 0s")


async def test_output_puts_off_idle_and_quiet_begins_with_a_change() -> None:
    bench = Bench("idle:0.3,quiet:50")
    bench.stream.feed(b"\x1b]0;title\x07")
    assert (await bench.fired()).event == "idle:0.3"
    bench = Bench("idle:60,quiet:50")
    bench.stream.feed(b"x")
    assert (await bench.fired()).event == "quiet:50"


async def test_a_cancelled_watch_ends_every_task_of_its_own() -> None:
    before = asyncio.all_tasks()
    bench = Bench("pattern:x,port:1,file:/no/such/file,url:http://127.0.0.1:1/")

    async def are_begun() -> bool:
        return len(asyncio.all_tasks()) > len(before) + 3

    await eventually(are_begun)
    bench.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bench.task
    assert asyncio.all_tasks() == before


async def test_progress_counts_new_lines_and_never_holds_up_the_watch() -> None:
    told: list[tuple[float, float | None, str]] = []
    stuck = asyncio.Event()

    async def tell(progress: float, total: float | None, message: str) -> None:
        told.append((progress, total, message))
        await stuck.wait()  # a client that does not read

    async def has_been_told() -> bool:
        return bool(told)

    # Time is what this is about: nothing is told more often than this.
    bench = Bench("pattern:END", teller=Teller(tell, Mode(10.0, 2), pane="%1", total_s=5.0))
    bench.stream.feed(b"1\n")
    await asyncio.sleep(2 * _SHORTEST_S)
    assert told == []
    bench.stream.feed(b"2\n3\n")
    await eventually(has_been_told)
    for _ in range(2):
        bench.stream.feed(b"4\n5\n")
        await asyncio.sleep(2 * _SHORTEST_S)
    bench.stream.feed(b"END\n")
    assert (await bench.fired()).event == "pattern:END"
    [(progress, total, message)] = told
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
