"""What Linux tells of processes under /proc; a question that is refused or comes too late raises OSError."""

from __future__ import annotations

import os

from muxpilot.records import record

_OF_TTY = os.makedev(5, 0)  # /dev/tty: whatever terminal the process that opened it has
_PSEUDO = 136


@record
class Stat:
    """A process as its stat line tells it; `image` is the same for a fork and the process it came from."""

    pid: int
    name: str
    state: str
    parent: int
    group: int
    tty: int
    front: int
    threads: int
    image: int

    @property
    def is_gone(self) -> bool:
        return self.state in "ZX"

    @property
    def is_stopped(self) -> bool:
        return self.state in "Tt"


@record
class Terminal:
    """A terminal by its device; each devpts file system counts from 0, so its own number belongs to it."""

    device: int
    filesystem: int | None

    @classmethod
    def of(cls, path: str, number: int) -> Terminal:
        """By its path, or where that is not there, by the number that a stat line has for it."""
        try:
            there = os.stat(path)
        except (OSError, ValueError):
            return cls(os.makedev(*_device(number)), None)
        return cls(there.st_rdev, there.st_dev)


class Kernel:
    """Each method asks one file once; nothing here waits."""

    def stat(self, pid: int) -> Stat:
        head, _, tail = _read(f"/proc/{pid}/stat").rpartition(b")")
        rest = tail.split()
        numbers = [int(rest[at]) for at in (1, 2, 4, 5, 17, 25)]
        name = head.partition(b"(")[2].decode(errors="surrogateescape")
        return Stat(pid, name, rest[0].decode(), *numbers)

    def argv(self, pid: int) -> list[str]:
        words = _read(f"/proc/{pid}/cmdline").decode(errors="surrogateescape")
        return words.removesuffix("\0").split("\0") if words else []

    def exe(self, pid: int) -> str:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")

    def threads(self, pid: int) -> list[int]:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]

    def children(self, pid: int) -> list[int]:
        """The children that any of its threads started."""
        found: list[int] = []
        for thread in self.threads(pid):
            found += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
        return found

    def processes(self) -> list[int]:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]

    def call(self, pid: int, thread: int) -> list[int] | None:
        """The number and arguments of the system call that a thread is blocked in; None while it runs."""
        words = _read(f"/proc/{pid}/task/{thread}/syscall").split()
        return [int(word, 0) for word in words] if len(words) > 1 else None

    def kernel_function(self, pid: int, thread: int) -> str:
        """Where in the kernel a thread sleeps; empty if it runs, or if that is not told."""
        name = _read(f"/proc/{pid}/task/{thread}/wchan").decode(errors="replace").strip()
        return "" if name == "0" else name

    def memory(self, pid: int, address: int, size: int) -> bytes:
        handle = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(handle, size, address)
        except (OverflowError, ValueError) as error:
            raise OSError("not an address") from error
        finally:
            os.close(handle)

    def files(self, pid: int) -> dict[int, str]:
        """What each of its descriptors is a link to."""
        folder = f"/proc/{pid}/fd"
        return {int(name): os.readlink(f"{folder}/{name}") for name in os.listdir(folder)}

    def is_terminal(self, pid: int, descriptor: int, terminal: Terminal) -> bool:
        """By device, not by name: a container may call the same terminal /dev/console."""
        try:
            there = os.stat(f"/proc/{pid}/fd/{descriptor}")
        except FileNotFoundError:
            return False
        if there.st_rdev == _OF_TTY:
            return True
        is_same = there.st_rdev == terminal.device
        return is_same and terminal.filesystem in (None, there.st_dev)

    def polled(self, pid: int, descriptor: int) -> list[tuple[int, int]]:
        """The descriptors that an epoll waits for, each with its events."""
        rows = _read(f"/proc/{pid}/fdinfo/{descriptor}").split(b"\n")
        words = [row.split() for row in rows if row.startswith(b"tfd:")]
        return [(int(row[1]), int(row[3], 16)) for row in words]


def asked(kernel: Kernel, pid: int) -> Stat | None:
    """None if there is no such process any more."""
    try:
        return kernel.stat(pid)
    except (OSError, ValueError, IndexError):
        return None


def terminal_path(number: int) -> str | None:
    """The path of a terminal from its number in a stat line."""
    major, minor = _device(number)
    return f"/dev/pts/{minor}" if major == _PSEUDO else None


def _device(number: int) -> tuple[int, int]:
    return (number >> 8) & 0xFFF, (number & 0xFF) | ((number >> 12) & 0xFFF00)


def _read(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(handle, 65536):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(handle)
