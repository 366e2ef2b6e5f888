"""What a program in a pane can do to a person, on a server that muxpilot started and on the person's own."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.version import parse
from tests.rigs.engine import attach_person

pytestmark = pytest.mark.both_tmux

Raw = Callable[..., str]

ALLOWS = "set -s set-clipboard on\nset -g allow-rename on\nset -gq allow-passthrough on\n"
PASSED = b"\033]777;notify;canary\007"

# Sets a buffer, writes past tmux to the terminal, renames the window; then prints a line that always shows.
ATTACK = (
    r"printf '\033]52;c;Y2FuYXJ5\007\033Ptmux;\033\033]777;notify;canary\007\033\\"
    r"\033kcanary\033\\\nall sent\n'; exec sleep 60"
)


@pytest.fixture
def config(folder: Path) -> str:
    path = folder / "tmux.conf"
    path.write_text(ALLOWS)
    return str(path)


def version_of(binary: str) -> str:
    return subprocess.run([binary, "-V"], capture_output=True, text=True, check=True).stdout


@asynccontextmanager
async def run_attack(tmux: Tmux, raw: Raw, binary: str, pane: str) -> AsyncIterator[tuple[bool, bool, bool]]:
    """Run the attack while a person is attached. Yield which parts of it worked: buffer, terminal, name."""
    async with attach_person(binary, tmux.socket, "attach", "-t", pane) as someone:
        await someone.wait_for(b"[dev]")  # until their screen is drawn, tmux passes nothing on
        await tmux.windows.respawn(PaneId(pane), command=ATTACK, kill=True)
        await someone.wait_for(b"all sent")
        name = raw("display-message", "-p", "-t", pane, "#{window_name}")
        yield "canary" in raw("list-buffers"), PASSED in someone.seen, name == "canary"


async def test_on_a_server_that_we_start_programs_reach_neither_buffers_nor_terminal_nor_names(
    socket: str, binary: str, raw: Raw, config: str
) -> None:
    async with Tmux(socket, binary=binary, config=config) as tmux:
        made = await tmux.sessions.create("dev", program=PaneProgram("sleep 60"))
        async with run_attack(tmux, raw, binary, made.pane_id) as worked:
            # tmux 3.2 has no option for what goes past it, and lets it through.
            assert worked == (False, parse(version_of(binary)) < (3, 3), False)


async def test_on_a_server_that_a_person_started_their_configuration_stands(
    socket: str, binary: str, raw: Raw, config: str, tmux: Tmux
) -> None:
    raw("-f", config, "new-session", "-d", "-s", "theirs")
    made = await tmux.sessions.create("dev", program=PaneProgram("sleep 60"))
    async with run_attack(tmux, raw, binary, made.pane_id) as worked:
        assert worked == (True, True, True)
    assert raw("show-options", "-sv", "set-clipboard") == "on"


async def test_the_guard_does_not_touch_a_server_that_somebody_started_just_before(
    folder: Path, tmux: Tmux, raw: Raw, config: str
) -> None:
    """A person started a server between our first request and our own start."""
    raw("-f", config, "new-session", "-d", "-s", "theirs")
    await tmux.connection._start_server((("new-session", "-d", "-s", "ours"),))
    assert raw("list-sessions", "-F", "#{session_name}").split() == ["ours", "theirs"]
    assert raw("show-options", "-sv", "set-clipboard") == "on"
    assert raw("show-options", "-gwv", "allow-rename") == "on"
