"""A client, a server and a tmux to test tools with; `raw` does what a person does in that tmux."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from mcp.client.session import ClientSession
from mcp.shared.message import SessionMessage

from tests.rigs.homes import make_home
from tests.rigs.waiting import LIMIT_S, end_server, eventually
from tests.rigs.wire import Process, close_pipes, start_server

PROMPT = "ready> "

Received = MemoryObjectReceiveStream[SessionMessage | Exception]
Sent = MemoryObjectSendStream[SessionMessage]


@dataclass(frozen=True)
class MadeSession:
    """The ids of a session that a test created."""

    session: str
    name: str
    window: str
    pane: str


@dataclass
class Rig:
    client: ClientSession
    folder: Path
    socket: str
    tools: Mapping[str, types.Tool] = field(default_factory=dict)
    _checkers: dict[str, Validator] = field(default_factory=dict)

    @property
    def canary(self) -> Path:
        """Return a file that exists if a text was run that must not be."""
        return self.folder / "canary"

    async def ask(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        result = await self.client.call_tool(name, arguments, read_timeout_seconds=LIMIT_S)
        assert isinstance(result, types.CallToolResult)
        return result

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the structured answer, after checking its schema and that the text is the same."""
        result = await self.ask(name, arguments)
        text = only_text(result)
        assert not result.is_error, f"{name}: {text}"
        answer: dict[str, Any] | None = result.structured_content
        assert answer is not None
        self._checker(name).validate(answer)
        assert text == json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        return answer

    def _checker(self, name: str) -> Validator:
        """Check the schema itself once: that takes a hundred times longer than checking an answer."""
        if name not in self._checkers:
            schema = self.tools[name].output_schema
            assert schema is not None
            kind = validator_for(schema)
            kind.check_schema(schema)
            self._checkers[name] = kind(schema)
        return self._checkers[name]

    async def text(self, name: str, /, **arguments: Any) -> str:
        """Return the answer of a tool that answers with text."""
        result = await self.ask(name, arguments)
        assert not result.is_error, only_text(result)
        assert result.structured_content is None
        assert self.tools[name].output_schema is None
        return only_text(result)

    async def fails(self, name: str, /, **arguments: Any) -> str:
        result = await self.ask(name, arguments)
        text = only_text(result)
        assert result.is_error, f"{name} answered {text}"
        assert result.structured_content is None
        assert text.splitlines() == [text]
        return text

    def raw(self, *args: str, check: bool = True) -> str:
        """Run a tmux command as a person does."""
        argv = [_tmux(), "-u", "-S", self.socket, "-f", "/dev/null", *args]
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env=clean_environment(self.folder),
        )
        if check and done.returncode:
            raise AssertionError(f"{args}: {done.stderr}")
        return done.stdout.rstrip("\n")

    async def session_of_ours(self, name: str, command: str | None = None, **more: Any) -> MadeSession:
        answer = await self.call(
            "create-session", name=name, **({"command": command} if command else {}), **more
        )
        made = MadeSession(answer["sessionId"], answer["sessionName"], answer["windowId"], answer["paneId"])
        if command is None:
            await self.wait_until_shown(made.pane, PROMPT.strip())
            await self.wait_until_shell_reads(made.pane)
        return made

    async def wait_until_shell_reads(self, pane: str) -> None:
        """Wait until the shell reads its next line: a prompt is shown a moment before."""

        async def is_reading() -> bool:
            return bool((await self.call("pane-state", paneId=pane))["waitingFor"] == "shell")

        await eventually(is_reading)

    def session_of_a_person(self, name: str, *command: str) -> MadeSession:
        row = "#{session_id} #{window_id} #{pane_id}"
        size = ("-x", "200", "-y", "50")
        ids = self.raw("new-session", "-d", "-P", "-F", row, "-s", name, *size, *command).split()
        return MadeSession(ids[0], name, ids[1], ids[2])

    async def screen(self, pane: str) -> str:
        return await self.text("capture-pane", paneId=pane)

    async def wait_until_shown(self, pane: str, wanted: str) -> str:
        """Wait until a pane shows a text, and return its screen."""

        async def look() -> str:
            screen = await self.screen(pane)
            return screen if wanted in screen else ""

        return str(await eventually(look))

    async def wait_until_read(self, pane: str, wanted: str) -> str:
        """Wait until read-pane returns a text: the stream is a little later than the screen."""

        async def look() -> str:
            text = str((await self.call("read-pane", paneId=pane))["text"])
            return text if wanted in text else ""

        return str(await eventually(look))

    async def run(self, pane: str, command: str) -> None:
        """Type a command at a shell's prompt, and wait for the next prompt."""
        mark = f"done-{os.urandom(4).hex()}"
        await self.call("send-keys", paneId=pane, keys=f"{command}; echo {mark[:5]}''{mark[5:]}", enter=True)
        await self.wait_until_read(pane, f"{mark}\n{PROMPT}")


def only_text(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@asynccontextmanager
async def serving(scope: str, *, keeper: bool = True, config: str | None = None) -> AsyncIterator[Rig]:
    """Yield a server of a scope. A person's session keeps tmux running, whatever a test kills."""
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    make_home(folder / "home")
    (folder / "home" / ".profile").write_text(f"PS1='{PROMPT}'\n")
    if config is not None:
        (folder / "config.toml").write_text(config)
    socket = str(folder / "s")
    try:
        async with _connect(scope, folder, socket) as client:
            rig = Rig(client, folder, socket)
            listed = await client.list_tools()
            rig.tools = {tool.name: tool for tool in listed.tools}
            if keeper:
                rig.session_of_a_person("keeper")
            yield rig
    finally:
        end_server(_tmux(), socket)
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def _connect(scope: str, folder: Path, socket: str) -> AsyncIterator[ClientSession]:
    """Run the client in one task: a fixture's set-up and tear-down may be two."""
    ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
    leave = asyncio.Event()
    task = asyncio.create_task(_client(scope, folder, socket, ready, leave))
    try:
        async with asyncio.timeout(LIMIT_S):
            client = await ready
        yield client
    finally:
        leave.set()
        await task


async def _client(
    scope: str, folder: Path, socket: str, ready: asyncio.Future[ClientSession], leave: asyncio.Event
) -> None:
    process = await start_server(["--scope", scope, "--socket", socket], clean_environment(folder), folder)
    async with _streams(process) as (reader, writer), ClientSession(reader, writer) as client:
        await client.initialize()
        ready.set_result(client)
        await leave.wait()


@asynccontextmanager
async def _streams(process: Process) -> AsyncIterator[tuple[Received, Sent]]:
    """Yield the two streams of the SDK's client, joined to a server's pipes; then end the server."""
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout
    arriving, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, leaving = anyio.create_memory_object_stream[SessionMessage](0)

    async def receive() -> None:
        async with arriving:
            while line := await stdout.readline():
                message = SessionMessage(types.jsonrpc_message_adapter.validate_json(line))
                with suppress(anyio.BrokenResourceError):  # a notification after the client has left
                    await arriving.send(message)

    async def send() -> None:
        async with leaving:
            async for item in leaving:
                stdin.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await stdin.drain()

    try:
        async with received, sent, anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            tasks.start_soon(send)
            yield received, sent
            stdin.close()
            await asyncio.wait_for(process.wait(), LIMIT_S)
            tasks.cancel_scope.cancel()
    finally:
        close_pipes(process)


def clean_environment(folder: Path) -> dict[str, str]:
    """Return an environment with nothing of the person who runs the tests."""
    config = folder / "config.toml"
    return {
        **({"TMUX_MCP_CONFIG": str(config)} if config.exists() else {}),
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "SHELL": "/bin/sh",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "USER": "nobody",
        "LOGNAME": "nobody",
        "CANARY": str(folder / "canary"),
    }


def _tmux() -> str:
    return shutil.which("tmux") or "tmux"
