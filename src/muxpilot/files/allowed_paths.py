"""Files in the folders that the policy allows. No link leads out of them.

A path is made canonical and checked. Then it is opened from its allowed folder, one component at a time,
without following links: a link that appears between the check and the use makes the call fail.
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
from muxpilot.tmux.hosts.endpoint import ensure_private_folder, muxpilot_folder

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class PathNotAllowed(BadInput):
    """The path is, or may be, outside of the allowed folders. `key` is the setting that names them."""

    key = "security.allowed_buffer_paths"


def _private_folder() -> Path:
    return ensure_private_folder(muxpilot_folder() / "buffers")


@record
class AllowedFolders:
    """The allowed folders. None: one private folder, which all muxpilots of this user share."""

    allowed: Sequence[str] | None = None
    private: Callable[[], Path] = _private_folder

    def write(self, path: str, content: BinaryIO) -> None:
        """Write a whole file or nothing. It replaces a file of that name."""
        with self._open_parent(path) as (folder, name):
            _refuse_special_file(folder, name)
            new = f".{name[:100]}.{secrets.token_hex(4)}"
            try:
                with os.fdopen(os.open(new, _CREATE, 0o600, dir_fd=folder), "wb") as file:
                    shutil.copyfileobj(content, file, 1 << 20)
                os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(new, dir_fd=folder)
                raise

    def resolve(self, path: str) -> Path:
        """Return the absolute path of a file. Raise PathNotAllowed if it is not below an allowed folder."""
        root, names = self._split(path)
        return Path(root, *names)

    def create(self, path: str) -> int:
        """Create a new file and return its descriptor, open for writing."""
        with self._open_parent(path) as (folder, name):
            try:
                return os.open(name, _CREATE, 0o600, dir_fd=folder)
            except FileExistsError:
                raise BadInput(f"The file {path!r} already exists.", "Use another name.") from None

    def read(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        with self._open_parent(path) as (folder, name):
            file = os.fdopen(os.open(name, _READ, dir_fd=folder), "rb")
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise BadInput(f"The path {path!r} is not a regular file.", "Give a file.")
        return file

    @contextmanager
    def _open_parent(self, path: str) -> Iterator[tuple[int, str]]:
        """Yield a descriptor of the folder of a path, and the name of the file in it."""
        root, names = self._split(path)
        try:
            folder = _open_folder(root, names[:-1])
            try:
                yield folder, names[-1]
            finally:
                os.close(folder)
        except OSError as error:
            raise BadInput(
                f"The path {path!r} is not accessible: {error.strerror}.",
                "Give a file in an existing folder. Links may not lead out of it.",
            ) from None

    def _split(self, path: str) -> tuple[str, list[str]]:
        """Return the allowed folder of a path, and the names below it, all links resolved."""
        self._refuse_bad_path(path)
        roots = [str(self.private())] if self.allowed is None else [*self.allowed]
        base = os.path.realpath(os.path.expanduser(roots[0])) if roots else ""
        full = os.path.realpath(os.path.join(base, path)) if roots else ""
        for root in roots:
            real = os.path.realpath(os.path.expanduser(root))
            if full.startswith(real.rstrip("/") + "/"):
                return real, full[len(real.rstrip("/")) + 1 :].split("/")
        raise PathNotAllowed(f"The path {path!r} is not under allowed buffer paths.", self._hint())

    def _refuse_bad_path(self, path: str) -> None:
        if not path.strip() or "\0" in path:
            raise BadInput("The argument 'path' is not a path.", "Give a file.")
        if ".." in path.split("/"):
            raise PathNotAllowed(
                f"The path {path!r} contains parent directory traversal ('..').", "Give it without '..'."
            )
        if self.allowed is None and os.path.isabs(path):
            raise PathNotAllowed(
                f"The path {path!r} must be relative when no allowed_buffer_paths are configured.",
                "Give a file name alone, or set security.allowed_buffer_paths.",
            )

    def _hint(self) -> str:
        if self.allowed is None:
            return "Give a file name. Links may not lead out of the private folder."
        listed = ", ".join(self.allowed) or "none"
        return f"security.allowed_buffer_paths allows: {listed}."


def _open_folder(root: str, names: Sequence[str]) -> int:
    folder = os.open(root, _FOLDER)
    for name in names:
        try:
            inner = os.open(name, _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _refuse_special_file(folder: int, name: str) -> None:
    """Raise BadInput if the name exists and is a device, FIFO or folder. A regular file may be replaced."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise BadInput(f"{name!r} exists and is not a regular file.", "Use another name.")
