"""The log at `debug` never holds what a caller typed, what a program printed, or a secret.

A person who reports a problem sends this log. Every text below has a word that is found nowhere else.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.http_server import request, serving_http
from tests.rigs.wire import LIMIT_S, Place, Wire, private_place

_LINE = re.compile(r"muxpilot \d\d:\d\d:\d\d\.\d{3} (debug|info|warning|error) ")


class Secrets:
    """Words that must not be in the log."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def new(self, what: str) -> str:
        word = f"{what}hunter{len(self.words):02}"
        self.words.append(word)
        return word

    def found_in(self, log: str) -> list[str]:
        return [line for line in log.splitlines() for word in self.words if word in line]


@asynccontextmanager
async def logging_server(place: Place, *flags: str) -> AsyncIterator[tuple[Wire, Callable[[], Any]]]:
    """Yield a server at debug level, and a function that ends it and returns its log."""
    async with place.serve("--scope", "all", "--log-level", "debug", *flags) as wire:
        reading = asyncio.create_task(wire.stderr())  # or the pipe fills, and lines are dropped
        await wire.shake_hands()

        async def end() -> str:
            await wire.close_stdin()
            return await asyncio.wait_for(reading, LIMIT_S)

        yield wire, end


async def ask(wire: Wire, tool: str, **arguments: Any) -> Any:
    """Call a tool, whatever it answers."""
    return await wire.ask("tools/call", {"name": tool, "arguments": arguments})


async def ask_for_password(wire: Wire, pane: str) -> None:
    """Leave a pane at a password prompt, with the terminal's echo off."""
    command = "stty -echo; printf 'Password: '; read -r x; stty echo"
    answer = await wire.call("execute-command", paneId=pane, command=command, timeoutSeconds=LIMIT_S)
    assert answer["waitingForInput"]
    assert (await wire.call("pane-state", paneId=pane))["waitingFor"] == "password"


def check_log(log: str, secrets: Secrets) -> None:
    assert secrets.found_in(log) == []
    assert all(_LINE.match(line) for line in log.splitlines())
    assert " dropped=" not in log


async def test_typed_text_commands_and_output_are_not_logged() -> None:
    secrets = Secrets()
    with private_place() as place:
        async with logging_server(place) as (wire, end):
            session = await wire.call(
                "create-session", name=secrets.new("name")[:4], env={"TOKEN": secrets.new("env")}
            )
            pane = session["paneId"]
            first, second = secrets.new("out")[:6], secrets.words[-1][6:]
            await wire.call("execute-command", paneId=pane, command=f"printf '%s%s\\n' {first} {second}")
            await wire.call("execute-command", paneId=pane, command=f": {secrets.new('command')}")
            await ask(
                wire,
                "start-and-watch",
                paneId=pane,
                command=f"echo {secrets.new('watched')}",
                pattern=secrets.words[-1],
                timeout=5,
            )
            await wire.call("send-keys", paneId=pane, keys=f": {secrets.new('keys')}", enter=True)
            await wire.call("paste-text", paneId=pane, content=f": {secrets.new('pasted')}", enter=True)
            await wire.call("send-hex", paneId=pane, hex=secrets.new("hex").encode().hex(" "))
            await wire.call("send-cancel", paneId=pane)
            await wire.call("read-pane", paneId=pane, grep=secrets.new("grep"))
            await wire.call("search-panes", query=secrets.new("query"), mode="literal")
            await wire.call("write-to-display", paneId=pane, text=secrets.new("shown"))
            await ask(wire, "display-message", message=secrets.new("message"))
            await wire.call("set-buffer", name="b", content=secrets.new("content"))
            await wire.call("search-buffer", buffer="b", mode="literal", query=secrets.new("search"))
            log = await end()
    check_log(log, secrets)
    for area in ("server", "calls", "policy", "tmux", "shells", "watch"):
        assert f" debug {area}: " in log, f"{area} logs nothing"


@pytest.mark.parametrize(
    ("tool", "argument", "more"),
    [
        ("send-keys", "keys", {"enter": True}),
        ("paste-text", "content", {"enter": True}),
        ("run-in-repl", "input", {}),
    ],
)
async def test_an_answer_to_a_password_prompt_is_not_logged(
    tool: str, argument: str, more: dict[str, Any]
) -> None:
    secrets = Secrets()
    with private_place() as place:
        async with logging_server(place, "--audit", str(place.home / "audit")) as (wire, end):
            pane = (await wire.call("create-session"))["paneId"]
            await ask_for_password(wire, pane)
            await ask(wire, tool, paneId=pane, **{argument: secrets.new("password")}, **more)
            log = await end()
        check_log(log, secrets)
        assert secrets.found_in((place.home / "audit").read_text()) == []
    assert "waiting_for=password" in log


async def test_refused_and_malformed_requests_are_not_quoted(tmp_path: Path) -> None:
    secrets = Secrets()
    config = tmp_path / "config.toml"
    config.write_text("[security.command_filter]\nmode = 'denylist'\npatterns = ['forbidden']\n")
    with private_place() as place:
        async with logging_server(place, "--config", str(config)) as (wire, end):
            pane = (await wire.call("create-session"))["paneId"]
            denied = await ask(
                wire, "execute-command", paneId=pane, command=f"forbidden {secrets.new('denied')}"
            )
            assert denied["result"]["isError"]
            await ask(wire, "execute-command", paneId=pane, command=f"echo '{secrets.new('quote')}", waitMs=0)
            await ask(wire, "send-keys", paneId=secrets.new("target"), keys="x")
            await ask(wire, "send-keys", paneId=pane, keys={"a": secrets.new("wrong")})
            await ask(wire, "watch-pane", paneId=pane, triggers=f"pattern:({secrets.new('pattern')}")
            await ask(wire, secrets.new("tool"))
            await wire.ask("resources/read", {"uri": f"tmux://{secrets.new('uri')}"})
            await wire.ask("tools/call", {"name": {"a": secrets.new("params")}})
            await wire.ask(secrets.new("method"), {})
            await wire.notify("notifications/progress", {"progressToken": [secrets.new("notice")]})
            await wire.write(f'{{"jsonrpc": "2.0", "id": 1, {secrets.new("broken")}\n'.encode())
            await wire.next_unmatched_answer()
            log = await end()
    known = {word for word in secrets.words if word.startswith(("tool", "uri", "method"))}
    secrets.words = [word for word in secrets.words if word not in known]  # names, which are no typed text
    check_log(log, secrets)


async def test_http_requests_and_tokens_are_not_logged() -> None:
    secrets = Secrets()
    token = secrets.new("bearertokenof")
    with private_place() as place:
        async with serving_http(place, "--log-level", "debug", token=token) as (web, process):
            assert process.stderr is not None
            reading = asyncio.create_task(process.stderr.read())
            session = await web.open()
            pane = (await web.call(session, "create-session"))["paneId"]
            await web.call(session, "send-keys", paneId=pane, keys=secrets.new("keys"))
            await web.post(request("tools/call", name=7, arguments=secrets.new("body")))
            await web.post(f"{{{secrets.new('broken')}".encode())
            web.token = secrets.new("wrong")
            assert (await web.post(request("tools/list"))).status_code == 401
            process.terminate()
            log = (await asyncio.wait_for(reading, LIMIT_S)).decode()
    check_log(log, secrets)
    assert "request refused transport=http status=401" in log
