"""Find the processes at the other end of a TCP connection of this machine, from the kernel's tables."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
# The local port, the remote port, and the inode of the socket.
_ROW = re.compile(
    rb"^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) (?:\S+ +){4}\d+ +\d+ +(\d+)", re.MULTILINE
)
# A socket that its process has closed has no inode any more.
_NO_INODE = b"0"


def find_connection_owners(client_port: int, server_port: int) -> list[int] | None:
    """Return the processes that hold the client's end of a connection, or None if the client has closed it.

    The list is empty where that cannot be told: they are another user's, or this is not Linux.
    """
    if not any(table.exists() for table in _TABLES):
        return []
    inodes = {f"socket:[{inode}]" for inode in _find_inodes(client_port, server_port)}
    if not inodes:
        return None
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _holds(name, inodes)]


def _find_inodes(client_port: int, server_port: int) -> list[str]:
    found = []
    for table in _TABLES:
        with suppress(OSError):
            found += [
                inode.decode()
                for local, remote, inode in _ROW.findall(table.read_bytes())
                if (int(local, 16), int(remote, 16)) == (client_port, server_port) and inode != _NO_INODE
            ]
    return found


def _holds(pid: str, inodes: set[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    with suppress(OSError):  # it has ended, or is another user's
        for name in os.listdir(folder):
            with suppress(OSError):
                if os.readlink(f"{folder}/{name}") in inodes:
                    return True
    return False
