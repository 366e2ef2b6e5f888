"""A signal that ends a command is distinguished from an exit with the same number, whatever /bin/sh is."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.tmux import PaneId
from muxpilot.tmux.objects.launch import Launch
from tests.rigs.engine import read_to_end, read_until, stream_of
from tests.rigs.waiting import eventually

pytestmark = pytest.mark.both_tmux

LAUNCHER_SHELLS = {"dash": ("dash",), "bash": ("bash", "--posix"), "busybox": ("busybox", "sh")}

# The command, its status as a shell reports it, and the signal.
ENDINGS = [
    *((f"kill -{number} $$; sleep 60", 128 + number, number) for number in (1, 2, 6, 9, 11, 14, 15)),
    *((f"exit {128 + number}", 128 + number, None) for number in (1, 2, 9, 11, 13, 15)),
    ("sh -c 'kill -9 $$; sleep 60'; exit", 137, None),
    ("exec sh -c 'kill -9 $$; sleep 60'", 137, 9),
    ("kill -STOP $$; kill -15 $$; sleep 60", 143, 15),
    ("kill -STOP $$; kill -2 $$; sleep 60", 130, 2),
    ("kill -STOP $$; exit 130", 130, None),
    ("exit 255", 255, None),
    ("exit 128", 128, None),
    ("true", 0, None),
]


@pytest.fixture(params=LAUNCHER_SHELLS)
def launcher_shell(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the launcher of commands with this shell instead of /bin/sh."""
    shell = LAUNCHER_SHELLS[request.param]
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    prepare = Launch.prepare

    def prepare_with_shell(*args: object, **kwargs: object) -> Launch:
        launch = prepare(*args, **kwargs)  # type: ignore[arg-type]
        launch.argv = (*shell, *launch.argv[1:])
        return launch

    monkeypatch.setattr(Launch, "prepare", prepare_with_shell)


async def read_ending(tmux: Tmux, pane: PaneId) -> tuple[int | None, int | None]:
    """Return status and signal from the stream, after checking that tmux reports the same."""
    end = (await read_to_end(stream_of(tmux, pane)))[1]

    async def is_dead() -> bool:
        return (await tmux.panes.get(pane)).is_dead

    await eventually(is_dead)
    row = await tmux.panes.get(pane)
    assert (row.exit_code, row.dead_signal) == (end.status, end.signal)
    assert row.dead_status == (None if end.signal else end.status)
    return end.status, end.signal


async def start_pane(tmux: Tmux, command: str) -> PaneId:
    session = (await tmux.sessions.create("home", program=PaneProgram("sleep 60"))).session_id
    return (await tmux.windows.create(session, program=PaneProgram(command, remain_on_exit=True))).pane_id


@pytest.mark.usefixtures("launcher_shell")
@pytest.mark.tmux_since(3, 3, "it does not tell signals")
async def test_a_signal_and_a_status_are_told_apart(tmux: Tmux) -> None:
    panes = [await start_pane(tmux, command) for command, *_ in ENDINGS]
    found = await asyncio.gather(*(read_ending(tmux, pane) for pane in panes))
    assert [(command, *reported) for (command, *_), reported in zip(ENDINGS, found, strict=True)] == ENDINGS


@pytest.mark.usefixtures("launcher_shell")
@pytest.mark.tmux_since(3, 3, "it does not tell signals")
async def test_control_c_is_a_signal_unless_the_program_makes_it_a_status(tmux: Tmux) -> None:
    trapped = "trap 'exit 130' INT; echo READY; while :; do sleep 0.05; done"
    panes = [await start_pane(tmux, command) for command in ("echo READY; exec sleep 60", trapped)]
    for pane in panes:
        await read_until(stream_of(tmux, pane), b"READY")
        await tmux.input.press(pane, "C-c")
    assert await asyncio.gather(*(read_ending(tmux, pane) for pane in panes)) == [(130, 2), (130, None)]


async def test_a_broken_pipe_keeps_its_status_though_dash_says_no_word_of_it(tmux: Tmux) -> None:
    assert (await read_ending(tmux, await start_pane(tmux, "kill -13 $$; sleep 60")))[0] == 141


async def test_a_pane_that_goes_with_its_program_tells_the_signal_too(tmux: Tmux) -> None:
    await start_pane(tmux, "sleep 60")
    made = await tmux.sessions.create("dev", program=PaneProgram("kill -9 $$; sleep 60"))
    end = (await read_to_end(stream_of(tmux, made.pane_id)))[1]
    assert (end.status, end.signal) == (137, 9)
