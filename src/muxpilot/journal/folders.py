"""Where journals are: `ROOT/journals/1/SERVER/PANE/GENERATION/`, all private to this user.

A server is known by its socket, its process and its start, so that a new server never finds the panes of an
old one. A generation is one run of the pipe's program: a pane gets a new one when another program is started
in it. The number in `journals/1` is the version of this layout: other versions are left alone.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from muxpilot.errors import UnsafeSocket
from muxpilot.processes.pipe_program import runs_with_word
from muxpilot.records import record

_LAYOUT = ("journals", "1")
_OWNERS = "owners"
# The file with the jobs of a server, in its folder. Names of more files begin with it.
JOBS_FILE = "jobs"
_SERVER_NAME = re.compile("[0-9a-f]{16}")
_PANE_NAME = re.compile("[0-9]{1,9}")
_GENERATION_NAME = re.compile("[0-9]{4,9}-[0-9a-f]{6}")

# Files of a generation besides its segments.
END_FILE = "end"
PID_FILE = "pid"
EXIT_MARK_FILE = "exit_mark"
_ROOM_FILE = "room"
NONCE_FILE = "nonce"
TEXT_BEFORE_FILE = "text_before"
REPLACED_FILE = "replaced"
_LONGEST_FACT = 4000


@record
class ServerIdentity:
    """One life of a tmux server: the same socket may be used by another server later."""

    socket: str
    pid: int
    started: int

    @property
    def key(self) -> str:
        """Return the name of the server's folder."""
        # The name of a server on another host is not a path.
        socket = os.path.realpath(self.socket) if os.path.isabs(self.socket) else self.socket
        text = f"{socket}\0{self.pid}\0{self.started}"
        return blake2b(os.fsencode(text), digest_size=8).hexdigest()


@record
class Generation:
    """The folder of one run of a pipe's program."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def has_ended(self) -> bool:
        """Return whether the pipe's program has written everything and left."""
        return (self.path / END_FILE).exists()

    @property
    def ended_at(self) -> float | None:
        """Return when the pipe's program left, in seconds since the epoch; None while it runs."""
        with suppress(OSError):
            return (self.path / END_FILE).stat().st_mtime
        return None

    @property
    def writer_pid(self) -> int | None:
        """Return the process id of the pipe's program, or None before it has started."""
        text = _read_fact(self.path / PID_FILE)
        return int(text) if re.fullmatch("[0-9]{1,9}", text) else None

    @property
    def is_being_written(self) -> bool:
        """Return whether the pipe's program still runs. Another process may have its number by now."""
        pid = self.writer_pid
        return pid is not None and not self.has_ended and runs_with_word(pid, self.name)

    @property
    def exit_mark(self) -> str:
        """Return the secret word of the exit mark; empty if muxpilot did not start the pane's program.

        A generation that has one holds the pane's output from the first byte on.
        """
        return _read_fact(self.path / EXIT_MARK_FILE)

    def write_exit_mark(self, mark: str) -> None:
        """Write the secret word of the exit mark."""
        _write_fact(self.path / EXIT_MARK_FILE, mark)

    @property
    def nonce(self) -> str:
        """Return the nonce of the shell that muxpilot started; empty if it started none."""
        return _read_fact(self.path / NONCE_FILE)

    def check_room(self) -> None:
        """Raise OSError if nothing can be written here: the disk, or the user's quota, is full."""
        probe = self.path / _ROOM_FILE
        try:
            _write_fact(probe, "\n")
        finally:
            probe.unlink(missing_ok=True)

    def write_nonce(self, nonce: str) -> None:
        """Write the nonce of the shell that is about to start."""
        _write_fact(self.path / NONCE_FILE, nonce)

    @property
    def text_before(self) -> str:
        """Return what stood before the cursor when the journal began, such as a prompt."""
        return _read_fact(self.path / TEXT_BEFORE_FILE)

    def write_text_before(self, text: str) -> None:
        """Write what stands before the cursor while the journal is empty."""
        _write_fact(self.path / TEXT_BEFORE_FILE, text)

    @property
    def is_replaced(self) -> bool:
        """Return whether a muxpilot has ended it to start another program in the pane."""
        return (self.path / REPLACED_FILE).exists()

    def mark_replaced(self) -> None:
        """Tell other muxpilots that the end of the pipe is the end of the program."""
        with suppress(OSError):
            _write_fact(self.path / REPLACED_FILE, "")

    def remove_unused(self) -> None:
        """Remove a generation that no pipe was started for."""
        with suppress(OSError):
            for name in (EXIT_MARK_FILE, NONCE_FILE):
                (self.path / name).unlink(missing_ok=True)
            self.path.rmdir()


class JournalFolders:
    """The journals of this user below one root."""

    def __init__(self, root: Path) -> None:
        self._base = root

    def owners_folder(self) -> Path:
        """Return the folder of the files that tell which muxpilots live, and create it if needed."""
        return ensure_private(ensure_private(self._base) / _OWNERS)

    def server_folder(self, server: ServerIdentity) -> Path:
        """Return the folder of a server, and create it where it is missing."""
        path = ensure_private(self._base)
        for part in (*_LAYOUT, server.key):
            path = ensure_private(path / part)
        return path

    def server_folders(self) -> Iterator[Path]:
        """Yield the folders of all servers."""
        base = self._base.joinpath(*_LAYOUT)
        for key in _names_in(base, _SERVER_NAME):
            yield base / key

    def pane_folder(self, server: ServerIdentity, pane: str) -> Path:
        """Return the folder of a pane, and create it where it is missing."""
        return ensure_private(self.server_folder(server) / pane.removeprefix("%"))

    def pane_folders(self, server: ServerIdentity | None = None) -> Iterator[Path]:
        """Yield the folders of all panes of a server, or of all servers."""
        base = self._base.joinpath(*_LAYOUT)
        keys = [server.key] if server is not None else _names_in(base, _SERVER_NAME)
        for key in keys:
            for name in _names_in(base / key, _PANE_NAME):
                yield base / key / name

    def new_generation(self, server: ServerIdentity, pane: str) -> Generation:
        """Create the next generation of a pane."""
        folder = self.pane_folder(server, pane)
        last = max((int(name.partition("-")[0]) for name in _names_in(folder, _GENERATION_NAME)), default=0)
        path = folder / f"{last + 1:04}-{secrets.token_hex(3)}"
        path.mkdir(0o700)
        return Generation(path)

    def generations(self, server: ServerIdentity, pane: str) -> list[Generation]:
        """Return the generations of a pane, the oldest first, without creating anything."""
        return generations_in(self._base.joinpath(*_LAYOUT, server.key, pane.removeprefix("%")))

    def find_generation(self, server: ServerIdentity, pane: str, name: str) -> Generation | None:
        """Return a generation by a name that may come from anywhere."""
        return next((found for found in self.generations(server, pane) if found.name == name), None)


def generations_in(pane_folder: Path) -> list[Generation]:
    """Return the generations in a pane's folder, the oldest first."""
    names = _names_in(pane_folder, _GENERATION_NAME)
    names.sort(key=lambda name: int(name.partition("-")[0]))
    return [Generation(pane_folder / name) for name in names]


def ensure_private(path: Path) -> Path:
    """Create a folder that only this user can enter. Raise UnsafeSocket for one that others can."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    if not _is_private(path):
        raise UnsafeSocket(
            f"{path} is not a folder that only you can enter.",
            "Remove it, or set its owner and mode to 0700.",
        )
    return path


def first_usable(candidates: Sequence[Path]) -> Path | None:
    """Return the first folder that is private or can be made so, with its missing parents."""
    for path in candidates:
        with suppress(OSError, UnsafeSocket):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return ensure_private(path)
    return None


def _is_private(path: Path) -> bool:
    found = path.lstat()
    is_closed = not found.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and is_closed


def _names_in(folder: Path, pattern: re.Pattern[str]) -> list[str]:
    """Return the names of private folders that match. Everything else in there is not ours."""
    with suppress(OSError):
        names = [name for name in os.listdir(folder) if pattern.fullmatch(name)]
        return [name for name in names if _is_there_and_private(folder / name)]
    return []


def _is_there_and_private(path: Path) -> bool:
    try:
        return _is_private(path)
    except OSError:
        return False


def _write_fact(path: Path, text: str) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as target:
        target.write(text.encode("utf-8", "replace")[:_LONGEST_FACT])


def _read_fact(path: Path) -> str:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(file, _LONGEST_FACT).decode("utf-8", "replace").removesuffix("\n")
    except OSError:
        return ""
    finally:
        os.close(file)
