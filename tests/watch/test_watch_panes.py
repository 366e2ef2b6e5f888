"""Watches on real panes: the echo in every shell, floods, panes of a person, and what a watch leaves."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import NotFound, Refused
from muxpilot.shells.command_registry import CommandRegistry
from muxpilot.shells.shell_phases import Phase
from muxpilot.tmux import PaneId
from muxpilot.watch.foreground import ForegroundTracker
from muxpilot.watch.mark_tracker import track_marks
from muxpilot.watch.registry import WatchRegistry
from muxpilot.watch.result import WatchResult
from muxpilot.watch.start import start_command
from muxpilot.watch.triggers import parse_triggers, readiness_trigger
from muxpilot.watch.watch_run import WatchListener, WatchPlan
from tests.rigs.engine import Raw, read_until, stream_of, wait_until
from tests.rigs.waiting import LIMIT_S


@pytest.fixture
def binary() -> str:
    """Return one tmux: versions differ only below the streams, and other tests try that."""
    return shutil.which("tmux") or "tmux"


@asynccontextmanager
async def alone(tmux: Tmux, pane: PaneId, *, holder: str) -> AsyncIterator[None]:
    """Hold no lock: no other client types here."""
    yield


@pytest.fixture
async def shells() -> AsyncIterator[CommandRegistry]:
    """Yield a registry of commands that is closed however the test ends."""
    shells = CommandRegistry(alone, alone)
    yield shells
    await shells.close()


def plan(tmux: Tmux, pane: PaneId, triggers: str) -> WatchPlan:
    return WatchPlan(tmux, pane, parse_triggers(triggers), LIMIT_S)


SHELLS = {
    "bash": "bash --norc --noprofile -i",
    "zsh": "zsh -f -i",
    "fish": "fish --no-config -i",
    "dash": "dash -i",
    "ksh": "ksh -i",
    "mksh": "mksh -i",
    "busybox": "busybox ash -i",
}

# Each contains what the watch waits for but does not print it; one is wider than the pane.
COMMANDS = ["true needle error: x", "sleep 0.3 # needle", f"true {'needle error: ' * 12}"]


@pytest.mark.parametrize("shell", SHELLS)
async def test_the_echo_never_counts_and_the_exit_code_is_told_in_every_shell(
    tmux: Tmux, shells: CommandRegistry, shell: str
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    made = await tmux.sessions.create("shell", width=80, program=PaneProgram(f"exec {SHELLS[shell]}"))
    for command in COMMANDS:
        typed = (
            command.replace("#", "; :") if shell == "zsh" else command
        )  # interactive zsh takes no comments
        result = await start_and_wait(shells, tmux, made.pane_id, typed)
        assert (result.event, result.detail.partition(" (")[0]) == ("exit", "Process exited with code 0"), (
            result
        )
        assert result.output == ""
    result = await start_and_wait(shells, tmux, made.pane_id, "echo nee''dle; sleep 0.2; echo more")
    assert (result.event, result.output) == ("pattern:needle", "needle")
    result = await start_and_wait(shells, tmux, made.pane_id, "sh -c 'exit 3'")
    assert result.detail.startswith("Process exited with code 3")


async def start_and_wait(shells: CommandRegistry, tmux: Tmux, pane: PaneId, command: str) -> WatchResult:
    start = start_command(command, shells)
    triggers = (readiness_trigger("needle"), *parse_triggers("error,exit"))
    return await WatchRegistry().run(WatchPlan(tmux, pane, triggers, LIMIT_S, start=start))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_shell_that_marks_its_commands_tells_of_each_end_at_once(
    tmux: Tmux, shells: CommandRegistry, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"no {shell} here")
    monkeypatch.setenv("SHELL", path)
    made = await tmux.sessions.create("marked")
    assert await shells.wait_until_done_or_waiting(await shells.submit(tmux, made.pane_id, "true"), LIMIT_S)
    reported: list[tuple[str, int | None]] = []

    async def notify(result: WatchResult, code: int | None) -> None:
        reported.append((result.event, code))

    cases = [("cd /", "exit", 0), ("false", "exit", 1), ("echo E''ND", "pattern:END", None)]
    for typed, event, code in [("", "idle:0.5", None), *cases]:
        marks = await track_marks(tmux, made.pane_id, shells)
        # Idle only where nothing else can come: a busy shell may be silent for longer.
        asked = plan(tmux, made.pane_id, "exit,pattern:END" if typed else "exit,pattern:END,idle:0.5")
        watches = WatchRegistry()
        watch = await watches.start(replace(asked, marks=marks, listener=WatchListener(on_end=notify)))
        await tmux.input.type(made.pane_id, typed, enter=True)
        assert await watches.get(watch).wait_for_end(LIMIT_S)
        assert reported[-1] == (event, code), typed


async def test_an_end_that_the_system_shows_first_has_the_code_of_its_own_command(
    tmux: Tmux, shells: CommandRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", shutil.which("dash") or "/bin/sh")  # it does not mark the start of a command
    made = await tmux.sessions.create("late")
    assert await shells.wait_until_done_or_waiting(await shells.submit(tmux, made.pane_id, "true"), LIMIT_S)
    known = shells.find_pane(tmux, made.pane_id)
    assert known is not None
    has_ended, seen = ForegroundTracker.has_command_ended, asyncio.Event()

    def note_end(tracker: ForegroundTracker) -> bool:
        if has_ended(tracker):
            seen.set()
        return has_ended(tracker)

    monkeypatch.setattr(ForegroundTracker, "has_command_ended", note_end)
    watches = WatchRegistry()
    marks = await track_marks(tmux, made.pane_id, shells)
    watch = watches.get(await watches.start(replace(plan(tmux, made.pane_id, "exit"), marks=marks)))
    async with known.pane.reading:  # the shell's own reader is held up, as on a busy machine
        await tmux.input.type(made.pane_id, "sh -c 'sleep 0.3; exit 4'", enter=True)
        await asyncio.wait_for(seen.wait(), LIMIT_S)
    assert await watch.wait_for_end(LIMIT_S)
    assert watch.result is not None
    assert watch.result.detail.startswith("Process exited with code 4 ("), watch.result


async def test_the_code_of_an_earlier_command_is_never_that_of_the_one_that_ended(
    tmux: Tmux, shells: CommandRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine the status may come later than the pane's output is waited for."""
    monkeypatch.setenv("SHELL", shutil.which("dash") or "/bin/sh")
    made = await tmux.sessions.create("early")
    assert await shells.wait_until_done_or_waiting(await shells.submit(tmux, made.pane_id, "true"), LIMIT_S)
    marks = await track_marks(tmux, made.pane_id, shells)
    stream = stream_of(tmux, made.pane_id)
    await marks.begin(stream.end, catch_up_s=LIMIT_S)
    assert (marks.reports_every_end, marks.last_exit_code()) == (False, None)
    await tmux.input.type(made.pane_id, "sh -c 'sleep 0.3; exit 4'", enter=True)
    await marks.catch_up(LIMIT_S)
    assert marks.last_exit_code() == 4


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_whoever_types_at_a_marked_prompt_only_output_counts(
    tmux: Tmux, raw: Raw, shells: CommandRegistry, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"no {shell} here")
    monkeypatch.setenv("SHELL", path)
    made = await tmux.sessions.create("marked", width=60)
    assert await shells.wait_until_done_or_waiting(await shells.submit(tmux, made.pane_id, "true"), LIMIT_S)
    known = shells.find_pane(tmux, made.pane_id)
    assert known is not None
    syntax = (
        [([("-l", "if )"), ENTER], "error", "error")] if shell != "fish" else []
    )  # fish does not run a line with a syntax error
    for typed, triggers, event in [*syntax, *TYPED_BY_A_PERSON]:
        await known.pane.activity.wait_until(
            lambda: [layer.phase for layer in known.stack.shells] == [Phase.PROMPT], LIMIT_S
        )
        asked = plan(tmux, made.pane_id, triggers)
        marks = await track_marks(tmux, made.pane_id, shells)
        watches = WatchRegistry()
        watch = watches.get(await watches.start(replace(asked, marks=marks)))
        for piece in typed:
            raw("send-keys", "-t", made.pane_id, *piece)
        assert await watch.wait_for_end(LIMIT_S)
        assert watch.result is not None
        assert watch.result.event == event, (typed, watch.result)


ENTER, DONE = ("Enter",), [("-l", "echo DO''NE"), ("Enter",)]
# Keys, triggers, and the event.
TYPED_BY_A_PERSON: list[tuple[list[tuple[str, ...]], str, str]] = [
    ([("-l", "true fatal")], "error,idle:0.4", "idle:0.4"),  # without Enter
    ([ENTER, *DONE], "error,pattern:DONE", "pattern:DONE"),
    (
        [("-l", "true fa"), ("-l", f"tal {'error: ' * 30}"), ENTER, *DONE],
        "error,pattern:DONE",
        "pattern:DONE",
    ),
    ([("Up",), ("Up",), ENTER, *DONE], "error,pattern:DONE", "pattern:DONE"),
    ([("-l", "true 'fatal"), ENTER, ("-l", "panic'"), ENTER, *DONE], "error,pattern:DONE", "pattern:DONE"),
    ([("-l", "true fatal; echo fat''al"), ENTER], "pattern:^fatal$,error", "pattern:^fatal$"),
    ([("-l", "sh -c 'sleep 0.3; echo fat\"\"al; sleep 30' &"), ENTER], "error", "error"),
    # The last one: fish may ignore a Ctrl-C, and then the line stays.
    ([("-l", "true fatal"), ("C-c",)], "error,idle:0.4", "idle:0.4"),
]


async def test_nothing_of_a_flood_is_missed(tmux: Tmux) -> None:
    yes = "yes 0123456789 | head -c 8000000; echo"
    flood = f"read x; {yes}; echo needle; {yes}; exec sleep 60"
    made = await tmux.sessions.create("flood", program=PaneProgram(flood))
    watches = WatchRegistry()
    watch = await watches.start(plan(tmux, made.pane_id, "pattern:needle"))
    await tmux.input.type(made.pane_id, "", enter=True)
    assert await watches.get(watch).wait_for_end(LIMIT_S)
    result = watches.get(watch).result
    assert result is not None
    assert (result.event, result.detail) == ("pattern:needle", 'Matched pattern "needle": needle')
    assert "not seen" not in result.output


async def test_a_persons_pane_is_watched_and_let_go_of(tmux: Tmux, raw: Raw) -> None:
    raw("new-session", "-d", "-s", "person", "cat")
    pane = PaneId(raw("display-message", "-p", "-t", "=person:", "#{pane_id}"))
    watches = WatchRegistry()
    watch = await watches.start(plan(tmux, pane, "pattern:hello"))
    raw("send-keys", "-t", pane, "hello", "Enter")
    assert await watches.get(watch).wait_for_end(LIMIT_S)
    result = watches.get(watch).result
    assert result is not None
    assert result.event == "pattern:hello"
    await wait_until(lambda: not raw("list-clients", "-t", "=person"))


async def test_a_cancelled_watch_leaves_no_task_and_no_stream(tmux: Tmux, raw: Raw) -> None:
    raw("new-session", "-d", "-s", "person", "cat")
    pane = PaneId(raw("display-message", "-p", "-t", "=person:", "#{pane_id}"))
    watches = WatchRegistry()
    await tmux.panes.list()
    before = asyncio.all_tasks()
    ids = [
        await watches.start(plan(tmux, pane, f"bell,port:1,file:/no/such,idle:{n + 100}")) for n in range(5)
    ]
    assert asyncio.all_tasks() > before
    assert [await watches.cancel(watch) for watch in ids] == [True] * 5
    assert tmux.streams.find_stream(pane) is None
    await wait_until(lambda: asyncio.all_tasks() <= before)
    assert not raw("list-clients", "-t", "=person")


async def test_what_cannot_begin_is_told_at_once_and_not_kept(tmux: Tmux, raw: Raw) -> None:
    raw("new-session", "-d", "-s", "person", "cat")
    watches = WatchRegistry()
    with pytest.raises(NotFound):
        await watches.start(plan(tmux, PaneId("%99"), "bell"))
    assert watches.background_watches == ()


async def test_only_so_many_watches_are_kept_and_go_on(tmux: Tmux, raw: Raw) -> None:
    raw("new-session", "-d", "-s", "person", "cat")
    pane = PaneId(raw("display-message", "-p", "-t", "=person:", "#{pane_id}"))
    watches = WatchRegistry(most=3)
    ended = []
    for _ in range(5):
        ended.append(await watches.start(plan(tmux, pane, "idle:0.01")))
        assert await watches.get(ended[-1]).wait_for_end(LIMIT_S)
    assert [watch.id for watch in watches.background_watches] == ended[-3:]
    going = [await watches.start(plan(tmux, pane, "bell")) for _ in range(3)]
    with pytest.raises(Refused, match="3 watches are running"):
        await watches.start(plan(tmux, pane, "bell"))
    assert await watches.cancel(going[0])
    await watches.start(plan(tmux, pane, "bell"))
    await watches.close()


async def test_a_full_screen_program_answers_with_its_screen(tmux: Tmux) -> None:
    draws = "read x; printf '\\033[?1049h\\033[2J\\033[3;5Hmenu\\033[4;5Hready'; exec sleep 60"
    made = await tmux.sessions.create("tui", program=PaneProgram(draws))
    watches = WatchRegistry()
    watch = await watches.start(plan(tmux, made.pane_id, "pattern:ready"))
    await tmux.input.type(made.pane_id, "", enter=True)
    assert await watches.get(watch).wait_for_end(LIMIT_S)
    result = watches.get(watch).result
    assert result is not None
    assert [line.strip() for line in result.output.splitlines() if line.strip()] == ["menu", "ready"]


async def test_a_watch_outlives_a_pane_that_moves(tmux: Tmux, raw: Raw) -> None:
    raw("new-session", "-d", "-s", "one", "cat")
    raw("new-session", "-d", "-s", "two", "cat")
    pane = PaneId(raw("display-message", "-p", "-t", "=one:", "#{pane_id}"))
    raw("new-window", "-d", "-t", "=one:", "cat")
    watches = WatchRegistry()
    watch = await watches.start(plan(tmux, pane, "pattern:hello"))
    raw("join-pane", "-d", "-s", pane, "-t", "=two:")

    async def has_fired() -> bool:
        await tmux.input.type(pane, "hello", enter=True)
        await asyncio.sleep(0.02)
        return watches.get(watch).job.has_ended

    async with asyncio.timeout(LIMIT_S):
        while not await has_fired():
            continue
    result = watches.get(watch).result
    assert result is not None
    assert result.event == "pattern:hello"
    assert "not seen" not in result.output  # its journal moves with it


async def test_a_folder_of_the_pane_is_where_a_file_is_looked_for(tmux: Tmux, tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    made = await tmux.sessions.create(
        "file", program=PaneProgram("echo in; exec sleep 60", cwd=str(tmp_path))
    )
    await read_until(stream_of(tmux, made.pane_id), b"in")  # tmux knows the folder once the program runs
    result = await WatchRegistry().run(plan(tmux, made.pane_id, "file:here"))
    assert result.detail == f"The file is there: {tmp_path}/here"
