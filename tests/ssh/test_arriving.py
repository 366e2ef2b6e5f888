"""What can happen between ssh and tmux: questions, banners, floods, other muxpilots that wait too."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope
from muxpilot.tmux.hosts.far import FarEndpoint
from tests.rigs.waiting import LIMIT_S, eventually, within
from tests.ssh.conftest import RemoteHost, run_muxpilot

pytestmark = pytest.mark.asyncio(loop_scope="module")

FLOOD = f"yes {'x' * 200} | head -n 50000"
REAL = 'exec /usr/bin/env PATH="$REAL_PATH" ssh "$@"'

Stub = Callable[[str], None]


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def keeper(far: RemoteHost) -> AsyncIterator[None]:
    yield


@pytest.fixture(autouse=True)
def thawed(host: RemoteHost) -> Iterator[None]:
    yield
    host.sshd.thaw()


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Replace ssh by a script."""

    def put(script: str) -> None:
        program = tmp_path / "bin" / "ssh"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("REAL_PATH", os.environ["PATH"])
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    return put


def nowhere(far: RemoteHost) -> Settings:
    """Settings for a host of this test only: all muxpilots that use the same server wait for each other."""
    return Settings(scope=Scope.ALL, ssh="nowhere.invalid", socket=far.socket)


async def test_one_that_asks_and_waits_is_told_with_its_question(
    far: RemoteHost, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child of ssh keeps its pipes open when ssh is killed, as a ProxyCommand may."""
    monkeypatch.setattr(FarEndpoint, "connect_timeout_s", 4.0)
    stub('printf "me@there\'s password: " >&2; sleep 600; true')
    async with run_muxpilot(far, nowhere(far)) as it, asyncio.timeout(LIMIT_S):
        answer = await it.fails("list-sessions")
    assert answer.startswith("nowhere.invalid requires interactive authentication: me@there's password;")


async def test_a_login_shell_that_prints_for_ever_is_left(far: RemoteHost, stub: Stub) -> None:
    stub("exec yes welcome")
    async with run_muxpilot(far, nowhere(far)) as it:
        assert "printed more than 1 MiB" in await it.fails("list-sessions")


async def test_a_banner_may_look_like_tmux(far: RemoteHost, stub: Stub) -> None:
    stub(f"echo Welcome; echo '%begin 1 2 3'; echo '%exit'; {REAL}")
    async with run_muxpilot(far, far.settings()) as it:
        names = [row["name"] for row in (await it.call("list-sessions"))["sessions"]]
    assert "keeper" in names


async def test_whoever_waits_for_a_turn_has_no_more_patience_than_others(
    far: RemoteHost, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FarEndpoint, "connect_timeout_s", 4.0)
    monkeypatch.setattr(FarEndpoint, "attach_lock_timeout_s", 3.9)
    stub("exec sleep 600")
    async with run_muxpilot(far, nowhere(far)) as one, run_muxpilot(far, nowhere(far)) as other:
        with within(7.5):  # it would be 3.9 + 4 if each time limit began by itself
            texts = await asyncio.gather(one.fails("list-sessions"), other.fails("list-sessions"))
    assert all("ssh did not connect to nowhere.invalid within 4 s" in text for text in texts)


async def test_a_host_that_is_cut_off_keeps_nothing_of_ours(far: RemoteHost) -> None:
    """tmux would wait for ever for a reader of the output that it had when sshd died."""
    before = _clients(far)
    async with run_muxpilot(far, far.settings()) as it:
        pane = await far.shared()
        await it.run(pane, f"{FLOOD}; echo flo''oded", timeoutSeconds=0.2)
        ours = _clients(far) - before
        assert ours
        far.sshd.freeze()

        async def has_more_to_tell() -> bool:
            """Return whether tmux has more output than fits the connection: it read all of it, or stopped."""
            far.raw("clear-history", "-t", pane)
            is_held_up = far.raw("display-message", "-p", "-t", pane, "#{history_size}") == "0"
            return is_held_up or "flooded" in far.raw("capture-pane", "-p", "-t", pane)

        await eventually(has_more_to_tell)
    far.sshd.break_connections()
    far.sshd.thaw()
    far.raw("send-keys", "-t", pane, "C-c")

    async def are_gone() -> bool:
        return not ours & _clients(far)

    await eventually(are_gone)


def _clients(far: RemoteHost) -> set[str]:
    return set(far.raw("list-clients", "-F", "#{client_pid}").split())
