"""A child on a leash ends with its parent, however that ends, with and without the program that helps."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from muxpilot.tmux.hosts.child_process import leash
from tests.rigs.waiting import LIMIT_S, eventually, is_running

PARENT = """
import subprocess, sys
from muxpilot.tmux import leash
if sys.argv[1] == "alone":
    leash._works = lambda words: False
held = leash.leash()
assert bool(held.words) != bool(held.before)
child = subprocess.Popen([*held.words, "sleep", "600"], preexec_fn=held.before)
print(child.pid, flush=True)
child.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
@pytest.mark.parametrize("way", ["helped", "alone"])
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
    leash.cache_clear()
    try:
        assert leash().words == ()
    finally:
        leash.cache_clear()
