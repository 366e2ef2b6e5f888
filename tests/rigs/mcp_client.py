"""The bench on which tools are tried: a client, a server, a tmux, and a person's hands on that tmux."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.rigs.waiting import LIMIT_S, end_server, eventually

PROMPT = "ready> "


@dataclass(frozen=True)
class Made:
    """The ids of a session that a test made."""

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
        """A file that is there when a text was run that should not have been."""
        return self.folder / "canary"

    async def ask(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        result = await self.client.call_tool(name, arguments, read_timeout_seconds=LIMIT_S)
        assert isinstance(result, types.CallToolResult)
        return result

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The structured answer; it keeps its own schema, and the text says the same."""
        result = await self.ask(name, arguments)
        text = only_text(result)
        assert not result.is_error, f"{name}: {text}"
        answer: dict[str, Any] | None = result.structured_content
        assert answer is not None
        self._checker(name).validate(answer)
        assert text == json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        return answer

    def _checker(self, name: str) -> Validator:
        """The schema itself is checked once: that takes a hundred times longer than to check an answer."""
        if name not in self._checkers:
            schema = self.tools[name].output_schema
            assert schema is not None
            kind = validator_for(schema)
            kind.check_schema(schema)
            self._checkers[name] = kind(schema)
        return self._checkers[name]

    async def text(self, name: str, /, **arguments: Any) -> str:
        """The answer of a tool that answers with a body of text."""
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
        """What a person would type."""
        argv = [_tmux(), "-u", "-S", self.socket, "-f", "/dev/null", *args]
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=clean(self.folder)
        )
        if check and done.returncode:
            raise AssertionError(f"{args}: {done.stderr}")
        return done.stdout.rstrip("\n")

    async def session_of_ours(self, name: str, command: str | None = None, **more: Any) -> Made:
        answer = await self.call(
            "create-session", name=name, **({"command": command} if command else {}), **more
        )
        made = Made(answer["sessionId"], answer["sessionName"], answer["windowId"], answer["paneId"])
        if command is None:
            await self.shows(made.pane, PROMPT.strip())
        return made

    def session_of_a_person(self, name: str, *command: str) -> Made:
        row = "#{session_id} #{window_id} #{pane_id}"
        size = ("-x", "200", "-y", "50")
        ids = self.raw("new-session", "-d", "-P", "-F", row, "-s", name, *size, *command).split()
        return Made(ids[0], name, ids[1], ids[2])

    async def screen(self, pane: str) -> str:
        return await self.text("capture-pane", paneId=pane)

    async def shows(self, pane: str, wanted: str) -> str:
        """Wait until a pane shows this, and answer its screen."""

        async def look() -> str:
            screen = await self.screen(pane)
            return screen if wanted in screen else ""

        return str(await eventually(look))

    async def reads(self, pane: str, wanted: str) -> str:
        """The same by read-pane: what we pipe comes a little later than the screen."""

        async def look() -> str:
            text = str((await self.call("read-pane", paneId=pane))["text"])
            return text if wanted in text else ""

        return str(await eventually(look))

    async def run(self, pane: str, command: str) -> None:
        """Type a command at a shell's prompt, and wait until it stands at the next."""
        mark = f"done-{os.urandom(4).hex()}"
        await self.call("send-keys", paneId=pane, keys=f"{command}; echo {mark[:5]}''{mark[5:]}", enter=True)
        await self.reads(pane, f"{mark}\n{PROMPT}")


def only_text(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@asynccontextmanager
async def serving(scope: str, *, keeper: bool = True, config: str | None = None) -> AsyncIterator[Rig]:
    """A server of this scope; a person's session keeps tmux running, whatever a test ends."""
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    (folder / "home").mkdir()
    (folder / "home" / ".profile").write_text(f"PS1='{PROMPT}'\n")
    if config is not None:
        (folder / "config.toml").write_text(config)
    socket = str(folder / "s")
    try:
        async with _connected(scope, folder, socket) as client:
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
async def _connected(scope: str, folder: Path, socket: str) -> AsyncIterator[ClientSession]:
    """The client lives in one task from its beginning to its end: a fixture has two, and it must not."""
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
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "muxpilot", "--scope", scope, "--socket", socket],
        env=clean(folder),
        cwd=folder,
    )
    with (folder / "log").open("w") as log:
        async with (
            stdio_client(parameters, errlog=log) as (reader, writer),
            ClientSession(reader, writer) as client,
        ):
            await client.initialize()
            ready.set_result(client)
            await leave.wait()


def clean(folder: Path) -> dict[str, str]:
    """An environment that is nobody's."""
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
