"""Which process is which, and cheap questions about it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from muxpilot.processes.identity import (
    ProcessIdentity,
    has_ended,
    process_exists,
    shares_our_files,
    this_process,
)
from muxpilot.processes.proc import OpenStatFiles, ProcReader, find_stat, parse_stat
from muxpilot.processes.quick_checks import (
    activity_signature,
    foreground_group_of,
    foreground_ignores_interrupts,
    is_in_foreground,
    program_image,
    reaped_children,
)

NO_PROCESS = 2**22 + 1
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is of Linux")


def test_a_zombie_exists_and_has_ended() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process_exists(child.pid)
    assert has_ended(child.pid)
    child.wait()
    assert not process_exists(child.pid)
    assert has_ended(child.pid)


def test_a_process_is_itself_and_not_an_earlier_one_with_its_pid() -> None:
    us = this_process()
    assert us.is_running
    assert not ProcessIdentity(us.pid, us.start_time - 1).is_running
    assert not has_ended(us.pid)


def test_a_name_with_parentheses_and_spaces_is_parsed() -> None:
    numbers = " ".join(str(number) for number in range(1, 50))
    stat = parse_stat(7, f"7 (a) b (c)) S {numbers}".encode())
    assert (stat.pid, stat.name, stat.state) == (7, "a) b (c)", "S")
    assert (stat.parent, stat.group, stat.session, stat.tty, stat.foreground_group) == (1, 2, 3, 4, 5)
    assert (stat.reaped_faults, stat.threads, stat.start_time, stat.image) == (8, 17, 19, 25)


def test_our_own_stat_line_is_ours() -> None:
    stat = find_stat(ProcReader(), os.getpid())
    assert stat is not None
    assert (stat.parent, stat.group, stat.session) == (os.getppid(), os.getpgid(0), os.getsid(0))
    assert shares_our_files(os.getpid())


def test_a_process_that_is_gone_answers_no_question() -> None:
    assert find_stat(ProcReader(), NO_PROCESS) is None
    assert foreground_group_of(NO_PROCESS) is None
    assert is_in_foreground(NO_PROCESS, os.getpid()) is None
    assert program_image(NO_PROCESS) is None
    assert reaped_children(NO_PROCESS) is None
    assert activity_signature(NO_PROCESS) is None
    assert not foreground_ignores_interrupts(NO_PROCESS)
    assert not shares_our_files(NO_PROCESS)
    assert not shares_our_files(None)


def test_a_child_that_was_waited_for_is_counted() -> None:
    before = reaped_children(os.getpid())
    subprocess.run(["true"], check=True)
    after = reaped_children(os.getpid())
    assert before is not None
    assert after is not None
    assert after > before


def test_an_open_stat_file_is_read_again_until_its_process_has_ended() -> None:
    files, child = OpenStatFiles(), subprocess.Popen(["sleep", "60"])
    assert [files.stat(child.pid).pid for _ in range(2)] == [child.pid] * 2
    assert len(open_stat_files(child.pid)) == 1
    child.kill()
    child.wait()
    assert find_stat(files, child.pid) is None
    assert open_stat_files(child.pid) == []


def test_closed_stat_files_are_opened_again_by_the_next_read() -> None:
    files, pid = OpenStatFiles(), os.getpid()
    files.stat(pid)
    files.close()
    assert open_stat_files(pid) == []
    assert files.stat(pid).pid == pid
    files.close()


def open_stat_files(pid: int) -> list[str]:
    links = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return [link for link in links if link == f"/proc/{pid}/stat"]
