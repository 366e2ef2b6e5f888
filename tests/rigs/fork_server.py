"""A process that has imported muxpilot, and forks into a muxpilot server for each test that asks.

A new Python that imports muxpilot costs a quarter of a second of CPU; a fork costs a few milliseconds. The
forked server has the arguments, environment, folder and descriptors of a new process. Tests about the
start, the end or the memory of a process use a new one.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

IS_AVAILABLE = hasattr(os, "pidfd_open")  # Linux

_MOST_BYTES = 1 << 16
_MODULES = ("muxpilot.cli.serve", "muxpilot.server.lifecycle", "muxpilot.server.http_server")


class ForkedProcess:
    """A forked server, with the attributes of `asyncio.subprocess.Process` that the tests use."""

    def __init__(self, pid: int, status: asyncio.StreamReader, closing: asyncio.StreamWriter) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: asyncio.StreamWriter
        self.stdout: asyncio.StreamReader
        self.stderr: asyncio.StreamReader
        self._connection = closing
        self._transports: list[asyncio.BaseTransport] = []
        self._ending = asyncio.create_task(self._read_status(status))

    async def connect(self, stdin: int, stdout: int, stderr: int, limit: int) -> None:
        """Take our ends of the server's three pipes."""
        loop = asyncio.get_running_loop()
        writing, flow = await loop.connect_write_pipe(
            lambda: asyncio.streams.FlowControlMixin(loop), os.fdopen(stdin, "wb", 0)
        )
        self.stdin = asyncio.StreamWriter(writing, flow, None, loop)
        self.stdout = await self._read_pipe(stdout, limit)
        self.stderr = await self._read_pipe(stderr, limit)
        self._transports.append(writing)

    async def wait(self) -> int:
        return await asyncio.shield(self._ending)

    def send_signal(self, number: int) -> None:
        if self.returncode is not None:
            raise ProcessLookupError
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Close the pipes of a server that has ended."""
        for transport in self._transports:
            transport.close()
        self._connection.close()

    async def _read_pipe(self, descriptor: int, limit: int) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0)
        )
        self._transports.append(transport)
        return reader

    async def _read_status(self, status: asyncio.StreamReader) -> int:
        self.returncode = int(await status.readline())
        return self.returncode


async def fork(
    args: Sequence[str], env: dict[str, str], cwd: Path, limit: int, *, prelude: str = ""
) -> ForkedProcess:
    """Start `muxpilot ARGS` in a fork of the process that has imported it. Run the prelude there first."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(_socket_path())
    pipes = [os.pipe(), os.pipe(), os.pipe()]
    theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
    asked = json.dumps({"args": list(args), "env": env, "cwd": str(cwd), "prelude": prelude}).encode()
    assert len(asked) < _MOST_BYTES
    socket.send_fds(connection, [asked], theirs)
    for descriptor in theirs:
        os.close(descriptor)
    status, closing = await asyncio.open_unix_connection(sock=connection)
    process = ForkedProcess(int(await status.readline()), status, closing)
    await process.connect(pipes[0][1], pipes[1][0], pipes[2][0], limit)
    return process


@cache
def _socket_path() -> str:
    """Start the process to fork from, once for each pytest process, and return the path of its socket."""
    folder = tempfile.mkdtemp(prefix="mxf", dir="/tmp")
    path = f"{folder}/s"
    argv = [sys.executable, __file__, path]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"

    def stop() -> None:
        process.communicate()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return path


def _serve(path: str) -> None:
    """Fork for each connection until stdin ends, and report the pid and the exit code to the connection."""
    for name in _MODULES:
        __import__(name)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(100)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    gc.collect()
    gc.freeze()  # so that a child's collector does not copy the pages of what was imported
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj == 0:
                    return
                if key.fileobj is listener:
                    _start(listener.accept()[0], selector)
                else:
                    _report(key, selector)


def _start(connection: socket.socket, selector: selectors.BaseSelector) -> None:
    message, descriptors, _, _ = socket.recv_fds(connection, _MOST_BYTES, 3)
    pid = os.fork()
    if pid == 0:
        _become_server(json.loads(message), descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    connection.sendall(b"%d\n" % pid)
    selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, connection))


def _report(key: selectors.SelectorKey, selector: selectors.BaseSelector) -> None:
    pid, connection = key.data
    selector.unregister(key.fileobj)
    os.close(key.fd)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(OSError):  # the test may have ended
        connection.sendall(b"%d\n" % code)
    connection.close()


def _become_server(asked: dict[str, Any], descriptors: list[int]) -> NoReturn:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    sys.argv = ["muxpilot", *asked["args"]]
    code: object = 1
    try:
        from muxpilot.cli.main import main

        exec(asked["prelude"], {})
        code = main(sys.argv[1:])
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - shown as a new process would show it
        sys.excepthook(*sys.exc_info())
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    _serve(sys.argv[1])
