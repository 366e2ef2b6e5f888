"""Whatever happens to tmux, every call ends in time with its own error, and the next one works."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket as sockets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muxpilot import Tmux
from muxpilot.errors import ConnectionLost, MuxpilotError, NoServer, NotAnswering
from muxpilot.tmux import PaneProgram
from tests.rigs.waiting import end_server, eventually, is_running, send_signal, server_pid, within

Raw = Callable[..., str]
Harm = Callable[[Raw, int], object]

DEADLINE_S = 0.5
SOON_S = 5  # enough on a busy machine, and far below the ten seconds that the engine would wait


@contextmanager
def short_timeout(tmux: Tmux) -> Iterator[None]:
    """Let the engine wait at most half a second for each reply while the block runs."""
    before, tmux.connection.timeout_s = tmux.connection.timeout_s, DEADLINE_S
    try:
        yield
    finally:
        tmux.connection.timeout_s = before


@pytest.fixture
def server(raw: Raw) -> int:
    """The process id of a server that a person started."""
    return int(raw("new-session", "-d", "-s", "mine", "-P", "-F", "#{pid}"))


@contextmanager
def stop_process(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        send_signal(pid, signal.SIGCONT)


def our_clients(raw: Raw) -> list[int]:
    rows = raw("list-clients", "-F", "#{client_control_mode} #{client_pid}").split("\n")
    return [int(row.split()[1]) for row in rows if row.startswith("1 ")]


def hub_of(raw: Raw) -> str:
    return next(row for row in raw("list-sessions", "-F", "#{session_name}").split("\n") if "hub" in row)


def children() -> set[int]:
    return {int(pid) for pid in Path("/proc/thread-self/children").read_text().split()}


def kill_server(raw: Raw, pid: int) -> None:
    raw("kill-server")


def sigkill_server(raw: Raw, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def sigkill_our_client(raw: Raw, pid: int) -> None:
    for client in our_clients(raw):
        send_signal(client, signal.SIGKILL)  # tmux also lists clients that have just ended


def kill_hub(raw: Raw, pid: int) -> None:
    raw("kill-session", "-t", f"={hub_of(raw)}")


def detach_hub(raw: Raw, pid: int) -> None:
    """Detach our client, as a person's `attach -d` to the hub does."""
    raw("detach-client", "-s", f"={hub_of(raw)}")


DEATHS = pytest.mark.parametrize("harm", [kill_server, sigkill_server])
LOSSES = pytest.mark.parametrize("harm", [sigkill_our_client, kill_hub, detach_hub])


async def start_endless_call(tmux: Tmux) -> asyncio.Task[object]:
    """Start a call that tmux has begun and will not answer."""
    await tmux.sessions.list()
    call = asyncio.create_task(tmux.connection.run(("wait-for", "never")))
    await asyncio.sleep(0)
    return call


async def test_a_pending_call_learns_that_tmux_died_and_a_new_session_starts_another(
    tmux: Tmux, server: int
) -> None:
    call = await start_endless_call(tmux)
    with within(SOON_S):
        os.kill(server, signal.SIGKILL)
        with pytest.raises(ConnectionLost, match="check before you repeat it"):
            await call
    await eventually(lambda: asyncio.sleep(0, not is_running(server)))
    with pytest.raises(NoServer, match="Create a session"):
        await tmux.sessions.list()
    assert (await tmux.sessions.create("again")).created


@DEATHS
async def test_a_server_that_died_unnoticed_is_not_there_for_the_next_call(
    tmux: Tmux, raw: Raw, server: int, harm: Harm
) -> None:
    await tmux.sessions.list()
    harm(raw, server)
    with within(SOON_S), pytest.raises(NoServer):
        await tmux.sessions.list()
    assert (await tmux.sessions.create("again")).created
    assert [row.name for row in await tmux.sessions.list()] == ["again"]


@LOSSES
async def test_a_lost_connection_is_made_again_by_the_next_call(
    tmux: Tmux, raw: Raw, server: int, harm: Harm
) -> None:
    for _ in range(3):
        await tmux.sessions.list()
        harm(raw, server)
        with within(SOON_S):
            assert [row.name for row in await tmux.sessions.list()] == ["mine"]


@LOSSES
async def test_a_pending_call_is_lost_with_its_connection_and_not_repeated(
    tmux: Tmux, raw: Raw, server: int, harm: Harm
) -> None:
    call = await start_endless_call(tmux)
    harm(raw, server)
    with within(SOON_S), pytest.raises(ConnectionLost):
        await call
    assert [row.name for row in await tmux.sessions.list()] == ["mine"]


async def connected_client_pid(tmux: Tmux, raw: Raw) -> int:
    """Return the pid of our client, once tmux and we have both noticed the end of the previous one."""

    async def only_one() -> int | None:
        await tmux.sessions.list()
        running = [pid for pid in our_clients(raw) if is_running(pid)]
        return running[0] if len(running) == 1 else None

    client = await eventually(only_one)
    assert isinstance(client, int)
    return client


async def append_token(tmux: Tmux, token: str) -> bool:
    try:
        await tmux.connection.run(("set-buffer", "-a", "-b", "effects", token))
    except ConnectionLost:
        return False
    return True


async def test_nothing_happens_twice_when_the_connection_breaks_at_any_moment(
    tmux: Tmux, raw: Raw, server: int
) -> None:
    chance = random.Random(7)
    done = {"<first>": await append_token(tmux, "<first>")}  # tmux may see none of the others
    for turn in range(12):
        client = await connected_client_pid(tmux, raw)
        tokens = [f"<{turn}.{call}>" for call in range(40)]
        calls = [asyncio.create_task(append_token(tmux, token)) for token in tokens]
        await asyncio.sleep(chance.uniform(0, 0.004))
        send_signal(client, signal.SIGKILL)
        done |= dict(zip(tokens, await asyncio.gather(*calls), strict=True))
    effects = raw("show-buffer", "-b", "effects")
    assert {token: effects.count(token) for token, sure in done.items() if sure} == {
        token: 1 for token, sure in done.items() if sure
    }
    assert max(effects.count(token) for token in done) == 1


async def test_a_window_is_never_made_twice(tmux: Tmux, raw: Raw, server: int) -> None:
    chance = random.Random(11)
    [mine] = await tmux.sessions.list()
    for turn in range(6):
        client = await connected_client_pid(tmux, raw)
        call = asyncio.create_task(
            tmux.windows.create(mine.id, name=f"w{turn}", program=PaneProgram("exec sleep 60"))
        )
        await asyncio.sleep(chance.uniform(0, 0.006))
        send_signal(client, signal.SIGKILL)
        await asyncio.wait([call])
        assert call.exception() is None or isinstance(call.exception(), ConnectionLost)
    names = [row.name for row in await tmux.windows.list(mine.id)]
    assert all(names.count(f"w{turn}") <= 1 for turn in range(6))


async def test_a_stopped_tmux_is_said_not_to_answer_and_is_used_again_when_it_goes_on(
    tmux: Tmux, raw: Raw, server: int
) -> None:
    await tmux.sessions.list()
    with stop_process(server), short_timeout(tmux):
        for _ in range(2):
            with within(SOON_S), pytest.raises(NotAnswering, match="stopped or overloaded"):
                await tmux.sessions.list()
    with within(SOON_S):
        assert [row.name for row in await tmux.sessions.list()] == ["mine"]


async def test_a_tmux_that_was_stopped_before_we_came_is_used_when_it_goes_on(
    tmux: Tmux, raw: Raw, server: int
) -> None:
    with stop_process(server), short_timeout(tmux):
        for _ in range(2):
            with within(SOON_S), pytest.raises(NotAnswering):
                await tmux.sessions.list()
    assert [row.name for row in await tmux.sessions.list()] == ["mine"]
    await eventually(lambda: has_one_hub(raw))


async def has_one_hub(raw: Raw) -> bool:
    """Return whether the connections for callers that gave up have ended by themselves."""
    return raw("list-sessions").count("hub") == 1


async def test_a_call_may_have_a_shorter_deadline_than_the_others(tmux: Tmux, server: int) -> None:
    await tmux.sessions.list()
    with stop_process(server), within(SOON_S), pytest.raises(NotAnswering, match=r"0\.1 s"):
        await tmux.connection.run(("display-message", "-p", "x"), timeout_s=0.1)


async def test_leaving_a_stopped_tmux_is_quick_and_leaves_no_process(
    socket: str, binary: str, raw: Raw, server: int
) -> None:
    before = children()
    async with Tmux(socket, binary=binary) as engine:
        session = await engine.sessions.create("ours", program=PaneProgram("exec sleep 60"))
        for _ in range(4):
            await engine.windows.split(session.pane_id, program=PaneProgram("exec sleep 60"))
        [theirs] = await engine.panes.list((await engine.sessions.find("mine")).id)
        async with engine.streams.open(theirs.id):
            with stop_process(server):
                with within(SOON_S):
                    await engine.close()
                await eventually(lambda: asyncio.sleep(0, children() <= before))
    await eventually(lambda: has_no_clients(raw))


async def has_no_clients(raw: Raw) -> bool:
    return raw("list-clients") == ""


async def test_leaving_while_the_connection_is_being_made_leaves_no_process(
    socket: str, binary: str, server: int
) -> None:
    before = children()
    engine = Tmux(socket, binary=binary)
    with stop_process(server):
        call = asyncio.create_task(engine.sessions.list())
        await eventually(lambda: asyncio.sleep(0, children() - before))
        with within(SOON_S):
            await engine.close()
        await eventually(lambda: asyncio.sleep(0, children() <= before))
        await asyncio.wait([call], timeout=SOON_S)
    assert call.done()


async def test_clients_that_were_given_up_one_after_the_other_do_not_crash_a_stopped_tmux(
    socket: str, binary: str, raw: Raw, server: int
) -> None:
    """tmux 3.3a crashes if it finds a second control client in its queue when it continues."""
    with stop_process(server):
        for _ in range(5):
            await give_up_while_attaching(Tmux(socket, binary=binary))
    async with Tmux(socket, binary=binary) as engine:
        assert [row.name for row in await engine.sessions.list()] == ["mine"]
        assert (await engine.connection.server_process())[0] == server
    await eventually(lambda: has_no_hub(raw))


async def give_up_while_attaching(engine: Tmux) -> None:
    """Close a connection whose client process runs, and waits for a tmux that is stopped."""
    before = children()
    call = asyncio.create_task(engine.sessions.list())
    await eventually(lambda: asyncio.sleep(0, children() - before))
    await engine.close()
    await asyncio.wait([call], timeout=SOON_S)
    assert isinstance(call.exception(), ConnectionLost)


async def has_no_hub(raw: Raw) -> bool:
    return "hub" not in raw("list-sessions")


async def test_a_call_that_is_under_way_when_we_leave_opens_nothing_again(
    socket: str, binary: str, raw: Raw, server: int
) -> None:
    engine = Tmux(socket, binary=binary)
    blocker = await start_endless_call(engine)
    reading = asyncio.create_task(engine.sessions.list())
    await asyncio.sleep(0)
    await engine.close()
    for call in (blocker, reading, asyncio.create_task(engine.sessions.list())):
        with pytest.raises(ConnectionLost):
            await call
    await eventually(lambda: asyncio.sleep(0, "hub" not in raw("list-sessions")))


async def test_a_cancelled_call_shifts_nobody_elses_answer(tmux: Tmux, server: int) -> None:
    await tmux.sessions.list()
    chance = random.Random(3)
    calls = [asyncio.create_task(echo(tmux, number)) for number in range(200)]
    await asyncio.sleep(0)
    for call in chance.sample(calls, 100):
        call.cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(answer, asyncio.CancelledError) for answer in answers) == 100
    assert all(
        answer == number for number, answer in enumerate(answers) if not isinstance(answer, BaseException)
    )
    assert await echo(tmux, 4711) == 4711


async def echo(tmux: Tmux, number: int) -> int:
    return int((await tmux.connection.run(("display-message", "-p", str(number)))).first_line)


async def test_two_hundred_callers_get_their_own_answers(tmux: Tmux, server: int) -> None:
    assert await asyncio.gather(*(echo(tmux, number) for number in range(200))) == list(range(200))


async def test_callers_who_come_while_the_connection_is_being_made_share_it(
    tmux: Tmux, raw: Raw, server: int
) -> None:
    await asyncio.gather(*(tmux.sessions.list() for _ in range(20)))
    assert len(our_clients(raw)) == 1


async def test_a_socket_that_accepts_and_never_answers_is_said_not_to_answer(tmux: Tmux, socket: str) -> None:
    before = children()
    with sockets.socket(sockets.AF_UNIX) as listener:
        listener.bind(socket)
        listener.listen()
        for call in (tmux.sessions.list, tmux.sessions.create):
            with short_timeout(tmux), within(SOON_S), pytest.raises(NotAnswering):
                await call()
        await tmux.close()
    await eventually(lambda: asyncio.sleep(0, children() <= before))
    os.unlink(socket)


async def test_a_removed_socket_leaves_the_connection_at_work_and_is_named_to_newcomers(
    tmux: Tmux, raw: Raw, socket: str, binary: str, server: int
) -> None:
    await tmux.sessions.list()
    os.unlink(socket)
    assert [row.name for row in await tmux.sessions.list()] == ["mine"]
    async with Tmux(socket, binary=binary) as newcomer:
        with pytest.raises(NoServer, match=socket):
            await newcomer.sessions.list()
        os.kill(server, signal.SIGUSR1)  # tmux creates its socket again
        await eventually(lambda: asyncio.sleep(0, raw("list-sessions", check=False)))
        assert [row.name for row in await newcomer.sessions.list()] == ["mine"]


async def test_ids_of_a_server_that_is_gone_are_refused(tmux: Tmux, raw: Raw, server: int) -> None:
    old = await tmux.sessions.create("old")
    for _ in range(3):
        await tmux.windows.create(old.session_id)
    last = max((row.id for row in await tmux.panes.list()), key=lambda pane: int(pane[1:]))
    raw("kill-server")
    await eventually(lambda: asyncio.sleep(0, not is_running(server)))
    await tmux.sessions.create("new")
    with pytest.raises(MuxpilotError, match="not found"):
        await tmux.panes.get(last)


async def test_a_new_session_right_after_kill_server_starts_a_server(
    tmux: Tmux, raw: Raw, server: int, socket: str, binary: str
) -> None:
    for turn in range(5):
        await tmux.sessions.list()
        raw("kill-server")
        assert (await tmux.sessions.create(f"turn{turn}")).created
    assert server_pid(binary, socket) not in (None, server)


async def test_a_stopped_server_keeps_nobody_from_its_neighbour(
    tmux: Tmux, server: int, folder: Path, binary: str
) -> None:
    neighbour = str(folder / "other")
    try:
        async with Tmux(neighbour, binary=binary, config="/dev/null", timeout_s=10) as other:
            with stop_process(server):
                with short_timeout(tmux), pytest.raises(NotAnswering):
                    await tmux.sessions.list()
                await other.sessions.create("free")
                assert [row.name for row in await other.sessions.list()] == ["free"]
    finally:
        end_server(binary, neighbour)


async def test_who_waits_for_a_connection_that_is_closed_meanwhile_is_told_so(
    tmux: Tmux, server: int
) -> None:
    """They are not cancelled: a caller that ends at the same time would take that for its own end."""
    with stop_process(server):
        before = children()
        waiting = asyncio.create_task(tmux.sessions.list())

        async def is_opening() -> bool:
            return bool(children() - before)

        await eventually(is_opening)
        await tmux.connection.close()
        with pytest.raises(ConnectionLost, match="was closed"):
            await waiting
