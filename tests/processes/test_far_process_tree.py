"""The script that ends process trees on other hosts: in each shell, and where programs are missing there."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from muxpilot.processes.far_process_tree import FarPanes, parse_ended
from muxpilot.processes.proc import PROC, find_stat
from tests.rigs.stubborn import KINDS
from tests.rigs.waiting import LIMIT_S
from tests.rigs.witnesses import left_of, stubborn_command, wait_for_pids

SHELLS = {"dash": ["dash"], "bash": ["bash"], "busybox": ["busybox", "sh"]}
PANES = FarPanes((), (), 1, "/nowhere")


@contextmanager
def start_stubborn(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process of each kind outside of tmux, below one that is yielded."""
    command = ["sh", "-c", stubborn_command(folder / "pids")]
    with subprocess.Popen(command, start_new_session=True) as process:
        yield process
        process.kill()


def run_script(argv: list[str], script: str, path: str | None = None) -> list[str]:
    done = subprocess.run(
        [*argv, "-c", script],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
        env={"PATH": path} if path else None,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def identify(*pids: int) -> list[str]:
    stats = [find_stat(PROC, pid) for pid in pids]
    return [f"{stat.pid}:{stat.start_time}" for stat in stats if stat is not None]


@pytest.mark.parametrize("shell", SHELLS)
async def test_each_shell_ends_all_kinds_of_processes_and_tells_them(shell: str, tmp_path: Path) -> None:
    if shutil.which(SHELLS[shell][0]) is None:
        pytest.skip(f"no {shell} here")
    with start_stubborn(tmp_path) as started:
        pids = await wait_for_pids(tmp_path / "pids", KINDS)
        script = PANES.end_script(identify(started.pid, *pids.values()))
        lines = await asyncio.to_thread(run_script, SHELLS[shell], script)
        assert left_of(pids) == []
    told = {row.pid: row for row in parse_ended(lines)}
    assert told[pids["all+setsid+twice"]].signal == "SIGKILL"
    assert told[pids["plain+setsid"]].signal == "SIGTERM"
    assert "stubborn.py" in told[pids["all"]].command
    assert lines[-1] == "end"


async def test_a_host_without_grep_and_tr_ends_them_too(tmp_path: Path) -> None:
    """The command lines are not told then."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("cat", "sleep"):
        (programs / name).symlink_to(shutil.which(name) or name)
    sh = [shutil.which("dash") or "sh"]
    with start_stubborn(tmp_path) as started:
        pids = await wait_for_pids(tmp_path / "pids", KINDS)
        script = f"exec 2>/dev/null\n{PANES.end_script(identify(started.pid, *pids.values()))}"
        lines = await asyncio.to_thread(run_script, sh, script, str(programs))
        assert left_of(pids) == []
    assert {row.pid: row.signal for row in parse_ended(lines)}[pids["all"]] == "SIGKILL"


async def test_a_process_that_has_got_the_number_of_another_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        pid, _, start = identify(process.pid)[0].partition(":")
        other = f"{pid}:{int(start) + 1}"
        lines = await asyncio.to_thread(run_script, ["sh"], PANES.end_script([other]))
        assert lines == ["end"]
        assert process.poll() is None
        process.kill()


async def test_a_process_with_brackets_in_its_name_and_lines_in_its_command_is_told(tmp_path: Path) -> None:
    program = tmp_path / "a) S (b"
    program.symlink_to(shutil.which("bash") or "bash")
    argv = [program.name, "-c", "echo ready; read\n#/proc/1/cmdline:other"]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, executable=program, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        lines = await asyncio.to_thread(run_script, ["sh"], PANES.end_script(identify(process.pid)))
        process.kill()
    assert lines == [f"TERM {process.pid} a) S (b -c echo ready; read", "end"]
    assert process.returncode == -signal.SIGTERM


async def test_each_environment_is_read_once_and_none_of_another_server(tmp_path: Path) -> None:
    """Each one that is read costs a process, which takes long to start on a busy host."""
    programs, log = tmp_path / "bin", tmp_path / "log"
    programs.mkdir()
    counting = f'#!/bin/sh\n[ "$2" = " " ] || echo read >>{log}\nexec {shutil.which("tr")} "$@"\n'
    (programs / "tr").write_text(counting)
    (programs / "tr").chmod(0o755)
    panes = FarPanes(("%1",), (), 1, f"{tmp_path}/socket")
    with ExitStack() as stack:
        own, other = (
            [stack.enter_context(_start_marked(f"{tmp_path}/{name},1,0")) for _ in range(3)]
            for name in ("socket", "other")
        )
        script = panes.kill_script("true", ["kill-pane"])
        lines = await asyncio.to_thread(run_script, ["sh"], script, f"{programs}:{os.environ['PATH']}")
        assert {row.pid for row in parse_ended(lines)} == {process.pid for process in own}
        assert [process.poll() for process in other] == [None] * 3
    assert log.read_text().split() == ["read"] * 3


@contextmanager
def _start_marked(tmux: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that looks as if it ran in pane %1 of a tmux server."""
    environment = {"TMUX": tmux, "TMUX_PANE": "%1"}
    with subprocess.Popen(["sleep", "600"], env=environment, start_new_session=True) as process:
        yield process
        process.kill()
