"""`./dev run`: muxpilot at work, on a tmux of its own, through a real MCP client. Copy what you need."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation, TextContent

LIMIT_S = 100
WIDTH, HEIGHT = 80, 16
PROMPT = r"PS1='\[\e[1;32m\]demo\[\e[0m\]:\[\e[1;34m\]\w\[\e[0m\]$ '"
PICTURE = Path(__file__).parents[2] / ".cache" / "demo.png"
MENU = Path(__file__).with_name("menu.py")
STATUS_LINE = "set -g status-right ''\nset -g window-status-current-format ' your tmux '\n"
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
        (Path(home) / ".tmux.conf").write_text(STATUS_LINE)
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
    muxpilot += ["--workspace", "agent-demo"]
    # The shell writes down its process id, which muxpilot then has.
    args = ["-c", 'echo $$ > pid; exec "$@"', "sh", *muxpilot]
    server = StdioServerParameters(command="/bin/sh", args=args, env=env, cwd=home)
    me = Implementation(name="the demonstration", version="1")
    async with stdio_client(server) as streams, ClientSession(*streams, client_info=me) as client:
        await client.initialize()
        yield Agent(client, int((home / "pid").read_text()))


async def show(home: Path, picture: Path) -> None:
    picture.parent.mkdir(exist_ok=True)
    cast = picture.with_suffix(".cast")
    cast.unlink(missing_ok=True)
    async with AsyncExitStack() as person_leaves:
        async with AsyncExitStack() as first:
            agent = await first.enter_async_context(connect(home))
            say("An agent opens a session, and records it for you. You look on in your tmux:")
            session = await agent.call("create-session", name="demo", width=WIDTH, height=HEIGHT)
            pane = session["paneId"]
            await agent.call("record-pane", paneId=pane, action="start", path=str(cast))
            person = await person_leaves.enter_async_context(attached_person(f"{home}/s"))
            await run_commands(agent, pane)
            command = await begin_a_build(agent, pane)
        async with connect(home) as agent:
            await learn_its_end(agent, pane, command)
            await ask_a_person(agent, person, pane)
            await walk_a_menu(agent, pane)
            await enter_a_shell(agent, pane)
            await start_a_server(agent, pane)
            say("What you have seen in that pane, as text and as a picture:")
            shown = await agent.call("capture-pane", paneId=pane)
            print("\n".join(f"  | {line}" for line in shown.splitlines()))
            await agent.call("screenshot-pane", paneId=pane, path=str(picture))
            film = make_film(person, home / "person.cast", picture.with_suffix(".gif"))
            await agent.call("record-pane", paneId=pane, action="stop")
            await agent.call("kill-session", sessionId=session["sessionId"])
    print(f"\nThe picture: {picture}\nThe film: {film}")
    print("Next: README.md, or .venv/bin/muxpilot install CLIENT")


def make_film(person: Person, cast: Path, film: Path) -> Path:
    """Make a GIF of what the person saw: seven times slower, with short pauses."""
    header = {"version": 2, "width": WIDTH, "height": HEIGHT + 1}
    events = [[at, "o", data.decode(errors="replace")] for at, data in person.seen]
    cast.write_text("".join(json.dumps(row) + "\n" for row in [header, *events]))
    argv = [sys.executable, "-m", "muxpilot", "replay", str(cast), "--gif", str(film)]
    argv += ["--speed", "0.14", "--idle", "0.35"]
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
    await agent.comment(pane, "muxpilot is killed while this runs")
    command = await agent.call(
        "execute-command", paneId=pane, command="sleep 1; echo built; (exit 3)", waitMs=0
    )
    os.kill(agent.pid, signal.SIGKILL)
    return str(command["commandId"])


async def learn_its_end(agent: Agent, pane: str, command: str) -> None:
    say("The next muxpilot knows the command, its output and its exit code:")
    await agent.call("get-command-result", commandId=command, waitMs=20_000)
    await agent.comment(pane, "the next muxpilot knows: it failed with exit code 3")


async def ask_a_person(agent: Agent, person: Person, pane: str) -> None:
    say("A command wants a password. The agent asks you, in a popup of your tmux, and never sees it:")
    command = await agent.call("execute-command", paneId=pane, command=ASK)
    asked = asyncio.create_task(
        agent.call("ask-person", question="The password of the server?", paneId=pane, secret=True)
    )
    await person.wait_for(b"Escape: no answer")
    await asyncio.sleep(0.4)  # a person reads the question first
    person.type("open sesame\r")
    confirming = asyncio.create_task(person.type_code())
    await asked
    confirming.cancel()
    await agent.call("get-command-result", commandId=command["commandId"], waitMs=20_000)


async def walk_a_menu(agent: Agent, pane: str) -> None:
    say("A menu is walked in one call, which answers what it did:")
    await agent.comment(pane, "the fourth item of a menu, in one call")
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
    await agent.comment(pane, "a server, until it is ready")
    command = "python -m http.server 0 --bind 127.0.0.1"
    await agent.call("start-and-watch", paneId=pane, command=command, pattern="Serving HTTP")


class Person:
    """Stands for you: a tmux client with a terminal and a keyboard."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._shown = b""
        self._began = time.monotonic()
        self.seen: list[tuple[float, bytes]] = []  # with the time of each piece
        self._changed = asyncio.Event()
        asyncio.get_running_loop().add_reader(terminal, self._read)

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    async def type_code(self) -> None:
        """Confirm an answer with the code that the popup shows from tmux 3.4 on."""
        await self.wait_for(b" to send it to the pane.")
        self.type(re.findall(rb"Type (\d{4}) to send", self._shown)[-1].decode())

    async def wait_for(self, text: bytes) -> None:
        while text not in self._shown:
            self._changed.clear()
            await self._changed.wait()

    def _read(self) -> None:
        try:
            data = os.read(self._terminal, 65536)
            self._shown += data
            self.seen.append((time.monotonic() - self._began, data))
        except OSError:  # the client has ended
            asyncio.get_running_loop().remove_reader(self._terminal)
        self._changed.set()


@asynccontextmanager
async def attached_person(socket: str) -> AsyncIterator[Person]:
    """Attach to tmux for the time of the block, in a terminal of its own."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT + 1, WIDTH, 0, 0))
    argv = ["tmux", "-u", "-S", socket, "attach", "-t", "demo"]
    env = {**os.environ, "TERM": "xterm-256color"}
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

    async def comment(self, pane: str, words: str) -> None:
        """Write a line for the person who looks on. It is a comment to the shell."""
        await self.client.call_tool("execute-command", {"paneId": pane, "command": f"# {words}"})

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
