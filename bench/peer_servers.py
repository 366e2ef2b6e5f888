"""The tmux servers that `peers.py` compares: how each is started, and how its tools are called."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

CACHE = Path(__file__).parents[1] / ".cache" / "peers"
ANSWER_LIMIT_S = 180
START_LIMIT_S, START_TRIES = 60, 3
COMMAND_LIMIT_S = 5
LONGEST_LINE = 1 << 24
SIZE = "200x50"
COMMAND = "command"  # so all of them call what is to be run


@dataclass(frozen=True, slots=True)
class Way:
    """A tool and its arguments; `<pane>`, `<text>` and `<name>` stand for what they are given."""

    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)

    def filled(self, **given: str) -> dict[str, object]:
        filled: dict[str, object] = json.loads(_filled(json.dumps(self.arguments), given))
        return filled


def _filled(text: str, given: Mapping[str, str]) -> str:
    for name, value in given.items():
        text = text.replace(f"<{name}>", json.dumps(value)[1:-1])
    return text


@dataclass(frozen=True, slots=True)
class Peer:
    """A server, where it is from, and how its documentation says it is used."""

    name: str
    source: str
    create: Way
    list_panes: Way
    list_sessions: Way
    send: Way
    run: Way
    exit_code: str = "exit_code"
    result: Way | None = None
    wait: Way | None = None
    for_long_output: Mapping[str, object] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return CACHE / self.name

    @property
    def argv(self) -> list[str]:
        return [str(self.folder / "bin" / self.name)]

    @property
    def is_there(self) -> bool:
        return Path(self.argv[0]).exists()

    def install(self) -> None:
        """Into a folder of its own; nothing of it is ours."""
        if self.source == "PyPI":
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(self.folder)], check=True)
            pip = [str(self.folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, "--disable-pip-version-check", self.name], check=True)
        else:
            cargo = ["cargo", "install", "--quiet", "--locked", "--root", str(self.folder), self.name]
            subprocess.run(cargo, check=True)

    def version(self) -> str:
        if self.source == "PyPI":
            code = f"from importlib.metadata import version; print(version('{self.name}'))"
            argv = [str(self.folder / "bin" / "python"), "-c", code]
            return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
        installed = (self.folder / ".crates.toml").read_text()
        found = re.search(rf'"{self.name} (\S+) ', installed)
        return found[1] if found else "?"


class Muxpilot(Peer):
    __slots__ = ()

    @property
    def argv(self) -> list[str]:
        return [sys.executable, "-m", "muxpilot"]


OURS = Muxpilot(
    name="muxpilot",
    source="here",
    create=Way("create-session", {"name": "<name>", "width": 200, "height": 50}),
    list_panes=Way("list-panes"),
    list_sessions=Way("list-sessions"),
    send=Way("send-keys", {"paneId": "<pane>", "keys": "<text>"}),
    run=Way("execute-command", {"paneId": "<pane>", "command": "<text>", "timeoutSeconds": COMMAND_LIMIT_S}),
    exit_code="exitCode",
    wait=Way("watch-pane", {"paneId": "<pane>", "triggers": "pattern:<text>", "timeout": 20}),
)
RIVALS = (
    Peer(
        name="libtmux-mcp",
        source="PyPI",
        create=Way("create_session", {"session_name": "<name>", "x": 200, "y": 50}),
        list_panes=Way("list_panes"),
        list_sessions=Way("list_sessions"),
        send=Way("send_keys", {"pane_id": "<pane>", "keys": "<text>", "literal": True, "enter": False}),
        run=Way("run_command", {"pane_id": "<pane>", "command": "<text>", "timeout": COMMAND_LIMIT_S}),
        exit_code="exit_status",
        wait=Way("wait_for_text", {"pane_id": "<pane>", "patterns": ["<text>"], "timeout": 20}),
    ),
    Peer(
        name="tmux-mcp-server",
        source="PyPI",
        create=Way("create_session", {"name": "<name>", "width": 200, "height": 50}),
        list_panes=Way("list_panes", {"all_panes": True}),
        list_sessions=Way("list_sessions"),
        send=Way("send_keys", {"target": "<pane>", "keys": "<text>"}),
        run=Way("run_command", {"target": "<pane>", "command": "<text>", "timeout": COMMAND_LIMIT_S}),
    ),
    Peer(
        name="mcp-tmux",
        source="PyPI",
        create=Way("tmux_new_session", {"name": "<name>", "width": 200, "height": 50}),
        list_panes=Way("tmux_list_panes"),
        list_sessions=Way("tmux_list", {"kind": "session"}),
        send=Way("tmux_send_keys", {"target_pane": "<pane>", "text": "<text>"}),
        run=Way("tmux_run", {"target_pane": "<pane>", "command": "<text>", "timeout": COMMAND_LIMIT_S}),
        wait=Way("tmux_wait_for_text", {"target_pane": "<pane>", "pattern": "<text>", "timeout": 20}),
        for_long_output={"history": 10_000},
    ),
    Peer(
        name="tmux-mcp-rs",
        source="crates.io",
        create=Way("create-session", {"name": "<name>"}),
        list_panes=Way("list-panes", {"windowId": "@0"}),  # it lists one window's
        list_sessions=Way("list-sessions"),
        send=Way("send-keys", {"paneId": "<pane>", "keys": "<text>", "literal": True}),
        run=Way(
            "execute-command", {"paneId": "<pane>", "command": "<text>", "waitMs": COMMAND_LIMIT_S * 1000}
        ),
        result=Way("get-command-result", {"commandId": "<id>", "waitMs": COMMAND_LIMIT_S * 1000}),
        exit_code="exitCode",
    ),
    Peer(
        name="tmux-mcp",
        source="crates.io",
        create=Way("create_session", {"name": "<name>"}),
        list_panes=Way("list_panes"),
        list_sessions=Way("list_sessions"),
        send=Way("send_keys", {"pane": "<pane>", "text": "<text>"}),
        run=Way("run_shell_command", {"pane": "<pane>", "command": "<text>", "seconds": COMMAND_LIMIT_S}),
        exit_code="exit_status",
        wait=Way("wait_for_text", {"pane": "<pane>", "patterns": ["<text>"], "seconds": 20}),
    ),
)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a server said of a command."""

    lines: Sequence[str]
    exit_code: int | None
    seconds: float


class NoAnswer(RuntimeError):
    pass


class Client:
    """One server process, asked one thing at a time."""

    def __init__(self, peer: Peer, process: asyncio.subprocess.Process, home: str) -> None:
        self.peer = peer
        self.home = home
        self.refusals: list[str] = []
        self._process = process
        self._ids = count(1)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ask(self, method: str, params: Mapping[str, object], limit_s: float = ANSWER_LIMIT_S) -> Any:
        number = next(self._ids)
        self._write({"id": number, "method": method, "params": params})
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(limit_s):
                while line := await self._process.stdout.readline():
                    message = json.loads(line)
                    if message.get("id") == number and "result" in message:
                        return message["result"]
                    if message.get("id") == number:
                        raise RuntimeError(f"{self.peer.name}, {method}: {message.get('error')}")
        except TimeoutError:
            raise NoAnswer(f"{self.peer.name}, {method} {params}: no answer") from None
        raise RuntimeError(f"{self.peer.name} has ended")

    async def tools(self) -> Any:
        who = {"name": "bench", "version": "1"}
        given = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}
        await self.ask("initialize", given)
        self._write({"method": "notifications/initialized"})
        return await self.ask("tools/list", {}, START_LIMIT_S)

    async def call(self, way: Way, **given: str) -> Any:
        """The answer's text as what it stands for; all of these servers write JSON."""
        return await self.call_with(way.tool, way.filled(**given))

    async def call_with(self, tool: str, arguments: Mapping[str, object]) -> Any:
        result = await self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(block["text"] for block in result["content"])
        # A server may call the answer of a command that ended with another code than 0 an error.
        if result.get("isError") and not text.startswith("{"):
            raise RuntimeError(f"{self.peer.name}, {tool}: {text}")
        try:
            return json.loads(text)
        except ValueError:
            return text

    async def new_pane(self, session: str, command: str | None = None) -> str:
        """A fresh pane of its own making, with its shell at the prompt, or with another program."""
        await self.call(self.peer.create, name=session)
        pane = max(
            self.tmux("list-panes", "-a", "-F", "#{pane_id}").split(), key=lambda found: int(found[1:])
        )
        if command is not None:
            self.tmux("respawn-pane", "-k", "-t", pane, command)
            return pane
        give_up = time.monotonic() + ANSWER_LIMIT_S
        while not self.tmux("capture-pane", "-p", "-t", pane).strip() and time.monotonic() < give_up:
            time.sleep(0.02)  # noqa: ASYNC251 - nobody else is served meanwhile
        return pane

    def tmux(self, *args: str) -> str:
        """What a person would type."""
        env = os.environ | {"TMUX_TMPDIR": self.home, "HOME": self.home}
        env.pop("TMUX", None)
        done = subprocess.run(["tmux", "-u", *args], env=env, capture_output=True, text=True, check=True)
        return done.stdout

    async def run(self, pane: str, command: str, **options: object) -> Ran:
        peer = self.peer
        began = time.perf_counter()
        given = peer.run.filled(pane=pane, text=command) | options
        answer = await self._answer(given)
        while self._has_to_wait(answer) and time.perf_counter() - began < COMMAND_LIMIT_S:
            self.refusals.append(str(answer))
            answer = await self._answer(given)
        if not isinstance(answer, dict) or not {"output", "status", peer.exit_code} & set(answer):
            raise RuntimeError(f"{peer.name}, {peer.run.tool}: {answer}")
        output, code = answer.get("output") or "", answer.get(peer.exit_code)
        lines = output.splitlines() if isinstance(output, str) else output
        return Ran(lines, None if code == -1 else code, time.perf_counter() - began)

    async def _answer(self, given: Mapping[str, object]) -> Any:
        """Of some the first answer is an id, by which the result is asked for; its output may come later."""
        answer = await self.call_with(self.peer.run.tool, given)
        if self.peer.result is None:
            return answer
        for _ in range(1 if given[COMMAND] == "true" else 20):  # `true` has no output to wait for
            found = await self.call(self.peer.result, id=answer["commandId"])
            if "output" in found or found["status"] == "running":
                break
            await asyncio.sleep(0.05)
        return found

    def _has_to_wait(self, answer: object) -> bool:
        """A pane that is not ready yet is refused by some; whoever asks again at once is served."""
        if self.peer.result is not None:
            return False
        return isinstance(answer, dict) and "output" not in answer and self.peer.exit_code not in answer

    async def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 10)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def _write(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


async def start(peer: Peer, home: str) -> Client:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *peer.argv,
        stdin=pipe,
        stdout=pipe,
        stderr=asyncio.subprocess.DEVNULL,
        limit=LONGEST_LINE,
        cwd=home,
        env=kept | {"HOME": home, "TMUX_TMPDIR": home, "SHELL": "/bin/bash", "TERM": "xterm-256color"},
    )
    return Client(peer, process, home)


@contextmanager
def private_home() -> Iterator[str]:
    """A folder that is HOME and holds the socket of the tmux that `tmux` then means; it runs already."""
    folder = tempfile.mkdtemp(prefix="mx", dir="/tmp")
    (Path(folder) / ".tmux.conf").write_text(f"set -g default-size {SIZE}\nset -g default-shell /bin/bash\n")
    env = os.environ | {"TMUX_TMPDIR": folder, "HOME": folder, "SHELL": "/bin/bash"}
    env.pop("TMUX", None)
    try:
        subprocess.run(["tmux", "-u", "new-session", "-d", "-s", "keeper", "exec cat"], env=env, check=True)
        yield folder
    finally:
        subprocess.run(["tmux", "kill-server"], env=env, stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(folder, ignore_errors=True)


async def begun(peer: Peer, home: str) -> tuple[Client, Any, float]:
    """A server, its list of tools, and the seconds that both took.

    One that lost the question is started again: of tmux-mcp-rs that is one start in twelve."""
    for _ in range(START_TRIES):
        began = time.perf_counter()
        client = await start(peer, home)
        try:
            return client, await client.tools(), time.perf_counter() - began
        except NoAnswer as failure:
            print(failure, file=sys.stderr)
            await client.close()
    raise RuntimeError(f"{peer.name} does not start")
