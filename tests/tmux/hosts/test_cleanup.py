"""Nothing of ours outlives muxpilot, whatever the person's configuration says."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from muxpilot import Tmux
from muxpilot.tmux import PaneProgram
from muxpilot.tmux.hosts.temporary_folder import TemporaryFolder
from tests.rigs.engine import attach_person
from tests.rigs.waiting import eventually, is_running, send_signal, within

Raw = Callable[..., str]

USER = """
import asyncio, sys
from muxpilot import Tmux

async def main():
    async with Tmux(sys.argv[1], binary=sys.argv[2]) as tmux:
        print("connecting", flush=True)
        await tmux.sessions.list()
        print("connected", flush=True)
        while True:
            {then}

asyncio.run(main())
"""


@pytest.fixture(autouse=True)
def temp(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own, so that all that is left in it is ours."""
    path = folder / "t"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path


@pytest.fixture
def server(raw: Raw) -> int:
    return int(raw("new-session", "-d", "-s", "mine", "-P", "-F", "#{pid}"))


@contextmanager
def run_another_process(
    socket: str, binary: str, until: str, *, then: str = "await asyncio.sleep(60)"
) -> Iterator[subprocess.Popen[str]]:
    """Run a program that uses the engine. Yield once it has printed `until`; it repeats `then` for ever."""
    argv = [sys.executable, "-c", USER.format(then=then), socket, binary]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            while (line := process.stdout.readline()) and line.strip() != until:
                pass
            assert line, "it ended early"
            yield process
        finally:
            process.kill()


def hub_panes(raw: Raw) -> list[int]:
    rows = raw("list-panes", "-a", "-F", "#{pane_pid} #{session_name}").split("\n")
    return [int(row.split()[0]) for row in rows if "hub" in row]


async def has_only_the_persons_session(raw: Raw) -> bool:
    return raw("list-sessions", "-F", "#{session_name}") == "mine" and raw("list-clients") == ""


async def test_a_killed_process_takes_its_hub_along_and_the_next_one_sweeps_its_folder(
    raw: Raw, server: int, socket: str, binary: str, temp: Path
) -> None:
    with run_another_process(socket, binary, "connected") as process:
        [program] = hub_panes(raw)
        [abandoned] = temp.iterdir()
        process.kill()
        await eventually(lambda: has_only_the_persons_session(raw))
        await eventually(lambda: asyncio.sleep(0, not is_running(program)))
    async with Tmux(socket, binary=binary) as tmux:
        await tmux.sessions.list()
        assert not abandoned.exists()
    assert list(temp.iterdir()) == []


async def test_a_process_killed_before_tmux_let_it_in_leaves_no_hub(
    raw: Raw, server: int, socket: str, binary: str
) -> None:
    os.kill(server, signal.SIGSTOP)
    try:
        with run_another_process(socket, binary, "connecting") as process:
            client = await eventually(lambda: find_client_of(process.pid))
            process.kill()
    finally:
        send_signal(server, signal.SIGCONT)
    await eventually(lambda: has_only_the_persons_session(raw))
    assert isinstance(client, int)
    if sys.platform == "linux":
        await eventually(lambda: asyncio.sleep(0, not is_running(client)))
    else:
        send_signal(client, signal.SIGKILL)  # tmux would keep the client, and not exit


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
async def test_a_process_killed_amid_answers_leaves_no_client_and_tmux_goes_on(
    raw: Raw, server: int, socket: str, binary: str
) -> None:
    """tmux 3.3a kept such a client for good, and crashed when it had a notification of panes for it."""
    clients: list[int] = []
    for _ in range(5):
        with run_another_process(socket, binary, "connected", then="await tmux.panes.list()") as process:
            clients += filter(None, [await find_client_of(process.pid)])
            process.kill()
            raw("new-window", "-d", "-t", "mine", "true")
    assert len(clients) == 5

    async def is_tidy() -> bool:
        return not any(map(is_running, clients)) and await has_only_the_persons_session(raw)

    await eventually(is_tidy)
    raw("new-session", "-d", "-s", "later", "cat")
    assert int(raw("display-message", "-p", "#{pid}")) == server


async def find_client_of(pid: int) -> int | None:
    """Return the pid of the tmux client that a process has started, or None."""
    for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        with suppress(OSError):  # another child, which has ended meanwhile
            if Path(f"/proc/{child}/comm").read_text().startswith("tmux"):
                return child
    return None


def test_a_folder_in_use_is_not_swept_and_an_abandoned_one_is(temp: Path) -> None:
    used = TemporaryFolder()
    abandoned = temp / f"muxpilot-{os.getuid()}-gone"
    abandoned.mkdir()
    (abandoned / "lock").touch()
    stranger = temp / f"muxpilot-{os.getuid()}-unlocked"
    stranger.mkdir()
    other = TemporaryFolder()
    assert sorted(temp.iterdir()) == sorted([used.path, other.path, stranger])
    assert used.path.stat().st_mode & 0o777 == 0o700
    used.close()
    other.close()


CONFIGURATIONS = {
    "destroy-unattached": "set-option -g destroy-unattached on",
    "detach-on-destroy": "set-option -g detach-on-destroy off",
    "exit-unattached": "set-option -g exit-unattached on",
    "indexes": "set-option -g base-index 5 ; set-option -g pane-base-index 7",
    "session-created": "set-hook -g session-created 'display-message -p noise'",
    "options by hook": "set-hook -g session-created 'set-option destroy-unattached on'",
    "client-attached": "set-hook -g client-attached 'display-message -p noise ; list-sessions'",
    "failing hook": "set-hook -g session-created 'kill-pane -t nowhere'",
    "after-new-session": "set-hook -g after-new-session 'rename-window hooked'",
    "remain": "set-option -g remain-on-exit on",
}


@pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
async def test_nobodys_configuration_breaks_the_hub(
    folder: Path, socket: str, binary: str, raw: Raw, configuration: str
) -> None:
    config = folder / "tmux.conf"
    config.write_text(configuration)
    async with attach_person(binary, socket, "-f", str(config), "new-session", "-s", "mine"):
        async with Tmux(socket, binary=binary) as tmux:
            for _ in range(3):
                assert [(row.name, row.attached) for row in await tmux.sessions.list()] == [("mine", 1)]
            hubs = raw("list-sessions", "-F", "#{session_name} #{destroy-unattached}").split("\n")
            assert [row.split()[1] for row in hubs if "hub" in row] in (["0"], ["off"])
        await eventually(lambda: asyncio.sleep(0, raw("list-sessions", "-F", "#S") == "mine"))
        raw("kill-server")


async def test_a_hook_that_throws_us_out_leaves_a_way(tmux: Tmux, raw: Raw, server: int) -> None:
    raw("set-hook", "-g", "client-attached", "detach-client")
    assert [row.name for row in await tmux.sessions.list()] == ["mine"]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def children() -> set[str]:
    return set(Path("/proc/thread-self/children").read_text().split())


def memory_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


async def use_engine(socket: str, binary: str, *, busy: bool) -> None:
    async with Tmux(socket, binary=binary) as tmux:
        await tmux.sessions.list()
        if not busy:
            return
        made = await tmux.sessions.create("ours", program=PaneProgram("exec sleep 60"))
        [theirs] = await tmux.panes.list((await tmux.sessions.find("mine")).id)
        async with tmux.streams.open(theirs.id):
            await tmux.sessions.kill(made.session_id)


@pytest.mark.timeout(180)
async def test_a_hundred_lives_leave_nothing_but_one_journal(
    socket: str, binary: str, raw: Raw, server: int, temp: Path
) -> None:
    for _ in range(3):
        await use_engine(socket, binary, busy=True)
    before = descriptors(), count_own_threads(), children()
    memory = memory_kib(server)
    for turn in range(100):
        await use_engine(socket, binary, busy=turn % 5 == 0)
    await eventually(lambda: has_only_the_persons_session(raw))
    await eventually(lambda: asyncio.sleep(0, count_own_threads() <= before[1]))
    await eventually(lambda: asyncio.sleep(0, children() <= before[2]))
    assert descriptors() <= before[0]
    assert list(temp.iterdir()) == []
    assert is_running(server)
    assert memory_kib(server) < memory + 4096
    # The person's shell, and the one program that writes its journal.
    await eventually(lambda: asyncio.sleep(0, count_programs_below(server) == 2))


def count_own_threads() -> int:
    """Count threads, without those of the event loop's pool. It is bounded, and keeps the threads it has."""
    return sum(not thread.name.startswith("asyncio_") for thread in threading.enumerate())


def count_programs_below(pid: int) -> int:
    """Count the programs that tmux runs."""
    return sum(map(is_running, map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())))


async def test_leaving_takes_pipes_into_memory_out_of_panes_that_live_on(
    socket: str, binary: str, raw: Raw, temp: Path
) -> None:
    async with Tmux(socket, binary=binary, config="/dev/null", keeps_journals=False) as tmux:
        await tmux.sessions.create("mine", program=PaneProgram("exec sleep 60"))
        assert raw("list-panes", "-F", "#{pane_pipe}", "-t", "mine") == "1"
    assert raw("list-panes", "-F", "#{pane_pipe} #{pane_dead}", "-t", "mine") == "0 0"
    assert list(temp.iterdir()) == []


async def test_many_who_come_and_go_at_once_do_tmux_no_harm(
    socket: str, binary: str, raw: Raw, server: int
) -> None:
    """tmux 3.3a crashes when two control clients attach at the same time."""
    for _ in range(5):
        await asyncio.gather(*(use_engine(socket, binary, busy=False) for _ in range(6)))
        assert is_running(server)
    await eventually(lambda: has_only_the_persons_session(raw))


async def test_a_paste_that_is_given_up_leaves_no_buffer(tmux: Tmux) -> None:
    await tmux.sessions.create("mine")
    [pane] = await tmux.panes.list()
    for number in range(20):
        paste = asyncio.create_task(tmux.input.paste(pane.id, "x" * 50_000))
        await asyncio.sleep(number / 10_000)
        paste.cancel()
        with within(5):
            await asyncio.wait([paste])
    await eventually(lambda: _has_no_buffer(tmux))


async def _has_no_buffer(tmux: Tmux) -> bool:
    return not await tmux.buffers.list()


async def test_a_pane_that_is_given_up_while_it_is_made_leaves_no_file(tmux: Tmux) -> None:
    session = await tmux.sessions.create("mine")
    for number in range(20):
        making = asyncio.create_task(
            tmux.windows.create(session.session_id, program=PaneProgram("yes | head -c 1000000"))
        )
        await asyncio.sleep(number / 5_000)
        making.cancel()
        await asyncio.wait([making])
    assert [path for path in tmux.connection.temporary_folder.path.rglob("*") if path.is_file()] == [
        tmux.connection.temporary_folder.path / "lock"
    ]
