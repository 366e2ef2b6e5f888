"""A tmux in which a token stands in every place that programs and people can put text in."""

from __future__ import annotations

import itertools
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.rigs.engine import SIZE
from tests.rigs.waiting import eventually
from tests.rigs.wire import Message, Place, Wire

TOKEN = "ghp_Zq8LmX2vRt5KpW9sYb3NcD7fHj4GaU6eTiQo"
COLUMNS = SIZE[1]  # new windows are as wide as the terminal of the person
# Every piece of it that would help somebody.
PIECES = [TOKEN[at : at + 8] for at in range(4, len(TOKEN) - 8)]

# A program that says the token after each key, and has asked for the mouse.
CHATTY = f"""
import os, sys, tty
tty.setraw(0)
os.write(1, b"\\033[?1000h\\033[?1006hbegun\\r\\n")
while os.read(0, 4096):
    os.write(1, b"say {TOKEN}\\r\\n")
"""

_NUMBERS = itertools.count(1)


def shows_token(message: object) -> bool:
    return any(piece in str(message) for piece in PIECES)


@dataclass
class Planted:
    """The places of the token. Each call of a method makes another one."""

    place: Place
    folder: Path
    panes: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        """Return the configuration that switches redaction on."""
        return self.folder.parent / "config.toml"

    async def shown(self) -> str:
        """Return a pane that shows the token, in a folder and with a title that have its name."""
        return await self._reuse("shown", f"cd {self.folder}; printf 'begun {TOKEN} marker\\n'; exec cat")

    async def chatty(self) -> str:
        return await self._reuse("chatty", f"exec {sys.executable} -c {shlex.quote(CHATTY)}")

    async def shell(self) -> str:
        return await self._reuse("shell", "PS1='begun$ ' exec sh")

    async def menu(self) -> str:
        """Return a pane with a full-screen program that wraps the token over two rows."""
        fill = "x" * (COLUMNS - 20) + " "
        return await self._reuse(
            "menu", f"printf '\\033[?1049h\\033[7m{fill}{TOKEN}\\033[0m begun'; exec cat"
        )

    async def window(self, name: str = "plain") -> str:
        """Return a new pane of the session."""
        return await self._open("printf begun; exec cat", name)

    def buffer(self) -> str:
        name = f"b{next(_NUMBERS)}"
        self.place.tmux("set-buffer", "-b", name, f"{'y ' * 50}{TOKEN} marker")
        return name

    def token_name(self) -> str:
        """Return a new name that has the form of a token."""
        return f"{TOKEN}{next(_NUMBERS)}"

    def window_of(self, pane: str) -> str:
        return self.place.tmux("display-message", "-p", "-t", pane, "#{window_id}")

    async def _reuse(self, kind: str, command: str) -> str:
        if kind not in self.panes:
            self.panes[kind] = await self._open(command, TOKEN)
            self.place.tmux("select-pane", "-t", self.panes[kind], "-T", TOKEN)
        return self.panes[kind]

    async def _open(self, command: str, name: str) -> str:
        argv = ("new-window", "-d", "-t", "=home:", "-n", name, "-P", "-F", "#{pane_id}")
        pane = self.place.tmux(*argv, f"exec sh -c {shlex.quote(command)}")

        async def has_begun() -> bool:
            return "begun" in self.place.tmux("capture-pane", "-p", "-t", pane)

        await eventually(has_begun)
        return pane


async def ask(wire: Wire, name: str, arguments: dict[str, Any]) -> Message:
    """Return the whole answer of a call, whether it failed or not."""
    return await wire.ask("tools/call", {"name": name, "arguments": arguments})


Case = Callable[[Planted, Wire], Any]


async def new_command(planted: Planted, wire: Wire) -> str:
    """Run a command that prints the token, and return its id."""
    answer = await wire.call("execute-command", paneId=await planted.shell(), command=f"echo {TOKEN}")
    assert answer["status"] == "completed", answer
    return str(answer["commandId"])


async def ended_watch(planted: Planted, wire: Wire) -> str:
    """Start a watch that ends at once, by the token, and return its id when it has ended."""
    pane = await planted.chatty()
    started = await wire.call("notify-when", paneId=pane, triggers="pattern:say .*", timeout=60)
    await wire.call("send-enter", paneId=pane)

    async def has_ended() -> bool:
        return bool((await wire.call("get-watch", watchId=started["watchId"]))["status"] == "done")

    await eventually(has_ended)
    return str(started["watchId"])
