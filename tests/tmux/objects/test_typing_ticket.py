"""Tickets on a real tmux: a text is typed at most once, whichever process sends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import PaneDead
from muxpilot.tmux import PaneId
from muxpilot.tmux.objects.typing_ticket import TicketRefused, TypingTicket
from tests.rigs.engine import open_reader

pytestmark = pytest.mark.both_tmux

LONG = "x" * 3000


async def test_a_text_is_typed_once_by_two_owners(tmux: Tmux, tmp_path: Path) -> None:
    reader, last = await open_reader(tmux, tmp_path), ""
    for text, sent in (("; #{pane_id}", b"; #{pane_id}\r"), (LONG, LONG.encode() + b"\r")):
        name = f"cmd-{len(text)}"
        await tmux.input.type(reader.pane, text, enter=True, ticket=TypingTicket(f"{name}.1", last))
        with pytest.raises(TicketRefused) as refused:
            await tmux.input.type(reader.pane, text, enter=True, ticket=TypingTicket(f"{name}.2", last))
        last = refused.value.last
        assert last == f"{name}.1"
        assert await reader.read_new() == sent
    assert await tmux.buffers.list() == []


async def test_a_late_request_is_refused_after_another_ticket_was_used(tmux: Tmux, tmp_path: Path) -> None:
    reader = await open_reader(tmux, tmp_path)
    await tmux.input.use_ticket(reader.pane, TypingTicket("claim"))
    for _ in range(2):
        with pytest.raises(TicketRefused, match="claim"):
            await tmux.input.send_bytes(reader.pane, b"late", ticket=TypingTicket("cmd-1.1"))
    await tmux.input.send_bytes(reader.pane, b"next", ticket=TypingTicket("cmd-1.2", "claim"))
    assert await reader.read_new() == b"next"


async def test_panes_have_tickets_of_their_own(tmux: Tmux, tmp_path: Path) -> None:
    first, second = [await open_reader(tmux, tmp_path, name=name) for name in "ab"]
    await tmux.input.type(first.pane, "one", ticket=TypingTicket("cmd-1"))
    await tmux.input.type(second.pane, "two", ticket=TypingTicket("cmd-1"))
    assert (await first.read_new(), await second.read_new()) == (b"one", b"two")


@pytest.mark.parametrize("value", ["two words", "a,b}", "#(id)", "#{pane_id}", "é", "x" * 200 + "!"])
async def test_a_value_that_a_person_has_set_counts_as_no_ticket(
    tmux: Tmux, tmp_path: Path, value: str
) -> None:
    reader = await open_reader(tmux, tmp_path)
    variable = f"muxpilot_typed_{reader.pane.removeprefix('%')}"
    await tmux.connection.run(("set-environment", "-g", "-h", variable, value))
    with pytest.raises(TicketRefused) as refused:
        await tmux.input.send_bytes(reader.pane, b"early", ticket=TypingTicket("cmd-1.1", "other"))
    assert refused.value.last == await tmux.input.last_ticket(reader.pane) == ""
    await tmux.input.send_bytes(reader.pane, b"next", ticket=TypingTicket("cmd-1.2", ""))
    assert await reader.read_new() == b"next"
    assert await tmux.input.last_ticket(reader.pane) == "cmd-1.2"


async def test_a_dead_pane_is_told_before_the_ticket_is_used(tmux: Tmux) -> None:
    made = await tmux.sessions.create("x", program=PaneProgram("true", remain_on_exit=True))
    await tmux.sessions.create("y")
    stream = tmux.streams.find_stream(made.pane_id)
    assert stream is not None
    async for _ in stream.follow(0):
        pass
    with pytest.raises(PaneDead):
        await tmux.input.type(made.pane_id, "x", ticket=TypingTicket("cmd-1"))


def test_the_name_of_a_ticket_cannot_be_a_format() -> None:
    with pytest.raises(ValueError, match="word"):
        TypingTicket("#(id)").guard(PaneId("%0"))
