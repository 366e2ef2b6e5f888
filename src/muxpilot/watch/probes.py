"""Wait for what no pane prints: a port that a program listens on, an address that answers, a file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

from muxpilot.processes.ports import ListeningPorts
from muxpilot.timing import WatchTiming
from muxpilot.trace import Trace, area
from muxpilot.watch.urls import LOOPBACKS, HttpAddress

_LONGEST_ANSWER = 4096


class Probes:
    """Looks again and again until something is there. `ports` is shared by all watches of the program."""

    def __init__(
        self,
        timing: WatchTiming | None = None,
        *,
        ports: ListeningPorts | None = None,
        trace: Trace | None = None,
    ) -> None:
        self._timing = timing or WatchTiming()
        self._ports = ports or ListeningPorts(fresh_s=self._timing.ports_fresh_s)
        self._trace = trace or area("watch")

    def with_trace(self, trace: Trace) -> Probes:
        """Return probes that log with the context of one watch."""
        return Probes(self._timing, ports=self._ports, trace=trace)

    async def wait_for_port(self, port: int) -> str:
        """Wait until a port of this machine is listened on. Return the detail of the event."""
        return await self._look_until_found(f"port:{port}", lambda: self._check_port(port))

    async def wait_for_answer(self, address: HttpAddress) -> str:
        """Wait until an address answers a request. Return the detail of the event."""
        return await self._look_until_found(f"url:{address.port}", lambda: self._check_answer(address))

    async def wait_for_file(self, text: str, folder: str) -> str:
        """Wait until a file exists; a relative path begins in the folder. Return the detail of the event."""
        return await self._look_until_found("file", lambda: _check_file(text, folder))

    async def _look_until_found(self, what: str, check: Callable[[], Awaitable[str | None]]) -> str:
        timing = self._timing
        pause_s, attempt = timing.first_probe_pause_s, 0
        while True:
            found = await check()
            attempt += 1
            if found is not None or attempt & (attempt - 1) == 0:  # a long log stays readable
                self._trace.debug("probe", probe=what, attempt=attempt, is_there=found is not None)
            if found is not None:
                return found
            is_slow = pause_s >= timing.longest_probe_pause_s
            await asyncio.sleep(self._until_common_moment_s() if is_slow else pause_s)
            pause_s = min(pause_s * timing.probe_pause_growth, timing.longest_probe_pause_s)

    def _until_common_moment_s(self) -> float:
        """Return the pause until the next moment at which all slow probes look, so that they share a read."""
        longest_s = self._timing.longest_probe_pause_s
        return longest_s - asyncio.get_running_loop().time() % longest_s

    async def _check_port(self, port: int) -> str | None:
        """Ask the kernel: a connection would take the only one that some servers accept."""
        listed = self._ports.read()
        is_there = port in listed if listed is not None else await self._accepts_connection(port)
        return f"Port {port} is listened on" if is_there else None

    async def _accepts_connection(self, port: int) -> bool:
        for host in LOOPBACKS:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(self._timing.connect_s):
                    _, writer = await asyncio.open_connection(host, port)
                writer.close()
                return True
        return False

    async def _check_answer(self, address: HttpAddress) -> str | None:
        """Send one request to each host. A redirection is an answer and is not followed."""
        for host in address.hosts:
            try:
                status = await self._ask_status(host, address)
            except (OSError, TimeoutError, ValueError) as error:
                self._trace.debug("no answer", host=host, port=address.port, reason=type(error).__name__)
                continue
            self._trace.debug("answered", host=host, port=address.port, status=status)
            if status < 500:
                return f"Answered with status {status}"
        return None

    async def _ask_status(self, host: str, address: HttpAddress) -> int:
        limit_s = self._timing.connect_s
        async with asyncio.timeout(limit_s):
            if address.is_secure:  # a server on stdio has an asyncio without TLS, see cli/import_time.py
                return await asyncio.to_thread(_request_secure_status, host, address, limit_s)
            return await _request_status(host, address)


async def _check_file(text: str, folder: str) -> str | None:
    path = _resolve(text, folder)
    return f"The file is there: {path}" if _exists(path) else None


def _resolve(text: str, folder: str) -> str:
    return os.path.join(folder, os.path.expanduser(text))


def _exists(path: str) -> bool:
    return os.path.exists(path)


async def _request_status(host: str, address: HttpAddress) -> int:
    """Send a GET request and return the status. Raise ValueError for an answer that is not HTTP."""
    reader, writer = await asyncio.open_connection(host, address.port, limit=_LONGEST_ANSWER)
    try:
        request = f"GET {address.path} HTTP/1.1\r\nHost: {address.authority}\r\nConnection: close\r\n\r\n"
        writer.write(request.encode("ascii"))
        version, code, *_ = (await reader.readline()).split(None, 2)
        if not version.startswith(b"HTTP/") or len(code) != 3:
            raise ValueError
        return int(code)
    finally:
        writer.close()


def _request_secure_status(host: str, address: HttpAddress, limit_s: float) -> int:
    """Return the same by https, from a server whose certificate this machine trusts."""
    import http.client  # few watches need it

    connection = http.client.HTTPSConnection(host, address.port, timeout=limit_s)
    try:
        connection.request("GET", address.path, headers={"Host": address.authority, "Connection": "close"})
        return connection.getresponse().status
    except http.client.HTTPException as error:
        raise ValueError from error
    finally:
        connection.close()
