"""Where a tmux server is, and how a tmux process is started for it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar

from muxpilot.errors import (
    BadInput,
    MuxpilotError,
    NoServer,
    NotAnswering,
    NoTmux,
    Unavailable,
    UnsafeSocket,
)
from muxpilot.records import record
from muxpilot.tmux import quote
from muxpilot.tmux.connection import failures
from muxpilot.tmux.hosts.child_process import LOOSE, Leash
from muxpilot.tmux.hosts.login_shell import open_shell

# A unix socket's address ends here on Linux (108 with the NUL) and four bytes earlier on macOS.
_LONGEST_SOCKET = 103

_TURN_PAUSE_S = 0.005

Command = tuple[quote.Text, ...]


@record
class Endpoint:
    """A local tmux server by its socket; `binary` and `config` are for tests and special set-ups."""

    is_far: ClassVar[bool] = False
    # How long a connection may take to be made, and a turn to come; None: the caller's own deadline.
    patience_s: ClassVar[float | None] = None
    longest_turn_s: ClassVar[float | None] = None
    # What is printed before tmux prints anything; nothing: all is tmux's.
    greeting: ClassVar[bytes] = b""

    socket: str
    binary: str = "tmux"
    config: str | None = None
    # Which variables a server that we start, and so every pane of it, inherits; None: all.
    passes: tuple[str, ...] | None = None

    def argv(self, *flags: str, commands: Sequence[Command]) -> list[bytes]:
        """A tmux process that runs these commands; without `-u` tmux prints `_` outside UTF-8 locales."""
        config = ("-f", self.config) if self.config is not None else ()
        start = (self.program(), "-u", "-S", self.socket, *config, *flags)
        return [os.fsencode(word) for word in start] + joined(commands)

    def preamble(self, *flags: str, commands: Sequence[Command]) -> bytes:
        """What that process must read before anything else."""
        return b""

    async def start(
        self,
        *flags: str,
        commands: Sequence[Command],
        stdin: int,
        stdout: int,
        leash: Leash = LOOSE,
    ) -> asyncio.subprocess.Process:
        """Start such a process, out of reach of what our own terminal sends; on a leash it ends with us."""
        argv = self.argv(*flags, commands=commands)
        try:
            return await asyncio.create_subprocess_exec(
                *leash.words,
                *argv,
                stdin=stdin,
                stdout=stdout,
                stderr=asyncio.subprocess.PIPE,
                env=self.environment(),
                start_new_session=True,
                preexec_fn=leash.before,
            )
        except OSError as error:
            raise _not_started(os.fsdecode(argv[0]), error) from None

    @asynccontextmanager
    async def turn(self, patience_s: float | None = None, *, is_shared: bool = False) -> AsyncIterator[None]:
        """Come or go while no other muxpilot does, here or in another process.

        tmux 3.3a crashes, with everything in it, when it has news such as a new session to tell while a
        control client is still introducing itself: two that come at once are enough, one time in four.
        Those who only make news share a turn.
        """
        lock: int | None = None
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.longest_turn_s if patience_s is None else patience_s):
                    while (lock := _locked(self._turn_file(), is_shared=is_shared)) is None:  # noqa: ASYNC110 - no process wakes us
                        await asyncio.sleep(_TURN_PAUSE_S)
            yield
        finally:
            if lock is not None:
                _remove(self._turn_file(), lock)
                os.close(lock)

    def _turn_file(self) -> str:
        digest = blake2b(os.fsencode(os.path.realpath(self.socket)), digest_size=8).hexdigest()
        return str(our_folder() / f"{digest}.turn")

    def program(self) -> str:
        found = shutil.which(self.binary)
        if found is None:
            raise NoTmux(f"There is no program {self.binary!r} on this machine.")
        return found

    def environment(self) -> Mapping[str, str]:
        """Ours, without what would make tmux think that it runs inside another."""
        names = [name for name in os.environ if name not in ("TMUX", "TMUX_PANE")]
        if self.passes is not None:
            names = [name for name in names if any(fnmatchcase(name, item) for item in self.passes)]
        return {name: os.environ[name] for name in names} | open_shell()

    def check(self) -> None:
        """Refuse a socket that is not there, or that another user could have put there."""
        try:
            found = os.stat(self.socket)
        except FileNotFoundError:
            words = f"error connecting to {self.socket} (No such file or directory)"
            raise NoServer(f"No tmux server is running on {self.socket}.", words=words) from None
        except OSError as error:
            raise UnsafeSocket(
                f"{self.socket} cannot be reached: {error.strerror}.", "Use a socket of your own."
            ) from None
        if not stat.S_ISSOCK(found.st_mode):
            # tmux would delete it to put its socket there.
            raise UnsafeSocket(f"{self.socket} is not a socket.", "Give the path of a tmux socket.")
        if found.st_uid != os.geteuid() and not self._trusts(found.st_uid):
            raise UnsafeSocket(
                f"The socket {self.socket} belongs to another user.", "Use a socket of your own."
            )

    def received(self, out: bytes, err: bytes) -> tuple[bytes, bytes]:
        """What a process printed, as far as it is tmux's."""
        return out, err

    def failure(self, words: str) -> MuxpilotError:
        """What tmux said when it would not let us in."""
        return failures.failure(words or "lost server")

    def late(self, words: str) -> MuxpilotError:
        return NotAnswering("tmux did not answer.")

    def _trusts(self, owner: int) -> bool:
        """Only root may use other people's sockets, and only where nobody else could have put them."""
        folder = os.stat(Path(self.socket).parent)
        return (
            os.geteuid() == 0
            and folder.st_uid == owner
            and not folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        )


def _locked(path: str, *, is_shared: bool) -> int | None:
    """The file, open and locked by us; None while somebody else has it. The last one removes it."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(path)):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(lock)
    return None


def _remove(path: str, lock: int) -> None:
    with contextlib.suppress(OSError):  # others share it
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(path)):
            os.unlink(path)


def _not_started(program: str, error: OSError) -> MuxpilotError:
    what = f"{program} cannot be started: {error.strerror}."
    if error.errno == errno.E2BIG:
        return BadInput(what, "Give a shorter command.")
    is_no_program = error.errno in (errno.ENOENT, errno.EACCES, errno.ENOEXEC)
    return NoTmux(what) if is_no_program else Unavailable(what)


def joined(commands: Sequence[Command]) -> list[bytes]:
    words: list[bytes] = []
    for command in commands:
        words += [b";"] if words else []
        words += [quote.argv(word) for word in command]
    return words


def checked_socket(socket: str) -> str:
    path = os.path.abspath(os.path.expanduser(socket))
    if not socket or "\0" in socket or re.search(r"[\r\n]", socket):
        raise BadInput(f"{socket!r} is not a socket path.", "Give the path of a tmux socket.")
    if len(os.fsencode(path)) > _LONGEST_SOCKET:
        raise BadInput(f"The socket path is longer than {_LONGEST_SOCKET} bytes.", "Use a shorter folder.")
    return path


def default_socket() -> str:
    """The server that plain `tmux` would talk to from here, its folder made as tmux makes it."""
    inside = os.environ.get("TMUX", "").partition(",")[0]
    if inside:
        return inside
    chosen = os.environ.get("TMUX_TMPDIR", "")
    base = os.path.realpath(chosen if os.path.isdir(chosen) else "/tmp")
    folder = private_folder(Path(base) / f"tmux-{os.getuid()}", closed_to=stat.S_IRWXO)
    return str(folder / "default")


def socket_for_path(path: str) -> str:
    """A socket of its own for everything that works on this path: the same for every agent of this user."""
    if not path.strip() or "\0" in path:
        raise BadInput("The path is empty.", "Give a folder or a file.")
    real = os.path.realpath(os.path.expanduser(path))
    digest = blake2b(os.fsencode(real), digest_size=8).hexdigest()
    return str(our_folder() / digest)


def our_folder() -> Path:
    """What all muxpilots of this user share. Not in TMPDIR: that may differ between two of them."""
    return private_folder(Path("/tmp") / f"muxpilot-{os.getuid()}")


def private_folder(path: Path, *, closed_to: int = stat.S_IRWXG | stat.S_IRWXO) -> Path:
    """A folder that only this user can enter; one that somebody else made is refused."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & closed_to:
        raise UnsafeSocket(
            f"{path} is not a folder that only you can enter.",
            "Remove it, or set its owner and mode to 0700.",
        )
    return path
