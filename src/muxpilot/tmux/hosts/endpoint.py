"""Where a tmux server is, and how to start a tmux process for it. `Endpoint` is a server on this host."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import shutil
import stat
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar

from muxpilot import file_lock
from muxpilot.config import environment
from muxpilot.errors import (
    BadInput,
    MuxpilotError,
    NoServer,
    NotAnswering,
    NoTmux,
    Unavailable,
    UnsafeSocket,
)
from muxpilot.processes.identity import process_exists
from muxpilot.records import record
from muxpilot.timing import HeartbeatTiming
from muxpilot.tmux import quote
from muxpilot.tmux.connection import failures
from muxpilot.tmux.hosts.child_process import NO_DEATH_SIGNAL, DeathSignal
from muxpilot.tmux.hosts.login_shell import shell_override
from muxpilot.tmux.hosts.own_server import find_own_socket
from muxpilot.trace import Trace, area

# The longest address of a unix socket: 107 bytes on Linux, four bytes less on macOS.
_LONGEST_SOCKET_PATH = 103

# Version 0.1 uses this name too. Two versions must exclude each other: tmux 3.3a can crash otherwise.
LOCK_SUFFIX = ".turn"
_ATTACH_LOCK_POLL_S = 0.005

Command = tuple[quote.Text, ...]


@record
class Endpoint:
    """A tmux server on this host, known by its socket. `binary` and `config` are for tests."""

    is_remote: ClassVar[bool] = False
    # How long connecting, and waiting for the attach lock, may take. None means the caller's own deadline.
    connect_timeout_s: ClassVar[float | None] = None
    attach_lock_timeout_s: ClassVar[float | None] = None
    # None where the end of our process is always noticed by the server.
    heartbeat: ClassVar[HeartbeatTiming | None] = None

    socket: str
    binary: str = "tmux"
    config: str | None = None
    # Patterns of the variables that a server which we start passes to its panes. None means all.
    passed_variables: tuple[str, ...] | None = None
    # The line after which output comes from tmux. Empty where all output comes from tmux.
    banner_end: bytes = b""

    @property
    def trace(self) -> Trace:
        return area("tmux").child(server=self.socket)

    def argv(self, *flags: str, commands: Sequence[Command]) -> list[bytes]:
        """Return the command line of a tmux process that runs these commands.

        Outside UTF-8 locales tmux prints `_` for tabs and all non-ASCII text unless `-u` is given.
        """
        config = ("-f", self.config) if self.config is not None else ()
        start = (self.find_program(), "-u", "-S", self.socket, *config, *flags)
        return [os.fsencode(word) for word in start] + join_commands(commands)

    def argv_for_person(self, *words: str) -> list[str]:
        """Return the words with which a person runs a command of tmux on this server, from a shell here."""
        return ["tmux", "-S", self.socket, *words]

    def stdin_preamble(self, *flags: str, commands: Sequence[Command]) -> bytes:
        """Return what the process must read from stdin before anything else."""
        return b""

    async def start_process(
        self,
        *flags: str,
        commands: Sequence[Command],
        stdin: int,
        stdout: int,
        death_signal: DeathSignal = NO_DEATH_SIGNAL,
    ) -> asyncio.subprocess.Process:
        """Start a tmux process in a session of its own, so that our terminal's signals do not reach it."""
        argv = self.argv(*flags, commands=commands)
        try:
            process = await asyncio.create_subprocess_exec(
                *death_signal.argv_prefix,
                *argv,
                stdin=stdin,
                stdout=stdout,
                stderr=asyncio.subprocess.PIPE,
                env=self.environment(),
                start_new_session=True,
                preexec_fn=death_signal.preexec,
            )
        except OSError as error:
            raise self.start_error(os.fsdecode(argv[0]), error) from None
        self.trace.debug("process started", program=os.path.basename(os.fsdecode(argv[0])), pid=process.pid)
        return process

    @asynccontextmanager
    async def attach_lock(
        self, timeout_s: float | None = None, *, is_shared: bool = False
    ) -> AsyncIterator[None]:
        """Hold the lock between processes for attaching or detaching a control client.

        tmux 3.3a crashes, with all its sessions, when it has a notification to send, such as a new session,
        while a control client is still attaching. Two clients that attach at once are enough, one time in
        four. Commands that only cause notifications share the lock. After the timeout the block runs
        without the lock.
        """
        path = self._attach_lock_file()
        limit_s = self.attach_lock_timeout_s if timeout_s is None else timeout_s
        lock = await self._acquire_attach_lock(path, limit_s, is_shared=is_shared)
        try:
            yield
        finally:
            if lock is not None:
                file_lock.release(path, lock)
                self.trace.debug("attach lock released", shared=is_shared)

    async def _acquire_attach_lock(self, path: str, limit_s: float | None, *, is_shared: bool) -> int | None:
        started = time.perf_counter()
        lock: int | None = None
        trace, has_waited = self.trace, False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while (lock := file_lock.acquire(path, is_shared=is_shared)) is None:
                    if trace.is_debug and not has_waited:
                        trace.debug("waiting for attach lock", shared=is_shared, held_by=_lock_holder(path))
                    has_waited = True
                    await asyncio.sleep(_ATTACH_LOCK_POLL_S)  # no process wakes us
        waited_ms = f"{(time.perf_counter() - started) * 1000:.1f}"
        if lock is None:
            # Whoever passes a timeout of their own, such as a muxpilot that detaches, expects to do without.
            log = trace.warning if limit_s == self.attach_lock_timeout_s else trace.debug
            log("attach lock timed out: going on without it", shared=is_shared, ms=waited_ms)
            return None
        if not is_shared:
            file_lock.write_owner(lock)
        trace.debug("attach lock taken", shared=is_shared, ms=waited_ms)
        return lock

    def _attach_lock_file(self) -> str:
        digest = blake2b(os.fsencode(os.path.realpath(self.socket)), digest_size=8).hexdigest()
        return str(muxpilot_folder() / f"{digest}{LOCK_SUFFIX}")

    def unfinished_attach_file(self) -> str:
        """Return the file that is there while a control client attaches, or after it was given up."""
        return self._attach_lock_file().removesuffix(LOCK_SUFFIX) + ".attaching"

    def find_program(self) -> str:
        """Return the path of the program to start, or raise NoTmux."""
        found = shutil.which(self.binary)
        if found is None:
            raise NoTmux(f"There is no program {self.binary!r} on this machine.")
        return found

    def start_error(self, program: str, error: OSError) -> MuxpilotError:
        """Return the error for a program that cannot be started."""
        what = f"{program} cannot be started: {error.strerror}."
        if error.errno == errno.E2BIG:
            return BadInput(what, "Give a shorter command.")
        is_no_program = error.errno in (errno.ENOENT, errno.EACCES, errno.ENOEXEC)
        return NoTmux(what) if is_no_program else Unavailable(what)

    def environment(self) -> Mapping[str, str]:
        """Return the variables for a tmux process, without those that mean that it runs inside tmux."""
        variables = environment.variables_outside_tmux()
        if self.passed_variables is not None:
            variables = {name: value for name, value in variables.items() if self._is_passed(name)}
        return variables | shell_override()

    def _is_passed(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.passed_variables or ())

    def check_socket(self) -> None:
        """Raise NoServer if the socket does not exist, UnsafeSocket if another user may have created it."""
        try:
            found = os.stat(self.socket)
        except FileNotFoundError:
            message = f"error connecting to {self.socket} (No such file or directory)"
            raise NoServer(f"No tmux server is running on {self.socket}.", tmux_message=message) from None
        except OSError as error:
            raise UnsafeSocket(
                f"{self.socket} cannot be reached: {error.strerror}.", "Use a socket of your own."
            ) from None
        if not stat.S_ISSOCK(found.st_mode):
            # tmux would delete the file and create its socket there.
            raise UnsafeSocket(f"{self.socket} is not a socket.", "Give the path of a tmux socket.")
        if found.st_uid != os.geteuid() and not self._is_trusted_owner(found.st_uid):
            raise UnsafeSocket(
                f"The socket {self.socket} belongs to another user.", "Use a socket of your own."
            )

    def strip_banner(self, out: bytes, err: bytes) -> tuple[bytes, bytes]:
        """Return the part of a process's stdout and stderr that comes from tmux."""
        return out, err

    def attach_error(self, message: str) -> MuxpilotError:
        """Return the error for what was printed when tmux did not let us attach."""
        return failures.error_from_message(message or "lost server")

    def timeout_error(self, message: str) -> MuxpilotError:
        """Return the error for a client that did not attach in time; `message` is its stderr so far."""
        return NotAnswering("tmux did not answer.")

    def _is_trusted_owner(self, owner: int) -> bool:
        """Return whether root may use the socket of this user: only the user can have created it there."""
        folder = os.stat(Path(self.socket).parent)
        return (
            os.geteuid() == 0
            and folder.st_uid == owner
            and not folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        )


def _lock_holder(path: str) -> str:
    """Return the process id of the muxpilot that holds the attach lock alone, for the log."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return "unknown"
    try:
        pid = file_lock.read_owner(file)
    finally:
        os.close(file)
    return str(pid) if pid is not None and process_exists(pid) else "unknown"


def join_commands(commands: Sequence[Command]) -> list[bytes]:
    """Return the arguments of a tmux process that runs these commands one after the other."""
    words: list[bytes] = []
    for command in commands:
        words += [b";"] if words else []
        words += [quote.quote_for_argv(word) for word in command]
    return words


def validate_socket_path(socket: str) -> str:
    """Return the absolute path of a socket, or raise BadInput."""
    path = os.path.abspath(os.path.expanduser(socket))
    if not socket or "\0" in socket or re.search(r"[\r\n]", socket):
        raise BadInput(f"{socket!r} is not a socket path.", "Give the path of a tmux socket.")
    if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
        raise BadInput(
            f"The socket path is longer than {_LONGEST_SOCKET_PATH} bytes.", "Use a shorter folder."
        )
    return path


def default_socket() -> str:
    """Return the socket of the server that we run in, else tmux's default. Create its folder as tmux does."""
    inside = find_own_socket()
    if inside:
        return inside
    chosen = environment.variable("TMUX_TMPDIR")
    base = os.path.realpath(chosen if os.path.isdir(chosen) else "/tmp")
    folder = ensure_private_folder(Path(base) / f"tmux-{os.getuid()}", closed_to=stat.S_IRWXO)
    return str(folder / "default")


def socket_for_path(path: str) -> str:
    """Return the socket for work on a folder or file: the same for every agent of this user."""
    if not path.strip() or "\0" in path:
        raise BadInput("The path is empty.", "Give a folder or a file.")
    real = os.path.realpath(os.path.expanduser(path))
    digest = blake2b(os.fsencode(real), digest_size=8).hexdigest()
    return str(muxpilot_folder() / digest)


def muxpilot_folder() -> Path:
    """Return the folder that all muxpilots of this user share. TMPDIR may differ between them."""
    return ensure_private_folder(Path("/tmp") / f"muxpilot-{os.getuid()}")


def ensure_private_folder(path: Path, *, closed_to: int = stat.S_IRWXG | stat.S_IRWXO) -> Path:
    """Create a folder that only this user can enter. Raise UnsafeSocket for one that others can."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & closed_to:
        raise UnsafeSocket(
            f"{path} is not a folder that only you can enter.",
            "Remove it, or set its owner and mode to 0700.",
        )
    return path
