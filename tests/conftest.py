"""A private tmux for every test: its own socket, no configuration, an environment that is nobody's."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import settings

from muxpilot import Tmux
from tests.tmux_trees import second_tmux

KEPT = ("PATH", "TERM", "LANG", "SYSTEMROOT")
LIMIT_S = 20.0


def pytest_configure(config: pytest.Config) -> None:
    second_tmux()  # built here, outside any test's time limit
    settings.register_profile("untimed", deadline=None)  # how long an example takes is the machine's affair
    settings.load_profile("untimed")
    for number in (signal.SIGINT, signal.SIGQUIT):  # ignored in what a script starts in the background
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


@pytest.fixture(autouse=True)
def scrubbed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the person who runs the tests reaches a pane."""
    for name in set(os.environ) - set(KEPT):
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SHELL", "/bin/sh")
    monkeypatch.setenv("PS1", "$ ")
    monkeypatch.setenv("LANG", "C.UTF-8")


@pytest.fixture(params=["system", "second"])
def binary(request: pytest.FixtureRequest) -> str:
    """tmux as the machine has it, and a newer one where it can be had."""
    if request.param == "system":
        return shutil.which("tmux") or "tmux"
    found = second_tmux()
    if isinstance(found, str):
        pytest.skip(found)
    return str(found)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short folder: a socket's path ends at about 100 bytes."""
    path = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def socket(folder: Path, binary: str) -> Iterator[str]:
    path = str(folder / "s")
    yield path
    end_server(binary, path)


@pytest.fixture
async def tmux(socket: str, binary: str) -> AsyncIterator[Tmux]:
    async with Tmux(socket, binary=binary, config="/dev/null", timeout_s=10) as engine:
        yield engine


@pytest.fixture
def raw(socket: str, binary: str) -> Callable[..., str]:
    """What a person would type: `raw("list-sessions", "-F", "#{session_name}")`."""

    def run(*args: str, check: bool = True) -> str:
        argv = [binary, "-u", "-S", socket, "-f", "/dev/null", *args]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if check and done.returncode:
            raise AssertionError(f"{args}: {done.stderr}")
        return done.stdout.rstrip("\n")

    return run


def server_pid(binary: str, socket: str) -> int | None:
    argv = [binary, "-u", "-N", "-S", socket, "display-message", "-p", "#{pid}"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=5, check=False)
    except subprocess.TimeoutExpired:
        return None
    return int(done.stdout) if done.stdout.strip().isdigit() else None


def end_server(binary: str, socket: str) -> None:
    """kill-server returns before the server is dead: wait for it."""
    pid = server_pid(binary, socket)
    if pid is None:
        return
    with suppress(subprocess.TimeoutExpired):
        subprocess.run([binary, "-S", socket, "kill-server"], capture_output=True, timeout=5, check=False)
    deadline = time.monotonic() + 5
    while is_running(pid):
        if time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def is_running(pid: int) -> bool:
    """A zombie that nobody has collected does not run any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def patient(limit_s: float) -> float:
    """A limit for a machine that has the time, and longer where others keep it busy."""
    return limit_s * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@contextmanager
def within(limit_s: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < patient(limit_s)


async def eventually(check: Callable[[], Awaitable[object]], *, limit_s: float = LIMIT_S) -> object:
    """Wait until a condition holds, and answer what it answered."""
    deadline = time.monotonic() + limit_s
    while True:
        value = await check()
        if value:
            return value
        assert time.monotonic() < deadline, f"still {value!r} after {limit_s:g} s"
        await asyncio.sleep(0.005)
