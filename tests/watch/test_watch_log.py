"""The debug log of a watch: it says why a trigger fired or did not, and never quotes text."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest

from muxpilot.tmux import PaneStream
from muxpilot.tmux.streams import ExitStatus
from muxpilot.watch.pane_watch import PaneWatch
from muxpilot.watch.triggers import parse_triggers
from muxpilot.watch.watch_start import WatchStart
from tests.watch.test_pane_watch import LIMIT_S, PANE


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """Collect the log of the area "watch" at debug level."""
    logger, found = logging.getLogger("muxpilot.watch"), list[str]()
    handler = logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield found
    logger.setLevel(level)
    logger.removeHandler(handler)


async def watch(
    triggers: str, *chunks: bytes, typed: tuple[str, ...] = (), timeout_s: float = LIMIT_S
) -> None:
    """Run a watch over these chunks; the stream ends after them unless there are none."""
    stream = PaneStream(PANE.id)
    start = WatchStart(0, recently_typed=lambda: typed)
    running = PaneWatch(PANE, start, triggers=parse_triggers(triggers), timeout_s=timeout_s)
    for chunk in chunks:
        stream.feed(chunk)
    if chunks:
        stream.finish(ExitStatus(0), "the program has ended")
    await asyncio.wait_for(running.run(stream), LIMIT_S)


def find(lines: list[str], event: str) -> str:
    return next(line for line in lines if event in line)


async def test_the_log_has_triggers_output_verdict_and_end(lines: list[str]) -> None:
    await watch("error,pattern:needle,idle:30", b"one\ntwo needle\n")
    assert "triggers=error,pattern:<6>,idle:30" in find(lines, "watch began")
    assert "lines=2" in find(lines, "output checked")
    assert "matched=pattern:<6>" in find(lines, "output checked")
    assert "cause=output" in find(lines, "trigger fired")
    assert "outcome=pattern:<6>" in find(lines, "watch ended")
    assert all("pane=%1" in line for line in lines)


async def test_the_log_quotes_neither_output_nor_patterns_nor_typed_text(lines: list[str]) -> None:
    await watch(
        "pattern:hunter2,file:/hunter2,error", b"$ sudo hunter2\n", typed=("sudo hunter2",), timeout_s=0.2
    )
    assert lines
    assert not any("hunter2" in line for line in lines)


async def test_the_log_says_that_a_match_was_the_echo_of_typed_text(lines: list[str]) -> None:
    await watch("pattern:make", b"$ make test\n", typed=("make test",))
    assert "ignored_echoes=1" in find(lines, "output checked")
    assert "outcome=exit" in find(lines, "watch ended")


async def test_the_log_says_why_a_watch_timed_out(lines: list[str]) -> None:
    await watch("shell,port:1", timeout_s=0.2)
    assert "probe=port:1" in find(lines, "probe ")
    assert "evidence='its process has ended'" in find(lines, "state checked")
    assert "outcome=timeout" in find(lines, "watch ended")
    assert "lines=0" in find(lines, "watch ended")
