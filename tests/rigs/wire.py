"""A raw MCP client: it sends any line and shows everything that comes back."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from tests.rigs import fork_server
from tests.rigs.fork_server import ForkedProcess
from tests.rigs.homes import make_home
from tests.rigs.waiting import end_server, server_pid

LIMIT_S = float(os.environ.get("MUXPILOT_PATIENCE_S", "40"))  # more where many things run at once
LONGEST_LINE = 1 << 24
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}

TMUX = shutil.which("tmux") or "tmux"  # found once: a test may hide it

_MAIN = "\nimport sys\nfrom muxpilot.cli.main import main\nsys.exit(main(sys.argv[1:]))\n"

Message = dict[str, Any]
Process = asyncio.subprocess.Process | ForkedProcess


def environment(home: Path) -> dict[str, str]:
    """Return a server's environment, with nothing of the person who runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "TERM") if name in os.environ}
    return {**kept, "HOME": str(home), "SHELL": "/bin/sh", "PS1": "$ ", "LANG": "C.UTF-8"}


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "muxpilot", *args]


class Pending(asyncio.Future[Message]):
    """A pending answer, and the id of its request."""

    id: int


class Wire:
    """One server process. Answers are matched by their id, everything else is kept in order."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.notices: list[Message] = []
        self.unasked: list[Message] = []
        self.envelope: Message | None = None
        self._ids = count(1)
        self._waiting: dict[int | str, Pending] = {}
        self._received = asyncio.Event()
        self._pump = asyncio.create_task(self._listen())

    @property
    def pid(self) -> int:
        return self.process.pid

    async def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        async with asyncio.timeout(LIMIT_S):
            await self.process.stdin.drain()

    async def send(self, message: object) -> None:
        await self.write(json.dumps(message).encode() + b"\n")

    async def start(self, method: str, params: Message | None = None) -> Pending:
        """Send a request, and do not wait for its answer."""
        pending = Pending()
        pending.id = next(self._ids)
        self._waiting[pending.id] = pending
        request = {"jsonrpc": "2.0", "id": pending.id, "method": method, "params": self._params(params)}
        await self.send(request)
        return pending

    async def start_call(self, tool: str, **arguments: Any) -> Pending:
        return await self.start("tools/call", {"name": tool, "arguments": arguments})

    async def ask(self, method: str, params: Message | None = None, *, limit_s: float = LIMIT_S) -> Message:
        """Send a request and return its whole answer, result or error."""
        return await asyncio.wait_for(await self.start(method, params), limit_s)

    async def result(self, method: str, params: Message | None = None) -> Any:
        answer = await self.ask(method, params)
        assert "result" in answer, answer
        return answer["result"]

    async def error(self, method: str, params: Message | None = None) -> Any:
        answer = await self.ask(method, params)
        assert "error" in answer, answer
        return answer["error"]

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and return the data of its answer, which must be no error."""
        result = await self.result("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result.get("structuredContent", result["content"][0]["text"])

    async def notify(self, method: str, params: Message | None = None) -> None:
        await self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    async def shake_hands(self, version: str = HANDSHAKE_VERSIONS[-1]) -> Message:
        client = {"name": "wire", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        result: Message = await self.result("initialize", params)
        await self.notify("notifications/initialized")
        return result

    def use_modern_revision(self) -> None:
        self.envelope = ENVELOPE

    async def wait_for_notification(
        self, wanted: Callable[[Message], bool], *, limit_s: float = LIMIT_S
    ) -> Message:
        """Wait for the first notification that matches, and remove it."""
        return await self._wait_for_first(self.notices, wanted, limit_s)

    async def next_unmatched_answer(self) -> Message:
        """Return the next answer that belongs to no request of ours."""
        return await self._wait_for_first(self.unasked, lambda message: True, LIMIT_S)

    async def stop_reading(self) -> None:
        """Stop reading, as a client does that hangs."""
        self._pump.cancel()
        await asyncio.wait([self._pump])

    def resume_reading(self) -> None:
        self._pump = asyncio.create_task(self._listen())

    async def wait_until_all_read(self) -> None:
        """Wait until everything that the server wrote has been read."""
        await asyncio.wait_for(asyncio.wait([self._pump]), LIMIT_S)
        self._pump.result()

    async def close_stdin(self) -> int:
        """Close stdin and wait until the server has ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.wait_for_exit()

    async def wait_for_exit(self, limit_s: float = LIMIT_S) -> int:
        return await asyncio.wait_for(self.process.wait(), limit_s)

    async def stderr(self) -> str:
        assert self.process.stderr is not None
        return (await self.process.stderr.read()).decode()

    async def kill(self) -> None:
        """End the server by SIGKILL, and read the answers that it had written."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.wait_for_exit()
        await self.wait_until_all_read()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the server for the time of the block, without its knowledge, as a laptop's sleep does."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    async def close(self) -> None:
        """End the server by closing stdin, so that it cleans up. Kill one that stays."""
        try:
            await asyncio.wait_for(self.close_stdin(), 5)
        except TimeoutError:
            with suppress(ProcessLookupError):  # it may end just now
                self.process.kill()
            await self.process.wait()
        await self.stop_reading()
        close_pipes(self.process)

    def _params(self, params: Message | None) -> Message:
        return {**(params or {}), **({"_meta": self.envelope} if self.envelope else {})}

    async def _wait_for_first(
        self, kept: list[Message], wanted: Callable[[Message], bool], limit_s: float
    ) -> Message:
        async with asyncio.timeout(limit_s):
            while True:
                for message in kept:
                    if wanted(message):
                        kept.remove(message)
                        return message
                self._received.clear()
                await self._received.wait()

    async def _listen(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            if not line.endswith(b"\n") and await self.process.wait() == -signal.SIGKILL:
                return  # it was killed while it wrote
            self._file_message(json.loads(line))
            self._received.set()

    def _file_message(self, message: Message) -> None:
        """Keep a message. Anything but JSON-RPC fails here."""
        assert message["jsonrpc"] == "2.0", message
        if "method" in message:
            assert "id" not in message, message
            self.notices.append(message)
            return
        future = self._waiting.pop(message["id"], None)
        if future is None:
            self.unasked.append(message)
        elif not future.done():
            future.set_result(message)


@asynccontextmanager
async def serving(
    home: Path,
    *args: str,
    program: str | None = None,
    prelude: str = "",
    is_new: bool = False,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Wire]:
    """Run a server on the other end of pipes: forked, or a new process, or a Python `program`.

    A `prelude` is Python that the server's process runs before muxpilot's main function.
    """
    variables = {**environment(home), **(env or {})}
    if program is not None:
        wire = Wire(await new_process([sys.executable, "-c", program, *args], variables, home))
    else:
        wire = Wire(await start_server(args, variables, home, is_new=is_new, prelude=prelude))
    try:
        yield wire
    finally:
        await wire.close()


async def start_server(
    args: Sequence[str], env: dict[str, str], cwd: Path, *, is_new: bool = False, prelude: str = ""
) -> Process:
    """Start muxpilot with three pipes: forked where that is possible, or as a new process."""
    if not is_new and fork_server.IS_AVAILABLE:
        return await fork_server.fork(args, env, cwd, LONGEST_LINE, prelude=prelude)
    if prelude:
        return await new_process([sys.executable, "-c", prelude + _MAIN, *args], env, cwd)
    return await new_process(command(*args), env, cwd)


async def new_process(argv: list[str], env: dict[str, str], cwd: Path) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=cwd, limit=LONGEST_LINE
    )


def close_pipes(process: Process) -> None:
    """Close our ends of the pipes of a process that has ended."""
    if isinstance(process, ForkedProcess):
        process.close()
    else:
        process._transport.close()  # type: ignore[attr-defined]


class Place:
    """A short folder of its own, with a home, a folder for passing files and the socket of a private tmux."""

    def __init__(self, folder: Path, program: str = TMUX) -> None:
        self.program = program
        self.home = folder / "home"
        self.passing = folder / "tmp"
        self.socket = str(folder / "s")
        make_home(self.home)
        self.passing.mkdir()
        self.path = f"{self._make_tmux(folder / 'bin')}:{os.environ['PATH']}"

    def _make_tmux(self, programs: Path) -> Path:
        """Create a tmux that does not read the system's configuration."""
        programs.mkdir()
        (programs / "tmux").write_text(f'#!/bin/sh\nexec {shlex.quote(self.program)} -f /dev/null "$@"\n')
        (programs / "tmux").chmod(0o755)
        return programs

    def serve(
        self, *args: str, program: str | None = None, prelude: str = "", is_new: bool = False
    ) -> AbstractAsyncContextManager[Wire]:
        where = ("--socket", self.socket)
        env = {"TMPDIR": str(self.passing), "PATH": self.path}
        return serving(self.home, *where, *args, program=program, prelude=prelude, is_new=is_new, env=env)

    def tmux(self, *args: str) -> str:
        """What a person would type."""
        argv = [self.program, "-u", "-S", self.socket, "-f", "/dev/null", *args]
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=environment(self.home)
        )
        assert done.returncode == 0, f"{args}: {done.stderr}"
        return done.stdout.rstrip("\n")

    @contextmanager
    def tmux_stopped(self) -> Iterator[None]:
        """Stop tmux, so that it neither answers nor ends, until the block ends."""
        pid = server_pid(self.program, self.socket)
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def private_place(program: str = TMUX) -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    place = Place(folder, program)
    try:
        yield place
    finally:
        end_server(place.program, place.socket)
        shutil.rmtree(folder, ignore_errors=True)
