"""A signal that ended a command is told apart from an exit with the same number, whatever /bin/sh is."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from muxpilot import Program, Tmux
from muxpilot.tmux import PaneId
from muxpilot.tmux.objects.launch import Launch
from tests.rigs.engine import printed, stream_of, whole
from tests.rigs.waiting import eventually

HOLDERS = {"dash": ("dash",), "bash": ("bash", "--posix"), "busybox": ("busybox", "sh")}

# The command, its status as a shell tells it, and the signal.
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


@pytest.fixture(params=HOLDERS)
def holder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands are held by this shell instead of /bin/sh."""
    shell = HOLDERS[request.param]
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    launch_of = Launch.of

    def held(*args: object, **kwargs: object) -> Launch:
        launch = launch_of(*args, **kwargs)  # type: ignore[arg-type]
        launch.argv = (*shell, *launch.argv[1:])
        return launch

    monkeypatch.setattr(Launch, "of", held)


async def ending(tmux: Tmux, pane: PaneId) -> tuple[int | None, int | None]:
    """What the stream tells, which must be what tmux tells."""
    end = (await whole(stream_of(tmux, pane)))[1]

    async def is_dead() -> bool:
        return (await tmux.panes.get(pane)).is_dead

    await eventually(is_dead)
    row = await tmux.panes.get(pane)
    assert (row.exit_code, row.dead_signal) == (end.status, end.signal)
    assert row.dead_status == (None if end.signal else end.status)
    return end.status, end.signal


async def started(tmux: Tmux, command: str) -> PaneId:
    session = (await tmux.sessions.create("home", program=Program("sleep 60"))).session_id
    return (await tmux.windows.create(session, program=Program(command, remain_on_exit=True))).pane_id


@pytest.mark.usefixtures("holder")
async def test_a_signal_and_a_status_are_told_apart(tmux: Tmux) -> None:
    panes = [await started(tmux, command) for command, *_ in ENDINGS]
    found = await asyncio.gather(*(ending(tmux, pane) for pane in panes))
    assert [(command, *told) for (command, *_), told in zip(ENDINGS, found, strict=True)] == ENDINGS


@pytest.mark.usefixtures("holder")
async def test_control_c_is_a_signal_unless_the_program_makes_it_a_status(tmux: Tmux) -> None:
    trapped = "trap 'exit 130' INT; echo READY; while :; do sleep 0.05; done"
    panes = [await started(tmux, command) for command in ("echo READY; exec sleep 60", trapped)]
    for pane in panes:
        await printed(stream_of(tmux, pane), b"READY")
        await tmux.input.press(pane, "C-c")
    assert await asyncio.gather(*(ending(tmux, pane) for pane in panes)) == [(130, 2), (130, None)]


async def test_a_broken_pipe_keeps_its_status_though_dash_says_no_word_of_it(tmux: Tmux) -> None:
    assert (await ending(tmux, await started(tmux, "kill -13 $$; sleep 60")))[0] == 141


async def test_a_pane_that_goes_with_its_program_tells_the_signal_too(tmux: Tmux) -> None:
    await started(tmux, "sleep 60")
    made = await tmux.sessions.create("dev", program=Program("kill -9 $$; sleep 60"))
    end = (await whole(stream_of(tmux, made.pane_id)))[1]
    assert (end.status, end.signal) == (137, 9)
