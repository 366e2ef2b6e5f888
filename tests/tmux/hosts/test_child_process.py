"""A child with a death signal ends with its parent, however that ends, with setpriv and without it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from muxpilot.tmux.hosts.child_process import die_with_parent
from tests.rigs.waiting import LIMIT_S, eventually, is_running

PARENT = """
import subprocess, sys
from muxpilot.tmux.hosts import child_process
if sys.argv[1] == "without setpriv":
    child_process._can_set_death_signal = lambda prefix: False
signal = child_process.die_with_parent()
assert bool(signal.argv_prefix) != bool(signal.preexec)
child = subprocess.Popen([*signal.argv_prefix, "sleep", "600"], preexec_fn=signal.preexec)
print(child.pid, flush=True)
child.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
@pytest.mark.parametrize("way", ["with setpriv", "without setpriv"])
async def test_a_child_ends_with_a_parent_that_is_killed(way: str) -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, way, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    async with asyncio.timeout(LIMIT_S):
        child = int(await parent.stdout.readline())

    async def is_itself() -> bool:
        return Path(f"/proc/{child}/comm").read_text() == "sleep\n"

    async def is_gone() -> bool:
        return not is_running(child)

    await eventually(is_itself)
    parent.kill()
    await parent.wait()
    await eventually(is_gone)


def test_a_program_that_cannot_do_it_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setpriv = tmp_path / "setpriv"
    setpriv.write_text("#!/bin/sh\nexit 1\n")
    setpriv.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    die_with_parent.cache_clear()
    try:
        assert die_with_parent().argv_prefix == ()
    finally:
        die_with_parent.cache_clear()
