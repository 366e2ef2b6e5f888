"""A private tmux for every test: its own socket, no configuration, an environment that is nobody's."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from muxpilot import Tmux
from tests.rigs.live import Live
from tests.rigs.tmux_trees import second_tmux
from tests.rigs.waiting import LIMIT_S, end_server

KEPT = ("PATH", "TERM", "LANG", "SYSTEMROOT")


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
def live(socket: str, binary: str) -> Iterator[Live]:
    """A tmux engine for tests that are not async themselves, such as hypothesis' examples."""
    with asyncio.Runner() as runner:
        live = Live(runner, Tmux(socket, binary=binary, config="/dev/null", timeout_s=10))
        yield live
        live.close()


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
