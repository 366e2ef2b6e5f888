"""What a thread waits for: the terminal, or something else."""

from __future__ import annotations

import os
import struct

from muxpilot.processes.facts import Blocked, Wait
from muxpilot.processes.proc import Kernel, Terminal, asked

_X86_64 = (
    "read=0 readv=19 poll=7 poll=271 select=23 select=270 epoll=232 epoll=281 epoll=441 restart=219 ring=426"
)
_ARM64 = "read=63 readv=65 poll=73 select=72 epoll=22 epoll=441 restart=128 ring=426"
_MACHINES = {"x86_64": _X86_64, "amd64": _X86_64, "aarch64": _ARM64, "arm64": _ARM64}


def calls_of(machine: str) -> dict[int, str]:
    """The system calls that matter, by number; none for a machine whose numbers are not known."""
    rows = (row.split("=") for row in _MACHINES.get(machine, "").split())
    return {int(number): name for name, number in rows}


_CALLS = calls_of(os.uname().machine)

_READS = ("n_tty_read", "tty_read", "wait_woken")
_POLLS = ("poll_schedule_timeout", "do_poll", "do_sys_poll", "do_select", "core_sys_select")
_EPOLLS = ("ep_poll", "do_epoll_wait", "do_epoll_pwait")

_INPUT = 0x1 | 0x40  # POLLIN and POLLRDNORM; the same bits in epoll
_MOST_POLLED = 256
_MOST_SELECTED = 1024

_ELSEWHERE = Blocked(Wait.ELSEWHERE)
_HIDDEN = Blocked(Wait.HIDDEN)


def blocked(kernel: Kernel, pid: int, thread: int, tty: Terminal) -> Blocked:
    """What one thread of a process waits for; `tty` is the terminal that matters."""
    try:
        call = kernel.call(pid, thread)
        if call is None:
            return _ELSEWHERE
        name = _name(call)
        if name == "restart" and kernel.kernel_function(pid, thread).startswith(_POLLS):
            name = "poll"  # stopped and gone on: the arguments are still those of the poll
        if name not in ("restart", "ring"):
            return _by_call(kernel, pid, name, call, tty)
    except (FileNotFoundError, ProcessLookupError):
        return _ELSEWHERE
    except (OSError, struct.error):
        pass
    return _by_name(kernel, pid, thread, tty)


def _name(call: list[int]) -> str:
    """A program of 32 bits, told by its stack's address, has other numbers."""
    is_small = call[-2] < 1 << 32
    return "restart" if is_small or not _CALLS else _CALLS.get(call[0], "other")


def _by_call(kernel: Kernel, pid: int, name: str, call: list[int], tty: Terminal) -> Blocked:
    if name in ("read", "readv"):
        if not kernel.is_terminal(pid, call[1], tty):
            return _ELSEWHERE
        return Blocked(Wait.READS, call[3] if name == "read" else None)
    watched = _WATCHED[name](kernel, pid, call) if name in _WATCHED else []
    is_polled = any(kernel.is_terminal(pid, descriptor, tty) for descriptor in watched)
    return Blocked(Wait.POLLS) if is_polled else _ELSEWHERE


def _polled(kernel: Kernel, pid: int, call: list[int]) -> list[int]:
    count = min(call[2], _MOST_POLLED)
    table = kernel.memory(pid, call[1], 8 * count) if count else b""
    return [row[0] for row in struct.iter_unpack("=ihh", table) if row[1] & _INPUT and row[0] >= 0]


def _selected(kernel: Kernel, pid: int, call: list[int]) -> list[int]:
    count = min(call[1], _MOST_SELECTED)
    if not call[2] or not count:
        return []
    # The kernel reads whole words of 8 bytes, little end first on both machines.
    bits = int.from_bytes(kernel.memory(pid, call[2], (count + 63) // 64 * 8), "little")
    return [descriptor for descriptor in range(count) if bits >> descriptor & 1]


def _epolled(kernel: Kernel, pid: int, call: list[int]) -> list[int]:
    return [descriptor for descriptor, events in kernel.polled(pid, call[1]) if events & _INPUT]


_WATCHED = {"poll": _polled, "select": _selected, "epoll": _epolled}


def _by_name(kernel: Kernel, pid: int, thread: int, tty: Terminal) -> Blocked:
    """By the name of the kernel's function: names change, so these are sets, and less certain."""
    try:
        name = kernel.kernel_function(pid, thread)
        if not name:
            stat = asked(kernel, thread)
            return _ELSEWHERE if stat is None or stat.state == "R" else _HIDDEN
        if name.startswith(_EPOLLS):
            return _by_epolls(kernel, pid, tty)
        if name.startswith(_POLLS):
            return Blocked(Wait.MAY_POLL, by_name=True)
        if name.startswith(_READS):
            return _by_files(kernel, pid, name, tty)
    except (FileNotFoundError, ProcessLookupError):
        return _ELSEWHERE
    except OSError:
        return _HIDDEN
    return _ELSEWHERE


def _by_epolls(kernel: Kernel, pid: int, tty: Terminal) -> Blocked:
    """Which of its epolls a thread waits in is hidden, but not what each of them watches."""
    for descriptor, link in kernel.files(pid).items():
        if link == "anon_inode:[eventpoll]":
            watched = _epolled(kernel, pid, [0, descriptor])
            if any(kernel.is_terminal(pid, one, tty) for one in watched):
                return Blocked(Wait.POLLS, by_name=True)
    return _ELSEWHERE


def _by_files(kernel: Kernel, pid: int, name: str, tty: Terminal) -> Blocked:
    """`wait_woken` is a terminal's read and a socket's too."""
    files = kernel.files(pid)
    devices = [descriptor for descriptor, link in files.items() if link.startswith("/dev/")]
    if not any(kernel.is_terminal(pid, descriptor, tty) for descriptor in devices):
        return _ELSEWHERE
    has_socket = any(link.startswith("socket:") for link in files.values())
    may_be_socket = has_socket and name.startswith("wait_woken")
    return Blocked(Wait.MAY_READ if may_be_socket else Wait.READS, by_name=True)
