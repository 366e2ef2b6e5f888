"""The folders that files are saved to and loaded from, and the way into them that no link leads out of.

A path is made canonical, judged, and then walked from its folder one component at a time without following
links: who puts a link there between the check and the use is refused, and never followed.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.tmux.hosts.endpoint import our_folder, private_folder

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Outside(BadInput):
    """A path that leads, or may lead, out of the folders; `key` is what names them."""

    key = "security.allowed_buffer_paths"


def _private() -> Path:
    return private_folder(our_folder() / "buffers")


@record
class Folders:
    """Those that are allowed; without any, a private one that all muxpilots of this user share."""

    allowed: Sequence[str] | None = None
    private: Callable[[], Path] = _private

    def write(self, path: str, content: BinaryIO) -> None:
        """Put a whole file there, or change nothing; it takes the place of a file of that name."""
        with self._inside(path) as (folder, name):
            _must_be_plain(folder, name)
            new = f".{name[:100]}.{secrets.token_hex(4)}"
            try:
                with os.fdopen(os.open(new, _MAKE, 0o600, dir_fd=folder), "wb") as file:
                    shutil.copyfileobj(content, file, 1 << 20)
                os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(new, dir_fd=folder)
                raise

    def place(self, path: str) -> Path:
        """Where a path leads; below one of the folders, or it is refused."""
        root, names = self._place(path)
        return Path(root, *names)

    def create(self, path: str) -> int:
        """A new file, open for writing."""
        with self._inside(path) as (folder, name):
            try:
                return os.open(name, _MAKE, 0o600, dir_fd=folder)
            except FileExistsError:
                raise BadInput(f"The file {path!r} is already there.", "Use another name.") from None

    def read(self, path: str) -> BinaryIO:
        """A file, open."""
        with self._inside(path) as (folder, name):
            file = os.fdopen(os.open(name, _READ, dir_fd=folder), "rb")
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise BadInput(f"The path {path!r} is not a plain file.", "Name a file.")
        return file

    @contextmanager
    def _inside(self, path: str) -> Iterator[tuple[int, str]]:
        """The folder of a path, open, and the name in it."""
        root, names = self._place(path)
        try:
            folder = _walked(root, names[:-1])
            try:
                yield folder, names[-1]
            finally:
                os.close(folder)
        except OSError as error:
            raise BadInput(
                f"The path {path!r} is not accessible: {error.strerror}.",
                "Name a file in a folder that is there; links may not lead out of it.",
            ) from None

    def _place(self, path: str) -> tuple[str, list[str]]:
        """The allowed folder that a path lies in, and the names from there on, without links."""
        self._require_decent(path)
        roots = [str(self.private())] if self.allowed is None else [*self.allowed]
        base = os.path.realpath(os.path.expanduser(roots[0])) if roots else ""
        full = os.path.realpath(os.path.join(base, path)) if roots else ""
        for root in roots:
            real = os.path.realpath(os.path.expanduser(root))
            if full.startswith(real.rstrip("/") + "/"):
                return real, full[len(real.rstrip("/")) + 1 :].split("/")
        raise Outside(f"The path {path!r} is not under allowed buffer paths.", self._hint())

    def _require_decent(self, path: str) -> None:
        if not path.strip() or "\0" in path:
            raise BadInput("The argument 'path' is no path.", "Name a file.")
        if ".." in path.split("/"):
            raise Outside(
                f"The path {path!r} contains parent directory traversal ('..').", "Give it without '..'."
            )
        if self.allowed is None and os.path.isabs(path):
            raise Outside(
                f"The path {path!r} must be relative when no allowed_buffer_paths are configured.",
                "Give a file name alone, or set security.allowed_buffer_paths.",
            )

    def _hint(self) -> str:
        if self.allowed is None:
            return "Give a file name; links may not lead out of the private folder."
        listed = ", ".join(self.allowed) or "none"
        return f"Those of security.allowed_buffer_paths are: {listed}."


def _walked(root: str, names: Sequence[str]) -> int:
    folder = os.open(root, _FOLDER)
    for name in names:
        try:
            inner = os.open(name, _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _must_be_plain(folder: int, name: str) -> None:
    """What is there already may be replaced if it is a file; a device, a FIFO or a folder may not."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise BadInput(f"There is something at {name!r} that is not a plain file.", "Use another name.")
