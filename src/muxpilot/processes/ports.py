"""The TCP ports on which a process of this machine listens, from the kernel's tables."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
# The local port, the remote address, and the state 0A, which means listening.
_LISTENING = re.compile(rb":([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} 0A ")


def read_listening_ports(tables: tuple[Path, ...] = _TABLES) -> frozenset[int] | None:
    """Return all ports that are listened on, or None if the kernel has no tables that can be read."""
    found: list[bytes] = []
    is_known = False
    for table in tables:
        with suppress(OSError):
            found += _LISTENING.findall(table.read_bytes())
            is_known = True
    return frozenset(int(port, 16) for port in found) if is_known else None


class ListeningPorts:
    """The ports that are listened on, read once for all callers that ask within `fresh_s` seconds."""

    def __init__(self, *, fresh_s: float, tables: tuple[Path, ...] = _TABLES) -> None:
        self.reads = 0
        self._fresh_s = fresh_s
        self._tables = tables
        self._ports: frozenset[int] | None = None
        self._read_at = float("-inf")

    def read(self) -> frozenset[int] | None:
        """Return the ports, or None if the kernel does not list them."""
        now = time.monotonic()
        if now >= self._read_at + self._fresh_s:
            self._ports, self._read_at = read_listening_ports(self._tables), now
            self.reads += 1
        return self._ports
