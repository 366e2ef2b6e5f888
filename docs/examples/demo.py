"""`./dev run`: muxpilot at work, on a tmux of its own, through a real MCP client. Copy what you need."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

LIMIT_S = 100
WIDTH, HEIGHT = 80, 16
PROMPT = r"PS1='\[\e[1;32m\]demo\[\e[0m\]:\[\e[1;34m\]\w\[\e[0m\]$ '"
PICTURE = Path(__file__).parents[2] / ".cache" / "demo.png"
MENU = Path(__file__).with_name("menu.py")
ASK = 'read -rsp "Password: " secret; echo; echo "${#secret} characters"'
# What an agent needs of an answer, and a reader of this does not.
UNTOLD = {
    *("command", "commandId", "resourceUri", "paneState", "elapsed", "elapsedMs"),
    *("outputBytes", "outputTruncated", "timedOut", "waitingFor", "cursor", "screen", "processes"),
}


async def main(picture: Path) -> None:
    bin_folder = str(Path(sys.executable).parent)  # so that `python` is this one
    with tempfile.TemporaryDirectory(prefix="mx") as home:
        (Path(home) / "build.log").write_text("compiling\nerror: disk is full\n")
        (Path(home) / ".bash_profile").write_text(f"PATH={shlex.quote(bin_folder)}:$PATH\n{PROMPT}\n")
        shutil.copy(MENU, home)
        async with asyncio.timeout(LIMIT_S):
            await show(Path(home), picture)


@asynccontextmanager
async def connect(home: Path) -> AsyncIterator[Agent]:
    """Start a muxpilot as a client would, with all tools. Its home and tmux socket are private to this."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "SHELL": shutil.which("bash") or "/bin/sh",
        "LANG": "C.UTF-8",
    }
    muxpilot = [sys.executable, "-m", "muxpilot", "--scope", "all", "--socket", f"{home}/s"]
    # The shell writes down its process id, which muxpilot then has.
    args = ["-c", 'echo $$ > pid; exec "$@"', "sh", *muxpilot]
    server = StdioServerParameters(command="/bin/sh", args=args, env=env, cwd=home)
    async with stdio_client(server) as streams, ClientSession(*streams) as client:
        await client.initialize()
        yield Agent(client, int((home / "pid").read_text()))


async def show(home: Path, picture: Path) -> None:
    picture.parent.mkdir(exist_ok=True)
    cast = picture.with_suffix(".cast")
    cast.unlink(missing_ok=True)
    async with AsyncExitStack() as first:
        agent = await first.enter_async_context(connect(home))
        say("An agent opens a session, and records it for you:")
        session = await agent.call("create-session", name="demo", width=WIDTH, height=HEIGHT)
        pane = session["paneId"]
        await agent.call("record-pane", paneId=pane, action="start", path=str(cast))
        await run_commands(agent, pane)
        command = await begin_a_build(agent, pane)
    async with connect(home) as agent:
        await learn_its_end(agent, command)
        await ask_a_person(agent, home, pane)
        await walk_a_menu(agent, pane)
        await enter_a_shell(agent, pane)
        await start_a_server(agent, pane)
        say("What you would have seen in that pane, as text and as a picture:")
        shown = await agent.call("capture-pane", paneId=pane)
        print("\n".join(f"  | {line}" for line in shown.splitlines()))
        await agent.call("screenshot-pane", paneId=pane, path=str(picture))
        await agent.call("record-pane", paneId=pane, action="stop")
        await agent.call("kill-session", sessionId=session["sessionId"])
    film = replay(cast, picture.with_suffix(".gif"))
    print(f"\nThe picture: {picture}\nThe film: {film}")
    print("Next: README.md, or .venv/bin/muxpilot install CLIENT")


def replay(cast: Path, film: Path) -> Path:
    argv = [sys.executable, "-m", "muxpilot", "replay", str(cast), "--gif", str(film), "--speed", "0.1"]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S)
    return film


async def run_commands(agent: Agent, pane: str) -> None:
    say("One call runs a command on the real terminal: whole output, true exit code. `cd` lasts.")
    await agent.call("execute-command", paneId=pane, command="grep --color=auto -n error build.log")
    await agent.call("execute-command", paneId=pane, command="cd /usr/lib; grep fatal ~/build.log")
    await agent.call("execute-command", paneId=pane, command="pwd")


async def begin_a_build(agent: Agent, pane: str) -> str:
    """Start a command, kill muxpilot while it runs, and return the id of the command."""
    say("A command runs, and muxpilot is killed (SIGKILL):")
    command = await agent.call(
        "execute-command", paneId=pane, command="sleep 1; echo built; (exit 3)", waitMs=0
    )
    os.kill(agent.pid, signal.SIGKILL)
    return str(command["commandId"])


async def learn_its_end(agent: Agent, command: str) -> None:
    say("The next muxpilot knows the command, its output and its exit code:")
    await agent.call("get-command-result", commandId=command, waitMs=20_000)


async def ask_a_person(agent: Agent, home: Path, pane: str) -> None:
    say("A command wants a password. The agent asks you, in a popup of your tmux, and never sees it:")
    command = await agent.call("execute-command", paneId=pane, command=ASK)
    async with attached_person(f"{home}/s") as person:
        asked = asyncio.create_task(
            agent.call("ask-person", question="The password of the server?", paneId=pane, secret=True)
        )
        await person.wait_for(b"> ")
        person.type("open sesame\r")
        await asked
    await agent.call("get-command-result", commandId=command["commandId"], waitMs=20_000)


async def walk_a_menu(agent: Agent, pane: str) -> None:
    say("A menu is walked in one call, which answers what it did:")
    await agent.call("execute-command", paneId=pane, command="python ~/menu.py 8")
    keys = "Down Down Down Enter"
    await agent.call("send-keys", paneId=pane, keys=keys, literal=False, until="prompt", timeoutMs=20_000)


async def enter_a_shell(agent: Agent, pane: str) -> None:
    say("Shells in shells (ssh, su, docker exec) work alike: the next command runs inside.")
    shell = await agent.call("execute-command", paneId=pane, command="bash --norc")
    await agent.call("execute-command", paneId=pane, command='echo "depth $SHLVL"')
    await agent.call("execute-command", paneId=pane, command="exit 3")
    await agent.call("get-command-result", commandId=shell["commandId"], waitMs=20_000)


async def start_a_server(agent: Agent, pane: str) -> None:
    say("A server is watched until it is ready:")
    command = "python -m http.server 0 --bind 127.0.0.1"
    await agent.call("start-and-watch", paneId=pane, command=command, pattern="Serving HTTP")


class Person:
    """Stands for you: a tmux client with a terminal and a keyboard."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._shown = b""
        self._changed = asyncio.Event()
        asyncio.get_running_loop().add_reader(terminal, self._read)

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    async def wait_for(self, text: bytes) -> None:
        while text not in self._shown:
            self._changed.clear()
            await self._changed.wait()

    def _read(self) -> None:
        try:
            self._shown += os.read(self._terminal, 65536)
        except OSError:  # the client has ended
            asyncio.get_running_loop().remove_reader(self._terminal)
        self._changed.set()


@asynccontextmanager
async def attached_person(socket: str) -> AsyncIterator[Person]:
    """Attach to tmux for the time of the block, in a terminal of its own."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT + 1, WIDTH, 0, 0))
    argv = ["tmux", "-u", "-S", socket, "attach"]
    env = {**os.environ, "TERM": "xterm"}
    client = subprocess.Popen(  # noqa: ASYNC220 - it returns at once
        argv, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
    )
    os.close(theirs)
    person = Person(ours)
    try:
        await person.wait_for(b"demo")
        yield person
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)
        client.wait(LIMIT_S)


@dataclass(frozen=True, slots=True)
class Agent:
    """Stands for the model: calls tools and tells what it says and hears. `pid` is muxpilot's."""

    client: ClientSession
    pid: int

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        result = await self.client.call_tool(tool, arguments)
        [block] = result.content
        assert isinstance(block, TextContent)
        if result.is_error:
            raise SystemExit(f"{tool}: {block.text}")
        if result.structured_content is None:
            return block.text
        answer = result.structured_content
        told = {key: value for key, value in answer.items() if key not in UNTOLD and is_news(value)}
        print(f"  {tool} {text(arguments)}\n    -> {text(told)}")
        return answer


def is_news(value: object) -> bool:
    return value is not None and value is not False and value != ""


def text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def say(sentence: str) -> None:
    print(f"\n{sentence}\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]).absolute() if sys.argv[1:] else PICTURE))
