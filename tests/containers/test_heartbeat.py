"""A connection into a container ends there also if the engine keeps its pipe open, as podman 4.3.1 may."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from muxpilot.timing import HeartbeatTiming
from muxpilot.tmux.hosts.exec_command import ExecRoute
from muxpilot.tmux.hosts.far_script import end_without_heartbeat
from tests.containers.conftest import muxpilot_in
from tests.containers.test_smallest import WAYS, sessions
from tests.rigs.namespaces import Container, run_container
from tests.rigs.waiting import LIMIT_S, eventually, is_running, send_signal

pytestmark = pytest.mark.timeout(240)

# It runs a command, and asks for its result after each line that it reads.
PROGRAM = """
import asyncio, json, sys
from muxpilot.app import build
from muxpilot.timing import HeartbeatTiming
from muxpilot.tmux.hosts.exec_command import ExecRoute
from tests.containers.conftest import far_settings

async def main(engine, interval_s, limit_s, line):
    ExecRoute.heartbeat = HeartbeatTiming(float(interval_s), float(limit_s))
    app = build(far_settings(engine))
    arguments = {"paneId": "work:0.0", "command": line, "timeoutSeconds": 1}
    answer = await app.dispatch.call("execute-command", arguments)
    print(json.dumps(answer.structured), flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        wait = {"commandId": answer.structured["commandId"], "waitMs": 60_000}
        told = await app.dispatch.call("get-command-result", wait)
        print(json.dumps(told.structured), flush=True)

asyncio.run(main(*sys.argv[1:]))
"""
# An engine whose second process keeps stdin of the program inside open, and reads its stdout, whatever
# becomes of the first one and of the pipes to it.
ENGINE = """
import os, select, subprocess, sys

if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
os.setsid()
with open({pids!r}, "a") as pids:
    pids.write(f"{{os.getpid()}}\\n")
program = subprocess.Popen([*{enter}, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
output = program.stdout.fileno()
to = {{0: program.stdin.fileno(), output: 1}}
while output in to:
    for source in select.select(list(to), [], [])[0]:
        data = os.read(source, 1 << 16)
        if not data:
            del to[source]
        try:
            while data:
                data = data[os.write(to[source], data) :]
        except OSError:
            pass
sys.exit(program.wait())
"""
# The interval and the limit. Heartbeats get through in this time also on a busy machine.
TIMING = ("0.2", "5")


@pytest.fixture(params=WAYS)
def smallest(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Container]:
    monkeypatch.setenv("HOME", "/root")
    with run_container(**WAYS[request.param]) as container:
        yield container


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Path]:
    """Return the path of an engine to be written. Its second processes end with the test."""
    yield tmp_path / "engine"
    pids = tmp_path / "pids"
    for pid in map(int, pids.read_text().split() if pids.exists() else ()):
        send_signal(pid, signal.SIGKILL)


def keep_open(engine: Path, container: Container) -> str:
    """Write an engine that keeps pipes open. Return the command that uses it."""
    engine.write_text(ENGINE.format(pids=str(engine.with_name("pids")), enter=container.words))
    return f"{sys.executable} -I {engine}"


@asynccontextmanager
async def running(
    command: str, line: str, timing: Sequence[str] = TIMING
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a muxpilot with short times, which has asked for a command."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, command, *timing, line),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            send_signal(process.pid, signal.SIGCONT)
            process.kill()
        await process.wait()


async def read_answer(process: asyncio.subprocess.Process) -> dict[str, Any]:
    assert process.stdout is not None
    async with asyncio.timeout(LIMIT_S * 3):
        answer: dict[str, Any] = json.loads(await process.stdout.readline())
    return answer


def clients(container: Container) -> list[str]:
    return container.tmux("list-clients", "-F", "#{client_session}").splitlines()


async def has_no_client(container: Container) -> bool:
    return await sessions(container) == ["work"] and not clients(container)


async def test_a_killed_muxpilot_leaves_nothing_where_its_pipes_stay_open(
    smallest: Container, engine: Path
) -> None:
    async with muxpilot_in(smallest) as it:
        await it.pane("work")
    async with running(keep_open(engine, smallest), "cat") as process:
        assert (await read_answer(process))["status"] == "running"
        assert "work" in clients(smallest), "the pane is followed"
        process.send_signal(signal.SIGKILL)
        await process.wait()

        async def is_alone() -> bool:
            """Return whether only the container, tmux, the shell of the pane and cat are left."""
            left = [pid for pid in smallest.processes() if is_running(pid)]
            return await has_no_client(smallest) and len(left) == 4

        await eventually(is_alone, limit_s=60)


async def test_the_hub_ends_with_a_client_that_is_killed_when_no_program_reads_its_errors(
    smallest: Container, engine: Path
) -> None:
    """The shell that ran the client prints that it was killed, and must still end the hub."""
    async with muxpilot_in(smallest) as it:
        await it.pane("work")
    async with running(keep_open(engine, smallest), "cat", ("60", "600")) as process:
        await read_answer(process)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        for pid in smallest.tmux("list-clients", "-F", "#{client_pid}").split():
            smallest.tmux("run-shell", f"kill -KILL {pid}")
        await eventually(lambda: has_no_client(smallest))


async def test_a_muxpilot_that_was_stopped_goes_on_with_nothing_lost(engine: Path) -> None:
    with run_container() as container:
        async with muxpilot_in(container) as it:
            await it.pane("work")
        gate = container.root / "tmp/gate"
        os.mkfifo(gate)
        line = "read -r _ </tmp/gate; seq 1 200; (exit 9)"
        async with running(keep_open(engine, container), line) as process:
            assert (await read_answer(process))["status"] == "running"
            process.send_signal(signal.SIGSTOP)
            await eventually(lambda: has_no_client(container), limit_s=60)
            gate.write_text("go\n")
            process.send_signal(signal.SIGCONT)
            assert process.stdin is not None
            process.stdin.write(b"\n")
            told = await read_answer(process)
    output = "".join(f"{number}\n" for number in range(1, 201))
    assert (told["exitCode"], told["outputTruncated"], told["output"]) == (9, False, output), told


async def test_heartbeats_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExecRoute, "heartbeat", HeartbeatTiming(interval_s=0.1))
    numbers: list[int] = []

    def note(hub: str, number: int, clients: Iterable[int]) -> str:
        numbers.append(number)
        return end_without_heartbeat(hub, number, clients)

    monkeypatch.setattr("muxpilot.tmux.connection.heartbeat.end_without_heartbeat", note)

    async def has_beaten() -> bool:
        return len(numbers) > 10

    with run_container() as container:
        async with muxpilot_in(container) as it:
            await it.pane("work")
            await eventually(has_beaten)
            [hub] = [name for name in await sessions(container) if name != "work"]
            shown = container.tmux("show-environment", "-t", hub, "MUXPILOT_HEARTBEAT")
    assert shown.startswith("MUXPILOT_HEARTBEAT=")
    assert 1 < int(shown.partition("=")[2]) <= len(numbers)
    assert numbers == list(range(1, len(numbers) + 1))


ENDING = [
    "detach-client -t client-3",
    "detach-client -s =hub-2",
    "list-clients -F #{client_pid} #{client_control_mode} #{client_session}",
]


@pytest.mark.parametrize(
    ("last", "hubs", "asked"),
    [
        ("7", "=hub-2", ["has-session -t =hub-2", *ENDING]),
        ("7", "none", ["has-session -t =hub-2", "has-session -t hub-", *ENDING]),
        ("7", "hub-", ["has-session -t =hub-2", "has-session -t hub-"]),
        ("8", "=hub-2", []),
        ("lost", "=hub-2", []),
    ],
    ids=["silent hub", "no hub", "successor", "later heartbeat", "lost hub"],
)
def test_a_timer_ends_what_has_had_no_later_heartbeat_and_no_successor(
    tmp_path: Path, last: str, hubs: str, asked: list[str]
) -> None:
    tmux = tmp_path / "tmux"
    tmux.write_text(f'#!/bin/sh\necho "$@" >>"$0.log"\necho shown to people; [ "$3" = {hubs} ]\n')
    tmux.chmod(0o755)
    argv = ["/bin/sh", "-c", end_without_heartbeat("hub-2", 7, [3])]
    variables = {"MUXPILOT_TMUX": str(tmux), "MUXPILOT_HEARTBEAT": last, "PATH": os.environ["PATH"]}
    done = subprocess.run(argv, capture_output=True, env=variables, timeout=LIMIT_S, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
    log = tmp_path / "tmux.log"
    assert (log.read_text().splitlines() if log.exists() else []) == asked
