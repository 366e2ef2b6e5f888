"""Saving where no policy names folders: wherever the person who runs muxpilot may write."""

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


class Anywhere:
    """As `Folders`, but for any folder that is there; a link in place of the file is not followed."""

    def place(self, path: str) -> Path:
        target = Path(os.path.abspath(os.path.expanduser(path)))
        try:
            is_plain = stat.S_ISREG(target.lstat().st_mode)
        except FileNotFoundError:
            is_plain = target.parent.is_dir()
        except (OSError, ValueError):
            is_plain = False
        if not is_plain:
            raise BadInput(
                f"The path {path[:200]!r} cannot be written: it is no plain file, or has no folder.",
                "Name a new file in a folder that is there.",
            )
        return target

    def write(self, path: str, content: BinaryIO) -> None:
        """As a whole or not at all; what is there is replaced, never written into."""
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
        try:
            return os.open(path, _NEW, 0o600)
        except FileExistsError:
            raise BadInput(f"The file {path!r} is already there.", "Use another name.") from None
        except OSError as error:
            raise BadInput(f"The file {path!r} cannot be written: {error.strerror}.") from None
