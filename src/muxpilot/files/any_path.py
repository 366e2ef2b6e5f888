"""Files in any folder, for when no policy restricts them."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import BinaryIO

from muxpilot.errors import BadInput

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class AnyFolder:
    """Every folder that the user of this process can write to. A link instead of a file is not followed."""

    def resolve(self, path: str) -> Path:
        """Return the absolute path of a file that exists or can be created."""
        target = Path(os.path.abspath(os.path.expanduser(path)))
        try:
            is_plain = stat.S_ISREG(target.lstat().st_mode)
        except FileNotFoundError:
            is_plain = target.parent.is_dir()
        except (OSError, ValueError):
            is_plain = False
        if not is_plain:
            raise BadInput(
                f"The path {path[:200]!r} cannot be written: no regular file, or no such folder.",
                "Give a new file in an existing folder.",
            )
        return target

    def write(self, path: str, content: BinaryIO) -> None:
        """Write a whole file or nothing. An existing file is replaced, never written into."""
        target = Path(path)
        new = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}")
        try:
            with os.fdopen(os.open(new, _NEW, 0o600), "wb") as file:
                shutil.copyfileobj(content, file, 1 << 20)
            new.replace(target)
        except OSError as error:
            with contextlib.suppress(OSError):
                new.unlink()
            raise BadInput(f"The path {path!r} cannot be written: {error.strerror}.") from None

    def create(self, path: str) -> int:
        """Create a new file and return its descriptor, open for writing."""
        try:
            return os.open(path, _NEW, 0o600)
        except FileExistsError:
            raise BadInput(f"The file {path!r} already exists.", "Use another name.") from None
        except OSError as error:
            raise BadInput(f"The file {path!r} cannot be written: {error.strerror}.") from None
