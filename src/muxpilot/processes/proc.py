"""The files of Linux under /proc. A method raises OSError if the process is gone or not ours to see."""

from __future__ import annotations

import os

from muxpilot.records import record

_DEV_TTY = os.makedev(5, 0)  # /dev/tty: the controlling terminal of whichever process opened it
_PTS_MAJOR = 136
_STAT_BYTES = 4096


@record
class ProcessStat:
    """A process as its stat line describes it.

    `tty` is the number of its terminal, and `foreground_group` the group in the foreground there.
    `image` is the address of its stack: a fork has that of its parent, another program another one.
    `reaped_faults` grows with every child that the process has waited for (cminflt).
    `start_time` is in clock ticks since the machine started.
    """

    pid: int
    name: str
    state: str
    parent: int = 0
    group: int = 0
    session: int = 0
    tty: int = 0
    foreground_group: int = 0
    reaped_faults: int = 0
    threads: int = 1
    start_time: int = 0
    image: int = 0

    @property
    def is_gone(self) -> bool:
        return self.state in "ZX"

    @property
    def is_stopped(self) -> bool:
        return self.state in "Tt"


# Where the numbers of a ProcessStat are in the stat line, counted from the state, in the order of its fields.
_STAT_COLUMNS = (1, 2, 3, 4, 5, 8, 17, 19, 25)


def parse_stat(pid: int, line: bytes) -> ProcessStat:
    """Return the stat line of a process as a record. Its name may hold spaces and parentheses."""
    head, _, tail = line.rpartition(b")")
    columns = tail.split()
    name = head.partition(b"(")[2].decode(errors="surrogateescape")
    return ProcessStat(pid, name, columns[0].decode(), *[int(columns[at]) for at in _STAT_COLUMNS])


@record
class TerminalDevice:
    """A terminal by its device number. Each devpts file system counts from 0, so its number is needed too."""

    device: int
    filesystem: int | None

    @classmethod
    def find(cls, path: str, number: int) -> TerminalDevice:
        """Return the terminal at a path or, if there is none, the one with a stat line's number."""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return cls(os.makedev(*_device_numbers(number)), None)
        return cls(status.st_rdev, status.st_dev)


@record
class UnixSocket:
    """A row of /proc/net/unix: the flags and the inode of a socket, as written there, and its path."""

    flags: str
    inode: str
    path: str


class ProcReader:
    """Reads /proc: each method reads one file once, and none waits. It has no state."""

    def stat(self, pid: int) -> ProcessStat:
        return parse_stat(pid, _read_line(f"/proc/{pid}/stat"))

    def argv(self, pid: int) -> list[str]:
        words = _read(f"/proc/{pid}/cmdline").decode(errors="surrogateescape")
        return words.removesuffix("\0").split("\0") if words else []

    def exe(self, pid: int) -> str:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")

    def environment(self, pid: int) -> bytes:
        return _read(f"/proc/{pid}/environ")

    def ignored_signals(self, pid: int) -> int:
        """Return the signals that a process ignores, as a mask whose bit 0 is signal 1."""
        for line in _read(f"/proc/{pid}/status").split(b"\n"):
            if line.startswith(b"SigIgn:"):
                return int(line.split()[1], 16)
        return 0

    def threads(self, pid: int) -> list[int]:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]

    def children(self, pid: int) -> list[int]:
        """Return the children that any thread of a process started."""
        found: list[int] = []
        for thread in self.threads(pid):
            found += self.children_of_thread(pid, thread)
        return found

    def children_of_thread(self, pid: int, thread: int) -> list[int]:
        return [int(child) for child in _read(f"/proc/{pid}/task/{thread}/children").split()]

    def run_counters(self, pid: int) -> bytes:
        """Return counters that change whenever the process has run."""
        return _read(f"/proc/{pid}/schedstat")

    def all_pids(self) -> list[int]:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]

    def system_call(self, pid: int, thread: int) -> list[int] | None:
        """Return number and arguments of the system call that a thread is blocked in; None while it runs."""
        words = _read(f"/proc/{pid}/task/{thread}/syscall").split()
        return [int(word, 0) for word in words] if len(words) > 1 else None

    def kernel_function(self, pid: int, thread: int) -> str:
        """Return where in the kernel a thread sleeps (wchan); empty if it runs, or if that is hidden."""
        name = _read(f"/proc/{pid}/task/{thread}/wchan").decode(errors="replace").strip()
        return "" if name == "0" else name

    def memory(self, pid: int, address: int, size: int) -> bytes:
        """Return a part of a process's memory."""
        descriptor = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(descriptor, size, address)
        except (OverflowError, ValueError) as error:
            raise OSError("not an address") from error
        finally:
            os.close(descriptor)

    def open_files(self, pid: int) -> dict[int, str]:
        """Return what each descriptor of a process links to."""
        folder = f"/proc/{pid}/fd"
        return {int(name): os.readlink(f"{folder}/{name}") for name in os.listdir(folder)}

    def unix_sockets(self, pid: int) -> list[UnixSocket]:
        """Return the unix sockets with a path that the network namespace of a process has."""
        rows = (line.split(None, 7) for line in _read(f"/proc/{pid}/net/unix").splitlines()[1:])
        return [
            UnixSocket(row[3].decode(), row[6].decode(), os.fsdecode(row[7])) for row in rows if len(row) == 8
        ]

    def is_terminal(self, pid: int, descriptor: int, terminal: TerminalDevice) -> bool:
        """Return whether a descriptor is this terminal, by its device.

        Its name would not do: a container may call the same terminal /dev/console.
        """
        try:
            status = os.stat(f"/proc/{pid}/fd/{descriptor}")
        except FileNotFoundError:
            return False
        if status.st_rdev == _DEV_TTY:
            return True
        is_same = status.st_rdev == terminal.device
        return is_same and terminal.filesystem in (None, status.st_dev)

    def epoll_targets(self, pid: int, descriptor: int) -> list[tuple[int, int]]:
        """Return the descriptors that an epoll waits for, each with its events."""
        rows = _read(f"/proc/{pid}/fdinfo/{descriptor}").split(b"\n")
        words = [row.split() for row in rows if row.startswith(b"tfd:")]
        return [(int(row[1]), int(row[3], 16)) for row in words]


class OpenStatFiles(ProcReader):
    """Reads the stat lines of the same few processes often: from an open file it takes a third of the time.

    An open file belongs to its process, not to the number. When the process has ended, the file cannot be
    read, also if a new process has that number.
    """

    def __init__(self) -> None:
        self._files: dict[int, int] = {}

    def stat(self, pid: int) -> ProcessStat:
        """Return what the kernel tells of a process; OSError if it has ended."""
        if pid not in self._files:
            self._files[pid] = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return parse_stat(pid, os.pread(self._files[pid], _STAT_BYTES, 0))
        except OSError:
            os.close(self._files.pop(pid))
            raise

    def close(self) -> None:
        """Close the files. A later read opens them again."""
        while self._files:
            os.close(self._files.popitem()[1])


# The only instance that the program uses. Tests pass others, which hide or invent files.
PROC = ProcReader()


def find_stat(proc: ProcReader, pid: int) -> ProcessStat | None:
    """Return the stat line of a process, or None if there is no such process."""
    try:
        return proc.stat(pid)
    except (OSError, ValueError, IndexError):
        return None


def has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


def shows_system_calls() -> bool:
    return os.path.exists("/proc/self/syscall")


def terminal_path(number: int) -> str | None:
    """Return the path of a pseudo-terminal from its number in a stat line."""
    major, minor = _device_numbers(number)
    return f"/dev/pts/{minor}" if major == _PTS_MAJOR else None


def _device_numbers(number: int) -> tuple[int, int]:
    return (number >> 8) & 0xFFF, (number & 0xFF) | ((number >> 12) & 0xFFF00)


def _read_line(path: str) -> bytes:
    """Read a file of one line, which the kernel gives whole to the first read."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _STAT_BYTES)
    finally:
        os.close(descriptor)


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, 65536):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)
