"""The program of a popup on a terminal of its own, with no tmux, and the muxpilot that asks beside it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import secrets
import struct
import subprocess
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from muxpilot.people.open_question import OpenQuestion
from muxpilot.people.popup import popup_program
from muxpilot.people.popup_code import CodeCheck
from muxpilot.people.popup_session import PopupSession
from muxpilot.people.question_socket import QuestionSocket
from muxpilot.people.questions import Question, Reply
from muxpilot.tmux import Tmux
from tests.rigs.engine import wait_until
from tests.rigs.wire import LIMIT_S

PERSON = "anna at a terminal"


@dataclass
class PopupTerminal:
    """The terminal of a popup: its keys, what it shows, and the question."""

    opened: OpenQuestion
    session: PopupSession
    # The path of the socket, and the key of the popup.
    socket: Path
    key: str
    slave: int
    _master: int
    seen: bytearray = field(default_factory=bytearray)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def read(self) -> None:
        self.seen += os.read(self._master, 1 << 16)

    def has_read_keys(self) -> bool:
        """Return whether the program has read all keys that were pressed."""
        return not struct.unpack("i", fcntl.ioctl(self.slave, termios.FIONREAD, b"\0" * 4))[0]

    async def wait_for(self, text: str) -> None:
        await wait_until(lambda: text.encode() in self.seen)

    async def reply(self) -> Reply:
        return await asyncio.wait_for(self.opened.wait(), LIMIT_S)

    @property
    def screen(self) -> str:
        """What was drawn last."""
        return bytes(self.seen).rpartition(b"\x1b[2J")[2].decode()


async def _is_no(*facts: object) -> bool:
    return False


async def _is_yes(*facts: object) -> bool:
    return True


@asynccontextmanager
async def open_terminal(
    *, code: str = "", enter_secret: Any = None, **facts: Any
) -> AsyncIterator[PopupTerminal]:
    """Run the program of a popup. Yield when it takes keys."""
    question = Question("Go on?", "client", "agent-x", "a test", is_secret=enter_secret is not None, **facts)
    opened = OpenQuestion(question, Tmux("/tmp/mx-none/s", keeps_journals=False), enter_secret)
    key, session = secrets.token_hex(4), PopupSession(opened, PERSON, CodeCheck(code))
    server = QuestionSocket({}, {key: session}, _is_no, _is_no, _is_yes)
    await server.start()
    assert server.path is not None
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    program = popup_program(server.path, key)
    process = subprocess.Popen(program, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    terminal = PopupTerminal(opened, session, server.path, key, slave, master)
    loop = asyncio.get_running_loop()
    loop.add_reader(master, terminal.read)
    try:
        await terminal.wait_for("Escape: no answer")
        yield terminal
    finally:
        session.end()
        await server.close()
        await wait_until(lambda: process.poll() is not None)
        loop.remove_reader(master)
        os.close(master)
        os.close(slave)
