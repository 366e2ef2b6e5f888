"""Clients of a real tmux: which people are attached, and which messages they see."""

from __future__ import annotations

from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import BadInput, NotFound
from tests.rigs.engine import SIZE, Raw, attach_person, has_run_nothing, wait_until
from tests.rigs.waiting import eventually

pytestmark = pytest.mark.both_tmux

SLEEP = PaneProgram("sleep 60")


async def test_people_are_listed_and_programs_are_not(tmux: Tmux, socket: str, binary: str) -> None:
    made = await tmux.sessions.create("dev", program=SLEEP)
    assert await tmux.clients.list() == []
    async with (
        Tmux(socket, binary=binary) as other,
        other.streams.open(made.pane_id),
        attach_person(binary, socket, "attach", "-t", "dev") as someone,
        attach_person(binary, socket, "attach", "-r", "-t", "dev") as reader,
    ):
        await other.sessions.list()
        rows = {row.tty: row for row in await tmux.clients.list()}
        assert set(rows) == {someone.tty, reader.tty}
        first = rows[someone.tty]
        assert (first.session_id, first.session_name, first.pid) == (
            *(made.session_id, "dev", someone.process.pid),
        )
        assert (first.height, first.width, first.is_readonly, rows[reader.tty].is_readonly) == (
            *SIZE,
            False,
            True,
        )
        assert (await tmux.sessions.get(made.session_id)).attached == 2


async def test_detach_sends_one_person_away(tmux: Tmux, socket: str, binary: str) -> None:
    await tmux.sessions.create("dev", program=SLEEP)
    async with (
        attach_person(binary, socket, "attach", "-t", "dev") as leaves,
        attach_person(binary, socket, "attach", "-t", "dev") as stays,
    ):
        await tmux.clients.detach(leaves.tty)
        await wait_until(lambda: leaves.process.poll() == 0)
        assert [row.tty for row in await tmux.clients.list()] == [stays.tty]
        for tty in (leaves.tty, "", "/dev/pts", "nope"):
            with pytest.raises(NotFound, match=r"Client .* not found"):
                await tmux.clients.detach(tty)
        assert stays.process.poll() is None


async def test_our_own_connection_cannot_be_detached(tmux: Tmux, raw: Raw) -> None:
    await tmux.sessions.create("dev", program=SLEEP)
    await tmux.sessions.list()
    ours = raw("list-clients", "-F", "#{client_name}")
    assert ours
    with pytest.raises(NotFound):
        await tmux.clients.detach(ours)


MESSAGES = [
    "plain",
    "#{session_name} #S",
    "#[fg=red]x ##[y",
    "%H:%M %% 100%",
    "-p -d 5",
    "a; b 'c\" \\ $HOME",
    "é世",
]


@pytest.mark.tmux_since(3, 3, "it cannot show a message to a chosen client")
async def test_a_message_is_shown_as_it_is(tmux: Tmux, socket: str, binary: str) -> None:
    await tmux.sessions.create("dev", program=SLEEP)
    async with attach_person(binary, socket, "attach", "-t", "dev") as someone:
        await someone.wait_for(b"[dev]")
        for message in MESSAGES:
            someone.seen.clear()
            assert await tmux.clients.show_message(message, duration_s=60) == 1
            await someone.wait_for(message.encode())


@pytest.mark.tmux_since(3, 3, "it cannot show a message to a chosen client")
async def test_a_message_runs_nothing_and_steers_nothing(
    tmux: Tmux, raw: Raw, socket: str, binary: str, folder: Path
) -> None:
    canary = folder / "canary"
    await tmux.sessions.create("dev", program=SLEEP)
    async with attach_person(binary, socket, "attach", "-t", "dev") as someone:
        shown = await tmux.clients.show_message(f"#(touch {canary})\x1b]2;evil\x07\nnext", duration_s=60)
        assert shown == 1
        await someone.wait_for(f"#(touch {canary}) ]2;evil next".encode())
        assert b"\x1b]2;evil" not in someone.seen
    assert has_run_nothing(raw, canary)


@pytest.mark.tmux_since(3, 3, "it cannot show a message to a chosen client")
async def test_a_message_is_counted_where_it_was_seen(tmux: Tmux, socket: str, binary: str) -> None:
    one = await tmux.sessions.create("one", program=SLEEP)
    two = await tmux.sessions.create("two", program=SLEEP)
    assert await tmux.clients.show_message("nobody") == 0
    async with attach_person(binary, socket, "attach", "-t", "one") as someone:
        assert await tmux.clients.show_message("here", session=one.session_id) == 1
        assert await tmux.clients.show_message("elsewhere", session=two.session_id) == 0
        async with attach_person(binary, socket, "attach", "-t", "two"):
            assert await tmux.clients.show_message("all of you", duration_s=60) == 2
        await someone.wait_for(b"all of you")
    assert b"elsewhere" not in someone.seen


@pytest.mark.tmux_since(3, 3, "it cannot show a message to a chosen client")
async def test_a_message_goes_away_after_its_time(tmux: Tmux, socket: str, binary: str) -> None:
    await tmux.sessions.create("dev", program=SLEEP)
    async with attach_person(binary, socket, "attach", "-t", "dev") as someone:
        await someone.wait_for(b"[dev]")
        assert await tmux.clients.show_message("short", duration_s=0.1) == 1
        await wait_until(lambda: b"[dev]" in someone.seen.partition(b"short")[2])


@pytest.mark.parametrize("duration_s", [0, -1, 3601, float("inf"), float("nan")])
async def test_absurd_durations_are_refused(tmux: Tmux, duration_s: float) -> None:
    with pytest.raises(BadInput, match="duration"):
        await tmux.clients.show_message("x", duration_s=duration_s)


async def test_a_person_who_leaves_is_no_longer_listed(tmux: Tmux, socket: str, binary: str) -> None:
    await tmux.sessions.create("dev", program=SLEEP)
    async with attach_person(binary, socket, "attach", "-t", "dev"):
        assert len(await tmux.clients.list()) == 1

    async def is_empty() -> bool:
        return await tmux.clients.list() == []

    await eventually(is_empty)
