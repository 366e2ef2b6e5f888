"""Waiting for what no pane prints: a port that is listened on, an address that answers, a file."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from muxpilot.watch.triggers import Trigger
from muxpilot.watch.urls import LOOPBACKS, Address

NAMES = frozenset({"port", "url", "file"})

_FIRST_PAUSE_S = 0.05
# What the kernel told so lately holds for all who ask.
_FRESH_S = 0.04
_LONGEST_PAUSE_S = 0.25
_GROWTH = 1.3
_PATIENCE_S = 2.0
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
# The local port, the remote address, and the state that means listening.
_LISTENING = re.compile(rb":([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} 0A ")
_LONGEST_ANSWER = 4096


async def ready(trigger: Trigger, folder: str) -> str:
    """Answers, once it is there, what is; a path that is not absolute begins in the pane's folder."""
    if trigger.address is not None:
        asked = trigger.address
        return await _until(lambda: _answer(asked))
    if trigger.name == "port":
        port = int(trigger.number)
        return await _until(lambda: _listener(port))
    return await _until(lambda: _file(_path(trigger.text, folder)))


async def _until(ask: Callable[[], Awaitable[str | None]]) -> str:
    pause = _FIRST_PAUSE_S
    while True:
        found = await ask()
        if found is not None:
            return found
        await asyncio.sleep(pause if pause < _LONGEST_PAUSE_S else _until_next_look())
        pause = min(pause * _GROWTH, _LONGEST_PAUSE_S)


def _until_next_look() -> float:
    """All who have waited for a while look at the same moments, so that one look is enough."""
    return _LONGEST_PAUSE_S - asyncio.get_running_loop().time() % _LONGEST_PAUSE_S


async def _file(path: str) -> str | None:
    return f"The file is there: {path}" if _exists(path) else None


def _path(text: str, folder: str) -> str:
    return os.path.join(folder, os.path.expanduser(text))


def _exists(path: str) -> bool:
    return os.path.exists(path)


async def _listener(port: int) -> str | None:
    """By the kernel's word: to connect would take the only connection that some servers accept."""
    listed = _KERNEL.ports()
    is_there = port in listed if listed is not None else await _accepts(port)
    return f"Port {port} is listened on" if is_there else None


class _Kernel:
    """The ports that are listened on, read once for all who ask in the same moment."""

    def __init__(self) -> None:
        self._known: frozenset[int] | None = None
        self._read_at = -_FRESH_S

    def ports(self) -> frozenset[int] | None:
        """None where the kernel has no tables that can be read."""
        now = time.monotonic()
        if now >= self._read_at + _FRESH_S:
            self._known, self._read_at = _listed(), now
        return self._known


_KERNEL = _Kernel()


def _listed() -> frozenset[int] | None:
    found: list[bytes] = []
    is_known = False
    for table in _TABLES:
        with suppress(OSError):
            found += _LISTENING.findall(table.read_bytes())
            is_known = True
    return frozenset(int(port, 16) for port in found) if is_known else None


async def _accepts(port: int) -> bool:
    for host in LOOPBACKS:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                _, writer = await asyncio.open_connection(host, port)
            writer.close()
            return True
    return False


async def _answer(address: Address) -> str | None:
    """One request; redirections are answers, and are not followed."""
    for host in address.hosts:
        with suppress(OSError, TimeoutError, ValueError):
            async with asyncio.timeout(_PATIENCE_S):
                status = await _status(host, address)
            if status < 500:
                return f"Answered with status {status}"
    return None


async def _status(host: str, address: Address) -> int:
    secure = {"ssl": True} if address.is_secure else {}
    reader, writer = await asyncio.open_connection(host, address.port, limit=_LONGEST_ANSWER, **secure)
    try:
        request = f"GET {address.path} HTTP/1.1\r\nHost: {address.authority}\r\nConnection: close\r\n\r\n"
        writer.write(request.encode("ascii"))
        version, code, *_ = (await reader.readline()).split(None, 2)
        if not version.startswith(b"HTTP/") or len(code) != 3:
            raise ValueError
        return int(code)
    finally:
        writer.close()
