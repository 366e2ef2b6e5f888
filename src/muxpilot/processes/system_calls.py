"""What a thread is blocked in: a read or a poll of the terminal, or something else."""

from __future__ import annotations

import os
import struct

from muxpilot.processes.facts import BlockedOn, WaitKind
from muxpilot.processes.proc import ProcReader, TerminalDevice, find_stat

# The numbers of the system calls that matter. `restart` continues another call after a stop.
_X86_64 = (
    "read=0 readv=19 poll=7 poll=271 select=23 select=270 epoll=232 epoll=281 epoll=441 restart=219 ring=426"
)
_ARM64 = "read=63 readv=65 poll=73 select=72 epoll=22 epoll=441 restart=128 ring=426"
_MACHINES = {"x86_64": _X86_64, "amd64": _X86_64, "aarch64": _ARM64, "arm64": _ARM64}


def system_call_names(machine: str) -> dict[int, str]:
    """Return the names of system calls by number; none for a machine whose numbers are not known."""
    rows = (row.split("=") for row in _MACHINES.get(machine, "").split())
    return {int(number): name for name, number in rows}


_NAMES = system_call_names(os.uname().machine)

# Beginnings of the names of kernel functions (wchan); they differ between versions of Linux.
_READS = ("n_tty_read", "tty_read", "wait_woken")
_POLLS = ("poll_schedule_timeout", "do_poll", "do_sys_poll", "do_select", "core_sys_select")
_EPOLLS = ("ep_poll", "do_epoll_wait", "do_epoll_pwait")

_INPUT = 0x1 | 0x40  # POLLIN and POLLRDNORM; the same bits in epoll
_MOST_POLLED = 256
_MOST_SELECTED = 1024

_ELSEWHERE = BlockedOn(WaitKind.ELSEWHERE)
_HIDDEN = BlockedOn(WaitKind.HIDDEN)


def find_wait(proc: ProcReader, pid: int, thread: int, tty: TerminalDevice) -> BlockedOn:
    """Return what one thread of a process waits for; `tty` is the terminal that matters."""
    try:
        call = proc.system_call(pid, thread)
        if call is None:
            return _ELSEWHERE
        name = _name_of(call)
        if name == "restart" and proc.kernel_function(pid, thread).startswith(_POLLS):
            name = "poll"  # stopped and continued: the arguments are still those of the poll
        if name not in ("restart", "ring"):
            return _wait_by_call(proc, pid, name, call, tty)
    except (FileNotFoundError, ProcessLookupError):
        return _ELSEWHERE
    except (OSError, struct.error):
        pass  # system calls or memory are hidden from us
    return _wait_by_wchan(proc, pid, thread, tty)


def _name_of(call: list[int]) -> str:
    """Return the name of a system call.

    A 32-bit program has other numbers. It is recognized by the address of its stack.
    """
    is_32_bit = call[-2] < 1 << 32
    return "restart" if is_32_bit or not _NAMES else _NAMES.get(call[0], "other")


def _wait_by_call(proc: ProcReader, pid: int, name: str, call: list[int], tty: TerminalDevice) -> BlockedOn:
    if name in ("read", "readv"):
        if not proc.is_terminal(pid, call[1], tty):
            return _ELSEWHERE
        return BlockedOn(WaitKind.READS, call[3] if name == "read" else None)
    descriptors = _DESCRIPTORS[name](proc, pid, call) if name in _DESCRIPTORS else []
    is_polled = any(proc.is_terminal(pid, descriptor, tty) for descriptor in descriptors)
    return BlockedOn(WaitKind.POLLS) if is_polled else _ELSEWHERE


def _poll_descriptors(proc: ProcReader, pid: int, call: list[int]) -> list[int]:
    count = min(call[2], _MOST_POLLED)
    table = proc.memory(pid, call[1], 8 * count) if count else b""
    return [row[0] for row in struct.iter_unpack("=ihh", table) if row[1] & _INPUT and row[0] >= 0]


def _select_descriptors(proc: ProcReader, pid: int, call: list[int]) -> list[int]:
    count = min(call[1], _MOST_SELECTED)
    if not call[2] or not count:
        return []
    # The kernel reads whole words of 8 bytes, little end first on both machines.
    bits = int.from_bytes(proc.memory(pid, call[2], (count + 63) // 64 * 8), "little")
    return [descriptor for descriptor in range(count) if bits >> descriptor & 1]


def _epoll_descriptors(proc: ProcReader, pid: int, call: list[int]) -> list[int]:
    return [descriptor for descriptor, events in proc.epoll_targets(pid, call[1]) if events & _INPUT]


# For each call, the descriptors that it waits to read from.
_DESCRIPTORS = {"poll": _poll_descriptors, "select": _select_descriptors, "epoll": _epoll_descriptors}


def _wait_by_wchan(proc: ProcReader, pid: int, thread: int, tty: TerminalDevice) -> BlockedOn:
    """Return what a thread waits for by the name of the kernel function that it sleeps in."""
    try:
        name = proc.kernel_function(pid, thread)
        if not name:
            stat = find_stat(proc, thread)
            return _ELSEWHERE if stat is None or stat.state == "R" else _HIDDEN
        if name.startswith(_EPOLLS):
            return _wait_by_epolls(proc, pid, tty)
        if name.startswith(_POLLS):
            return BlockedOn(WaitKind.MAY_POLL, by_wchan=True)
        if name.startswith(_READS):
            return _wait_by_files(proc, pid, name, tty)
    except (FileNotFoundError, ProcessLookupError):
        return _ELSEWHERE
    except OSError:
        return _HIDDEN
    return _ELSEWHERE


def _wait_by_epolls(proc: ProcReader, pid: int, tty: TerminalDevice) -> BlockedOn:
    """Check every epoll of a process: which of them a thread waits in is hidden, their targets are not."""
    for descriptor, link in proc.open_files(pid).items():
        if link == "anon_inode:[eventpoll]":
            targets = _epoll_descriptors(proc, pid, [0, descriptor])
            if any(proc.is_terminal(pid, target, tty) for target in targets):
                return BlockedOn(WaitKind.POLLS, by_wchan=True)
    return _ELSEWHERE


def _wait_by_files(proc: ProcReader, pid: int, name: str, tty: TerminalDevice) -> BlockedOn:
    """Check the open files of a process: `wait_woken` is a read of a terminal or of a socket."""
    files = proc.open_files(pid)
    devices = [descriptor for descriptor, link in files.items() if link.startswith("/dev/")]
    if not any(proc.is_terminal(pid, descriptor, tty) for descriptor in devices):
        return _ELSEWHERE
    has_socket = any(link.startswith("socket:") for link in files.values())
    may_be_socket = has_socket and name.startswith("wait_woken")
    return BlockedOn(WaitKind.MAY_READ if may_be_socket else WaitKind.READS, by_wchan=True)
