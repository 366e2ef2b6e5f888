"""The process behind `--http-workers N`: it starts N workers on one listening socket, and keeps them running.

A worker is a new process with the listening socket. What it shall do comes by its stdin; the end of stdin
means that the supervisor has ended, so a worker ends too, however its supervisor ended. A worker writes its
address to its stdout when it serves.
"""

from __future__ import annotations

import asyncio
import pickle
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from muxpilot.config.model import HttpSettings, Settings
from muxpilot.records import record
from muxpilot.tasks import TaskSet
from muxpilot.trace import area

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_PROGRAM = (sys.executable, "-P", "-m", "muxpilot.cli.http_worker")
# A worker that ends again and again is started once in this time.
_RESTART_S = 1.0
_START_S = 60.0
# A worker ends within about two seconds. One that does not is killed.
_STOP_S = 5.0

_trace = area("server").child(transport="http")


@record
class WorkerOrder:
    """What a worker shall serve. `listeners` are inherited descriptors with the family of each.

    The supervisor has read the configuration and the token, so that a worker that is started again serves the
    same. `folder` has the sockets by which workers reach each other.
    """

    number: int
    settings: Settings
    token: bytes | None
    listeners: tuple[tuple[int, int], ...]
    folder: Path

    def open_listeners(self) -> list[socket.socket]:
        """Return the inherited sockets."""
        # The protocol is given because asyncio disables Nagle's algorithm only then.
        kind, protocol = socket.SOCK_STREAM, socket.IPPROTO_TCP
        return [socket.socket(family, kind, protocol, fileno=number) for number, family in self.listeners]


class Supervisor:
    """Starts the workers, starts each again that ends, and ends all when a signal arrives."""

    def __init__(self, orders: Sequence[WorkerOrder]) -> None:
        self._orders = orders
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        self._tasks = TaskSet(_trace)
        self._stopped = asyncio.Event()
        # Set when the first worker serves, or when there is nothing more to wait for.
        self._decided = asyncio.Event()
        self._address = ""
        self._code = 0

    async def run(self, announce: Callable[[str], None]) -> int:
        """Serve until a signal arrives, and return the exit code.

        Start one worker first: what is wrong with the settings is then told once.
        """
        for number in STOP_SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._stop)
        first, *rest = self._orders
        self._tasks.start(self._keep_running(first))
        try:
            await asyncio.wait_for(self._decided.wait(), _START_S)
        except TimeoutError:
            _trace.error("the first worker does not serve in time", seconds=_START_S)
            self._fail(1)
        if not self._stopped.is_set():
            announce(self._address)
            for order in rest:
                self._tasks.start(self._keep_running(order))
        await self._stopped.wait()
        await self._end_workers()
        return self._code

    def _stop(self) -> None:
        self._stopped.set()
        self._decided.set()

    def _fail(self, code: int) -> None:
        self._code = code
        self._stop()

    async def _keep_running(self, order: WorkerOrder) -> None:
        trace = _trace.child(worker=order.number)
        now = asyncio.get_running_loop().time
        while not self._stopped.is_set():
            began = now()
            code = await self._run_worker(order)
            if self._stopped.is_set():
                trace.debug("worker ended", code=code)
            elif not self._address:  # it has told why
                self._fail(code if code > 0 else 1)
            else:
                trace.warning("worker ended and is started again", code=code)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopped.wait(), max(0.0, began + _RESTART_S - now()))

    async def _run_worker(self, order: WorkerOrder) -> int:
        """Run a worker until it ends, and return its exit code."""
        try:
            process = await _start_process(order)
        except OSError as error:  # too many processes, or no memory
            _trace.warning("worker cannot be started", worker=order.number, error=error)
            return 1
        self._processes[order.number] = process
        _trace.info("worker started", worker=order.number, pid=process.pid)
        if self._stopped.is_set():
            process.terminate()
        await self._instruct(process, order)
        code = await process.wait()
        del self._processes[order.number]
        return code

    async def _instruct(self, process: asyncio.subprocess.Process, order: WorkerOrder) -> None:
        """Tell a worker what to serve, and wait until it serves or ends."""
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):  # it has ended already
            process.stdin.write(pickle.dumps(order))
            await process.stdin.drain()
        if address := await process.stdout.readline():
            _trace.debug("worker serves", worker=order.number)
            self._address = address.decode().strip()
            self._decided.set()

    async def _end_workers(self) -> None:
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                process.terminate()
        await self._tasks.wait(_STOP_S)
        for number, process in self._processes.items():
            _trace.warning("worker is killed because it does not end", worker=number)
            with suppress(ProcessLookupError):
                process.kill()
        await self._tasks.wait(_STOP_S)
        _trace.info("stopped", workers=len(self._orders))


async def _start_process(order: WorkerOrder) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *_PROGRAM,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        pass_fds=[descriptor for descriptor, _ in order.listeners],
        start_new_session=True,  # so that Ctrl-C in a terminal reaches only us, and we end the workers
    )


def plan_workers(
    settings: Settings,
    http: HttpSettings,
    *,
    token: bytes | None,
    listeners: Sequence[socket.socket],
    folder: Path,
) -> list[WorkerOrder]:
    """Return what each worker shall serve. Their numbers begin with 1."""
    rows = tuple((each.fileno(), int(each.family)) for each in listeners)
    return [
        WorkerOrder(number, settings, token=token, listeners=rows, folder=folder)
        for number in range(1, http.workers + 1)
    ]
