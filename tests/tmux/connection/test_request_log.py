"""The log of requests to tmux: which command, how long, with which outcome; never the text in it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import NotFound
from muxpilot.tmux.connection.protocol import Block, CommandReply
from muxpilot.tmux.connection.request_log import describe_commands, describe_reply
from tests.rigs.engine import Raw

SECRET = "the text that a caller typed"


class LineHandler(logging.Handler):
    """Keeps the lines that are logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """The debug lines of the area `tmux`."""
    logger, handler = logging.getLogger("muxpilot.tmux"), LineHandler()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler.lines
    logger.setLevel(before)
    logger.removeHandler(handler)


def test_a_line_names_the_commands_and_the_first_target() -> None:
    commands = (("send-keys", "-t", "%3", "-l", "--", SECRET), ("send-keys", "-t", "%4", "Enter"))
    assert describe_commands(commands) == {"verb": "send-keys;send-keys", "target": "%3"}
    assert describe_commands([("kill-server",)]) == {"verb": "kill-server"}
    assert describe_commands([("set-buffer", "--", "-t", SECRET)]) == {"verb": "set-buffer"}
    assert describe_commands(()) == {}


def test_a_reply_is_described_by_its_size_and_the_kind_of_its_error() -> None:
    good = Block(ok=True, lines=(b"abc", b"d"))
    assert describe_reply(CommandReply((good,))) == {"bytes": 6, "blocks": 1}
    bad = Block(ok=False, lines=(f"duplicate session: {SECRET}".encode(),))
    assert describe_reply(CommandReply((good, bad)))["error"] == "name-taken"


async def test_every_request_is_logged_and_no_text_of_it(tmux: Tmux, lines: list[str]) -> None:
    made = await tmux.sessions.create("dev", program=PaneProgram("exec cat"))
    await tmux.input.type(made.pane_id, SECRET, enter=True)
    await tmux.input.paste(made.pane_id, SECRET)
    with pytest.raises(NotFound):
        await tmux.connection.run(("select-pane", "-t", "%999"))
    requests = [line for line in lines if line.startswith("tmux request ")]
    assert any(f";send-keys;send-keys;display-message target={made.pane_id} " in line for line in requests)
    assert any("verb=select-pane target=%999 " in line and "error=not-found" in line for line in requests)
    assert all(" ms=" in line for line in requests)
    assert not any(SECRET in line for line in lines)


async def test_connections_are_logged_from_their_beginning_to_their_end(
    tmux: Tmux, raw: Raw, lines: list[str]
) -> None:
    raw("new-session", "-d", "-s", "mine")
    await tmux.sessions.list()
    await tmux.close()
    events = [line.partition(" server=")[0] for line in lines]
    wanted = ["attach lock taken", "control client attached", "hub session created", "connected"]
    wanted += ["attach lock released", "hub session ended", "connection closed"]
    assert [event for event in wanted if event in events] == wanted
    assert events.index("hub session created") < events.index("hub session ended")


async def test_waiting_for_the_attach_lock_is_logged_once_with_its_holder(
    tmux: Tmux, lines: list[str]
) -> None:
    endpoint = tmux.connection.endpoint
    async with endpoint.attach_lock(), endpoint.attach_lock(0.05):
        pass
    waits = [line for line in lines if line.startswith("waiting for attach lock")]
    assert [f"held_by={os.getpid()}" in line for line in waits] == [True]
