"""`./dev run`: muxpilot at work, on a tmux of its own, through a real MCP client. Copy what you need."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

LIMIT_S = 50
PROMPT = r"PS1='\[\e[1;32m\]demo\[\e[0m\]:\[\e[1;34m\]\w\[\e[0m\]$ '"
PICTURE = Path(__file__).parents[2] / ".cache" / "demo.png"
ASK = 'read -rsp "Password: " secret; echo; echo "${#secret} characters"'
# What an agent needs of an answer, and a reader of this does not.
UNTOLD = {
    *("command", "commandId", "resourceUri", "paneState", "elapsed", "elapsedMs"),
    *("outputBytes", "outputTruncated", "timedOut", "waitingFor", "cursor"),
}


async def main(picture: Path) -> None:
    bin_folder = str(Path(sys.executable).parent)  # so that `python` is this one
    with tempfile.TemporaryDirectory(prefix="mx") as home:
        (Path(home) / "build.log").write_text("compiling\nerror: disk is full\n")
        (Path(home) / ".bash_profile").write_text(f"PATH={shlex.quote(bin_folder)}:$PATH\n{PROMPT}\n")
        async with (
            asyncio.timeout(LIMIT_S),
            stdio_client(server(home)) as streams,
            ClientSession(*streams) as client,
        ):
            await client.initialize()
            await show(Agent(client), picture)


def server(home: str) -> StdioServerParameters:
    """As a client would start it, with all tools; the home and the tmux socket are private to this."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "SHELL": shutil.which("bash") or "/bin/sh",
        "LANG": "C.UTF-8",
    }
    args = ["-m", "muxpilot", "--scope", "all", "--socket", f"{home}/s"]
    return StdioServerParameters(command=sys.executable, args=args, env=env, cwd=home)


async def show(agent: Agent, picture: Path) -> None:
    picture.parent.mkdir(exist_ok=True)
    cast = picture.with_suffix(".cast")
    cast.unlink(missing_ok=True)
    say("An agent opens a session, and records it for you:")
    session = await agent.call("create-session", name="demo", width=80, height=16)
    pane = session["paneId"]
    await agent.call("record-pane", paneId=pane, action="start", path=str(cast))
    await run_commands(agent, pane)
    await answer_a_prompt(agent, pane)
    await enter_a_shell(agent, pane)
    await start_a_server(agent, pane)
    say("What you would have seen in that pane, as text and as a picture:")
    print("\n".join(f"  | {line}" for line in (await agent.call("capture-pane", paneId=pane)).splitlines()))
    await agent.call("screenshot-pane", paneId=pane, path=str(picture))
    await agent.call("record-pane", paneId=pane, action="stop")
    await agent.call("kill-session", sessionId=session["sessionId"])
    film = replayed(cast, picture.with_suffix(".gif"))
    print(f"\nThe picture: {picture}\nThe film: {film}")
    print("Next: README.md, or .venv/bin/muxpilot install CLIENT")


def replayed(cast: Path, film: Path) -> Path:
    argv = [sys.executable, "-m", "muxpilot", "replay", str(cast), "--gif", str(film), "--speed", "0.1"]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S)
    return film


async def run_commands(agent: Agent, pane: str) -> None:
    say("One call runs a command on the real terminal: whole output, true exit code. `cd` lasts.")
    await agent.call("execute-command", paneId=pane, command="grep --color=auto -n error build.log")
    await agent.call("execute-command", paneId=pane, command="cd /usr/lib; grep fatal ~/build.log")
    await agent.call("execute-command", paneId=pane, command="pwd")


async def answer_a_prompt(agent: Agent, pane: str) -> None:
    say("A command that asks for a password is told at once, not waited for:")
    command = await agent.call("execute-command", paneId=pane, command=ASK)
    await agent.call("send-keys", paneId=pane, keys="open sesame", enter=True)
    await agent.call("get-command-result", commandId=command["commandId"], waitMs=5000)


async def enter_a_shell(agent: Agent, pane: str) -> None:
    say("Shells in shells (ssh, su, docker exec) work alike: the next command runs inside.")
    shell = await agent.call("execute-command", paneId=pane, command="bash --norc")
    await agent.call("execute-command", paneId=pane, command='echo "depth $SHLVL"')
    await agent.call("execute-command", paneId=pane, command="exit 3")
    await agent.call("get-command-result", commandId=shell["commandId"], waitMs=5000)


async def start_a_server(agent: Agent, pane: str) -> None:
    say("A server is watched until it is ready:")
    command = "python -m http.server 0 --bind 127.0.0.1"
    await agent.call("start-and-watch", paneId=pane, command=command, pattern="Serving HTTP")


@dataclass(frozen=True, slots=True)
class Agent:
    """Stands for the model: calls tools and tells what it says and hears."""

    client: ClientSession

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
