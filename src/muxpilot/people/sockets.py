"""The folder of the sockets through which processes of one user ask and answer."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from muxpilot.config import environment
from muxpilot.errors import UnsafeSocket
from muxpilot.tmux.hosts.endpoint import ensure_private_folder, muxpilot_folder
from muxpilot.trace import area

# Names of sockets begin so: of a muxpilot with open questions, and of a view page.
ASKS, SHOWS = "ask-", "page-"

_TRIES = 5

_trace = area("people")


def sockets_folder() -> Path:
    """Return the folder of the sockets, and create it. Raise UnsafeSocket if others can enter it."""
    return ensure_private_folder(muxpilot_folder() / _folder_name(environment.variable("HOME")))


@lru_cache(8)
def _folder_name(home: str) -> str:
    """Return the name of the folder. Another HOME is another set-up of the same user, such as a test."""
    return f"people-{blake2b(os.fsencode(home), digest_size=4).hexdigest()}"


@lru_cache(8)
def _unchecked_folder(home: str) -> str:
    return f"/tmp/muxpilot-{os.getuid()}/{_folder_name(home)}"


def find_sockets(prefix: str) -> list[Path]:
    """Return the sockets whose names begin so. There is none where the folder cannot be used.

    Nearly always there is no folder, and every call that types asks. So it is checked only if it is there.
    """
    path = _unchecked_folder(environment.variable("HOME"))
    if not os.access(path, os.F_OK):
        return []
    try:
        names = [name for name in os.listdir(path) if name.startswith(prefix)]
        folder = sockets_folder() if names else Path(path)
    except FileNotFoundError:
        return []
    except (OSError, UnsafeSocket) as error:
        _trace.warning("open questions cannot be listed", error=error)
        return []
    return [folder / name for name in names]


def open_private_socket(name: str) -> tuple[Path, socket.socket]:
    """Open a Unix socket that only this user can connect to: its folder is closed to others as well.

    Another process may remove the folder at this moment, because its own socket was the last one there.
    """
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            return _bind(sockets_folder() / name)
    return _bind(sockets_folder() / name)


def _bind(path: Path) -> tuple[Path, socket.socket]:
    """Open a socket, and give it its name when it listens: one that does not is removed as left behind."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    unnamed = path.with_name(f"new-{path.name}")
    try:
        listener.bind(str(unnamed))
        os.chmod(unnamed, 0o600)
        listener.listen()
        os.rename(unnamed, path)
    except OSError:
        listener.close()
        raise
    return path, listener


def remove_socket(path: Path) -> None:
    """Remove a socket, and the folder if it was the last one."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.parent.rmdir()
