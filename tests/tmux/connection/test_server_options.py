"""What a program in a pane may do to its person: on a server that we started, and on one that they did."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from muxpilot import Program, Tmux
from muxpilot.tmux.ids import PaneId
from tests.rigs.engine import person

Raw = Callable[..., str]

ALLOWS = "set -s set-clipboard on\nset -g allow-rename on\nset -gq allow-passthrough on\n"
PASSED = b"\033]777;notify;canary\007"

# Into a buffer, past tmux to the terminal, and onto the window; at last a line that is always seen.
ATTACK = (
    r"printf '\033]52;c;Y2FuYXJ5\007\033Ptmux;\033\033]777;notify;canary\007\033\\"
    r"\033kcanary\033\\\nall sent\n'; exec sleep 60"
)


@pytest.fixture
def config(folder: Path) -> str:
    path = folder / "tmux.conf"
    path.write_text(ALLOWS)
    return str(path)


@asynccontextmanager
async def attacked(tmux: Tmux, raw: Raw, binary: str, pane: str) -> AsyncIterator[tuple[bool, bool, bool]]:
    """A person looks on while a program does all that; answers what of it worked."""
    async with person(binary, tmux.socket, "attach", "-t", pane) as someone:
        await someone.sees(b"[dev]")  # while their screen is still to be drawn, tmux passes nothing on
        await tmux.windows.respawn(PaneId(pane), command=ATTACK, kill=True)
        await someone.sees(b"all sent")
        name = raw("display-message", "-p", "-t", pane, "#{window_name}")
        yield "canary" in raw("list-buffers"), PASSED in someone.seen, name == "canary"


async def test_on_a_server_that_we_start_programs_reach_neither_buffers_nor_terminal_nor_names(
    socket: str, binary: str, raw: Raw, config: str
) -> None:
    async with Tmux(socket, binary=binary, config=config) as tmux:
        made = await tmux.sessions.create("dev", program=Program("sleep 60"))
        async with attacked(tmux, raw, binary, made.pane_id) as worked:
            assert worked == (False, False, False)


async def test_on_a_server_that_a_person_started_their_configuration_stands(
    socket: str, binary: str, raw: Raw, config: str, tmux: Tmux
) -> None:
    raw("-f", config, "new-session", "-d", "-s", "theirs")
    made = await tmux.sessions.create("dev", program=Program("sleep 60"))
    async with attacked(tmux, raw, binary, made.pane_id) as worked:
        assert worked == (True, True, True)
    assert raw("show-options", "-sv", "set-clipboard") == "on"


async def test_the_guard_does_not_touch_a_server_that_somebody_started_just_before(
    folder: Path, tmux: Tmux, raw: Raw, config: str
) -> None:
    """As where a person was faster, between our question and our start."""
    raw("-f", config, "new-session", "-d", "-s", "theirs")
    await tmux.connection._start_server((("new-session", "-d", "-s", "ours"),))
    assert raw("list-sessions", "-F", "#{session_name}").split() == ["ours", "theirs"]
    assert raw("show-options", "-sv", "set-clipboard") == "on"
    assert raw("show-options", "-gwv", "allow-rename") == "on"
