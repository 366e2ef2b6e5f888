"""Replies without a guard on a real tmux: no path and no alias of a person makes one end early."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import NotFound
from muxpilot.tmux import PaneId
from muxpilot.tmux.connection.protocol import ControlEvent
from tests.rigs.engine import Raw
from tests.rigs.waiting import eventually

pytestmark = pytest.mark.both_tmux

SLEEP = PaneProgram("exec sleep 60")
NUMBER = ("display-message", "-p", "#{pane_index}")


class Stamps:
    """The time and the number of the last reply, which any program with its own client can know."""

    def __init__(self, tmux: Tmux, monkeypatch: pytest.MonkeyPatch) -> None:
        assert tmux.connection._keeper.client is not None
        parser = tmux.connection._keeper.client.control._parser
        self._feed = parser.feed
        self.last = (0, 0)
        monkeypatch.setattr(parser, "feed", self._see)

    def _see(self, data: bytes) -> list[ControlEvent]:
        for clock, number in re.findall(rb"(?m)^%begin ([0-9]+) ([0-9]+) 1$", data):
            self.last = (int(clock), int(number))
        return self._feed(data)


def create_guessing_folder(folder: Path, clock: int, number: int) -> Path:
    """Create a folder whose path holds the ends of the next hundred replies, each on a line of its own."""
    for first in range(number, number + 96, 8):
        lines = "\n".join(f"%end {clock} {first + ahead} 1" for ahead in range(8))
        folder = folder / f"x\n{lines}\n"
    folder.mkdir(parents=True)
    return folder


async def test_a_path_that_guesses_the_end_of_an_answer_ends_none(
    tmux: Tmux, raw: Raw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await tmux.sessions.create("dev", program=SLEEP)
    await tmux.panes.list()
    stamps = Stamps(tmux, monkeypatch)
    for attempt in range(5):
        await tmux.panes.list()
        folder = create_guessing_folder(tmp_path / str(attempt), *stamps.last)
        raw("respawn-pane", "-k", "-c", str(folder), "-t", made.pane_id, "exec sleep 60")
        for _ in range(60):
            assert [row.id for row in await tmux.panes.list()] == [made.pane_id]
        await eventually(partial(pane_is_in, tmux, folder))


async def pane_is_in(tmux: Tmux, folder: Path) -> bool:
    [row] = await tmux.panes.list()
    return row.current_path == str(folder)


async def test_many_answers_of_all_kinds_belong_to_their_questions(tmux: Tmux) -> None:
    made = await tmux.sessions.create("dev", program=SLEEP)

    async def trusted(number: int) -> None:
        reply = await tmux.connection.run(("display-message", "-p", f"n{number}"), NUMBER)
        assert [block.lines for block in reply.blocks] == [(b"n%d" % number,), (b"0",)]

    async def guarded(number: int) -> None:
        reply = await tmux.connection.run(("display-message", "-p", f"g{number} #{{session_name}}"))
        assert reply.first_line.startswith(f"g{number} ")

    async def marked(_: int) -> None:
        assert [row.id for row in await tmux.panes.list()] == [made.pane_id]

    async def failing(number: int) -> None:
        with pytest.raises(NotFound, match=f"%{1000 + number}"):
            await tmux.connection.run(NUMBER, ("select-pane", "-t", PaneId(f"%{1000 + number}")), NUMBER)

    kinds = (trusted, guarded, marked, failing)
    await asyncio.gather(*(kinds[number % 4](number) for number in range(200)))


async def test_a_persons_alias_for_a_command_shifts_no_answer(tmux: Tmux, raw: Raw) -> None:
    raw("new-session", "-d", "-s", "dev", "exec sleep 60")
    raw("set-option", "-s", "command-alias[100]", "send-keys=display-message -p one ; display-message -p")
    pane = (await tmux.panes.list())[0].id
    keys = tmux.connection.run(("send-keys", "two"))
    replies = await asyncio.gather(keys, *(tmux.connection.run(("display-message", "-p", n)) for n in "abc"))
    assert [reply.first_line for reply in replies] == ["one", "a", "b", "c"]
    assert [row.id for row in await tmux.panes.list()] == [pane]
