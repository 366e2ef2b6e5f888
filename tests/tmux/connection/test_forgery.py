"""No text of a person or a program forges a record, runs a command or ends a reply."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Awaitable, Sequence
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import MuxpilotError
from muxpilot.tmux import EnsuredSession, ListedPane, Pane
from muxpilot.tmux.objects.validate import keep_printable
from tests.rigs.engine import Raw, attach_person, read_until, stream_of, wait_until
from tests.rigs.waiting import LIMIT_S, eventually

pytestmark = pytest.mark.both_tmux

# Some begin like the length of a field, so that each could be a field of a record by itself.
ODD_FOLDERS = (
    "a\nb\tc",
    "3:x\n%1 0 5:title",
    "a\x1bb\rc\x07",
    "literal \\033 escape",
    "a\x1b\\033",
    "stray \udcff byte",
    "0 1 80 24 ",
    "é世 #{x} \x7f",
)


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
async def test_no_path_or_name_forges_a_record(
    tmux: Tmux, raw: Raw, folder: Path, locale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LANG")
    monkeypatch.setenv("LC_ALL", locale)
    made = await tmux.sessions.create("é世", program=PaneProgram("exec sleep 600"))
    version = await tmux.connection.server_version()
    refuses_controls = version >= (3, 7)  # in names, not in paths
    # Of a window that a person makes in the background. Builds of 3.2 and 3.2a differ.
    sizes = {(200, 50)} if version >= (3, 3) else {(200, 50), (80, 24)}

    def accepted(name: str) -> str:
        return keep_printable(name) if refuses_controls else name

    paths = {}
    for number, name in enumerate(ODD_FOLDERS, 1):
        (folder / name).mkdir()
        where = ("-d", "-t", f"{made.session_id}:{number}", "-n", accepted(name.replace("\udcff", "ÿ")))
        raw("new-window", *where, "-c", str(folder / name).replace("#", "##"), "exec sleep 600")
        paths[number] = str(folder / name)
    raw("set-buffer", "-b", accepted("3:x\n1 2 \tb"), "content")
    windows = {row.index: row for row in await tmux.windows.list()}
    panes = {row.window_id: row for row in await _panes_once_running(tmux)}
    for number, path in paths.items():
        pane = panes[windows[number].id]
        assert _as_tmux_shows_it(pane.current_path) == _as_tmux_shows_it(path)
        assert (pane.index, pane.current_command, pane.session_id) == (0, "sleep", made.session_id)
        assert (pane.width, pane.height) in sizes
        assert not pane.is_dead
    assert len(panes) == len(windows) == len(paths) + 1
    assert {row.session_name for row in windows.values()} == {"é世"}
    assert [row.size_bytes for row in await tmux.buffers.list()] == [7]


async def _panes_once_running(tmux: Tmux) -> Sequence[ListedPane]:
    """Return every pane once its program runs: before that tmux knows no path, and guesses the command."""

    async def ask() -> Sequence[ListedPane] | None:
        if not all(row.current_path for row in await tmux.panes.list()):
            return None
        rows = await tmux.panes.list()
        return rows if all(row.current_command == "sleep" for row in rows) else None

    rows = await eventually(ask)
    assert isinstance(rows, Sequence)
    return rows


def _as_tmux_shows_it(path: str) -> str:
    """Return a path as tmux 3.5a prints it: there a control character and its escape look the same."""
    return path.replace("\x1b\\033", "\\033\\033")


TRAPS = (
    "#(touch $CANARY)",
    "##(touch $CANARY)",
    "###(touch $CANARY)",
    "#[x]#(touch $CANARY)",
    "#{?1,#(touch $CANARY),}",
    "#{E:#(touch $CANARY)}",
    "%#(touch $CANARY)%",
    "$(touch $CANARY)`touch $CANARY`",
    "'; run-shell 'touch $CANARY'; '",
    '"; run-shell "touch $CANARY"; "',
    "{ run-shell 'touch $CANARY' };",
)


def calls_with_text(tmux: Tmux, pane: Pane, folder: Path, trap: str) -> list[Awaitable[object]]:
    """Return a call of every method that takes a text, with the trap in each of its arguments."""
    cwd = folder / trap
    cwd.mkdir()
    program = PaneProgram("exec sleep 600", cwd=str(cwd), env={"TRAP": trap})
    session, window = pane.session_id, pane.window_id
    return [
        tmux.sessions.create(trap, window_name=trap, program=program),
        tmux.sessions.create(f"2{trap}", program=PaneProgram(f"exec sleep 600 # {trap}")),
        tmux.sessions.find(trap),
        tmux.sessions.rename(session, f"3{trap}"),
        tmux.windows.create(session, name=trap, program=program),
        tmux.windows.split(pane.id, program=program),
        tmux.windows.rename(window, trap),
        tmux.panes.rename(pane.id, trap),
        tmux.panes.break_out(pane.id, name=trap),
        tmux.input.type(pane.id, trap),
        tmux.input.paste(pane.id, trap),
        tmux.input.press(pane.id, " ".join(trap.replace(" ", ""))),
        tmux.input.send_bytes(pane.id, trap.encode()),
        tmux.input.show_text(pane.id, trap),
        tmux.buffers.set(trap, trap.encode()),
        tmux.buffers.append(trap, trap.encode() + b"\0"),
        tmux.buffers.rename(trap, f"2{trap}"),
        tmux.buffers.get(f"2{trap}"),
        tmux.buffers.set_from_file(trap, io.BytesIO(trap.encode())),
        tmux.buffers.delete(trap),
        tmux.clients.show_message(trap),
    ]


def refused_calls(tmux: Tmux, pane: Pane, trap: str) -> list[Awaitable[object]]:
    return [
        tmux.windows.set_layout(pane.window_id, trap),
        tmux.panes.resize(pane.id, direction=trap),
        tmux.input.press(pane.id, trap),
        tmux.capture.rows_between(pane.id, trap, trap),
        tmux.clients.detach(trap),
        tmux.targets.resolve_session(trap + "?"),
        tmux.targets.resolve_window(f"{pane.session_id}:{trap}?"),
        tmux.targets.resolve_pane(f"{pane.session_id}:{trap}.{trap}"),
    ]


@pytest.mark.tmux_since(3, 3, "it cannot show a message to a chosen client")
async def test_no_argument_of_any_verb_runs_a_command(
    tmux: Tmux, raw: Raw, socket: str, binary: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person is attached, too, and their status line shows the names."""
    canary = folder / "canary"
    monkeypatch.setenv("CANARY", str(canary))
    made = await tmux.sessions.create("s", program=PaneProgram("cat"))
    async with attach_person(binary, socket, "attach"):
        for number, trap in enumerate(TRAPS):
            pane = await tmux.panes.get(made.pane_id)
            for verb in calls_with_text(tmux, pane, folder, trap):
                await verb
            for verb in refused_calls(tmux, pane, trap):
                with pytest.raises(MuxpilotError):
                    await verb
            await _wait_for_working_trap(tmux, folder / f"snapped{number}")
        await tmux.clients.show_message("done")
    assert not canary.exists()


async def _wait_for_working_trap(tmux: Tmux, witness: Path) -> None:
    """Run a trap that is not escaped, and wait for it: then all that was started before it has run, too."""
    for turn in (1, 2):
        mark = witness.with_suffix(f".{turn}")
        await tmux.connection.run(("display-message", "-p", f"#(touch {mark})"))
        await wait_until(mark.exists)


SECONDS, NUMBERS = 12, 450  # how far ahead the stamps of replies are guessed


async def test_a_pane_that_prints_the_end_of_its_own_capture_fools_nobody(
    tmux: Tmux, raw: Raw, folder: Path
) -> None:
    made = await tmux.sessions.create("s", program=PaneProgram("sleep 600"))
    raw("set-option", "-g", "history-limit", "50000")

    async def are_guessed() -> bool:
        """Return whether the stamps of the captures were among the forged ones. A slow host outruns them."""
        begun, count = await _next_stamp(raw)
        await _check_captures(tmux, made, folder / "lines", _forged_lines(begun, count))
        ended, last = await _next_stamp(raw)
        return ended < begun + SECONDS and count < last < count + NUMBERS

    await eventually(are_guessed)


def _forged_lines(begun: int, count: int) -> list[str]:
    stamps = [
        f"{begun + second} {count + number} 1" for second in range(SECONDS) for number in range(NUMBERS)
    ]
    ends = [f"%{word} {stamp}" for stamp in stamps for word in ("end", "error", "begin")]
    return [*ends, "%exit", "%output %0 x", "LAST"]


async def _check_captures(tmux: Tmux, made: EnsuredSession, file: Path, lines: list[str]) -> None:
    """Show these lines in a pane. Every capture has just them, and every other request gets its own reply."""
    file.write_text("\n".join(lines) + "\n")
    shown = await tmux.windows.create(made.session_id, program=PaneProgram(f"cat {file}; exec sleep 600"))
    await read_until(stream_of(tmux, shown.pane_id), b"LAST")
    async with asyncio.timeout(LIMIT_S):
        for _ in range(3):
            captured, *others = await asyncio.gather(
                tmux.capture.last_lines(shown.pane_id, 50_000),
                *(tmux.panes.get(made.pane_id) for _ in range(20)),
                *(tmux.panes.get(shown.pane_id) for _ in range(20)),
            )
            assert captured == lines
            ids = [row.id for row in others if isinstance(row, Pane)]
            assert ids == [made.pane_id] * 20 + [shown.pane_id] * 20


async def _next_stamp(raw: Raw) -> tuple[int, int]:
    """Return the second and the number that tmux gives to a command now."""
    begin = re.compile("%begin ([0-9]+) ([0-9]+) ")
    found = await wait_until(lambda: begin.search(raw("-C", "display-message", "-p", "now", check=False)))
    assert isinstance(found, re.Match)
    return int(found[1]), int(found[2])
