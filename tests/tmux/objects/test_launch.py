"""Starting programs in panes of a real tmux: no byte is lost, every status is exact, nothing is left."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.app import build
from muxpilot.config.model import Settings
from muxpilot.errors import BadInput
from muxpilot.tmux import CreatedPane, Data, PaneId, SessionId
from muxpilot.tmux.streams import registry
from tests.rigs.engine import Raw, read_to_end, read_until, stream_of, wait_until
from tests.rigs.waiting import LIMIT_S, eventually, is_running

SLEEP = PaneProgram("sleep 60")
FLOOD = PaneProgram("seq 1 20000; echo LAST")
FLOODED = b"".join(b"%d\r\n" % number for number in range(1, 20001)) + b"LAST\r\n"


async def home(tmux: Tmux) -> SessionId:
    """Create a session that stays, so that the server stays."""
    return (await tmux.sessions.create("home", program=SLEEP)).session_id


async def create_window(tmux: Tmux, command: str | None) -> CreatedPane:
    return await tmux.windows.create(await home(tmux), program=PaneProgram(command))


async def wait_until_running(tmux: Tmux, pane: PaneId, command: str) -> None:
    """Wait until tmux reports this as the pane's command."""

    async def check() -> bool:
        return (await tmux.panes.get(pane)).current_command == command

    await eventually(check)


@contextmanager
def both_cores_busy() -> Iterator[None]:
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() or 2)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


async def test_the_first_byte_is_never_lost(tmux: Tmux) -> None:
    session = await home(tmux)
    for _ in range(20):
        made = await tmux.windows.create(session, program=PaneProgram("printf FIRST; exec sleep 60"))
        async with asyncio.timeout(LIMIT_S):
            async for event in stream_of(tmux, made.pane_id).follow(0):
                assert isinstance(event, Data)
                assert b"FIRST".startswith(event.data)
                break


async def flood(tmux: Tmux, session: SessionId) -> tuple[bytes, int | None]:
    made = await tmux.windows.create(session, program=FLOOD)
    seen, end = await read_to_end(stream_of(tmux, made.pane_id))
    return seen, end.status


async def test_not_one_byte_is_lost_up_to_the_last(tmux: Tmux) -> None:
    session = await home(tmux)
    for _ in range(50):
        assert await flood(tmux, session) == (FLOODED, 0)


async def test_not_one_byte_is_lost_under_load(tmux: Tmux) -> None:
    session = await home(tmux)
    with both_cores_busy():
        for _ in range(5):
            for ending in await asyncio.gather(*(flood(tmux, session) for _ in range(10))):
                assert ending == (FLOODED, 0)


async def test_a_split_a_session_and_a_respawn_lose_nothing_either(tmux: Tmux) -> None:
    session = await home(tmux)
    made = await tmux.sessions.create("flood", program=FLOOD)
    assert (await read_to_end(stream_of(tmux, made.pane_id)))[0] == FLOODED
    [pane] = await tmux.panes.list(session)
    split = await tmux.windows.split(pane.id, program=FLOOD)
    assert (await read_to_end(stream_of(tmux, split.pane_id)))[0] == FLOODED
    window = await tmux.windows.create(session, program=SLEEP)
    await tmux.windows.respawn(window.pane_id, command=FLOOD.command, kill=True)
    assert (await read_to_end(stream_of(tmux, window.pane_id)))[0] == FLOODED


STATUSES = {
    "exit 3": 3,
    "true": 0,
    "exit 255": 255,
    "kill -9 $$": 137,
    "kill -TERM $$": 143,
    "kill -INT $$": 130,
    "kill -HUP $$": 129,
    "no-such-program-here": 127,
    "/etc/passwd": 126,
    "set -e; false; echo not here": 1,
    "sleep 0.01 & wait; exit 4": 4,
    "kill -STOP $$; exit 5": 5,
}


async def test_statuses_are_exact(tmux: Tmux) -> None:
    session = await home(tmux)

    async def status(command: str) -> int | None:
        made = await tmux.windows.create(session, program=PaneProgram(command))
        return (await read_to_end(stream_of(tmux, made.pane_id)))[1].status

    found = await asyncio.gather(*(status(command) for command in STATUSES))
    assert dict(zip(STATUSES, found, strict=True)) == STATUSES
    assert await asyncio.gather(*(status("exit 3") for _ in range(20))) == [3] * 20


async def test_tmux_shows_the_commands_own_name(tmux: Tmux, raw: Raw) -> None:
    for command, name in (("exec sleep 60", "sleep"), ("exec cat", "cat"), ("bash", "bash")):
        await wait_until_running(tmux, (await create_window(tmux, command)).pane_id, name)
    raw("set-option", "-g", "default-shell", "/bin/bash")  # sh would stay, as it does without us
    await wait_until_running(tmux, (await create_window(tmux, "sleep 60")).pane_id, "sleep")


async def test_control_c_ends_the_command_and_tells_its_status(tmux: Tmux) -> None:
    trapped = "trap 'exit 9' INT; echo READY; while :; do sleep 0.05; done"
    for command, status in (("echo READY; exec sleep 60", 130), (trapped, 9)):
        made = await create_window(tmux, command)
        stream = stream_of(tmux, made.pane_id)
        await read_until(stream, b"READY")
        await tmux.input.press(made.pane_id, "C-c")
        assert (await read_to_end(stream))[1].status == status


async def test_control_z_does_not_end_the_pane(tmux: Tmux) -> None:
    made = await create_window(tmux, "echo READY; exec cat")
    await read_until(stream_of(tmux, made.pane_id), b"READY")
    await tmux.input.press(made.pane_id, "C-z")
    await read_until(stream_of(tmux, made.pane_id), b"^Z")
    await tmux.input.type(made.pane_id, "still here", enter=True)
    await read_until(stream_of(tmux, made.pane_id), b"still here\r\nstill here\r\n")


async def test_job_control_works_in_a_shell_that_is_the_command(tmux: Tmux) -> None:
    made = await create_window(tmux, "bash --norc")
    pane, stream = made.pane_id, stream_of(tmux, made.pane_id)
    await read_until(stream, b"$ ")
    await tmux.input.type(pane, "cat", enter=True)
    await wait_until_running(tmux, pane, "cat")
    await tmux.input.press(pane, "C-z")
    await read_until(stream, b"Stopped")
    await wait_until_running(tmux, pane, "bash")
    await tmux.input.type(pane, "fg", enter=True)
    await wait_until_running(tmux, pane, "cat")
    await tmux.input.type(pane, "back", enter=True)
    await read_until(stream, b"back\r\nback\r\n")
    await tmux.input.press(pane, "C-d")
    await wait_until_running(tmux, pane, "bash")
    await tmux.input.type(pane, "exit 6", enter=True)
    assert (await read_to_end(stream))[1].status == 6


async def test_killing_a_pane_ends_what_runs_in_it(tmux: Tmux) -> None:
    made = await create_window(tmux, "sleep 61 & echo $! $$; exec sleep 62")
    words = (await read_until(stream_of(tmux, made.pane_id), b"\n")).split()
    pids = [int(word) for word in words]
    await wait_until(lambda: all(Path(f"/proc/{pid}/comm").read_text() == "sleep\n" for pid in pids))
    await tmux.panes.kill(made.pane_id)
    await wait_until(lambda: not any(is_running(pid) for pid in pids))


@asynccontextmanager
async def engine(socket: str, binary: str, *, keeps_journals: bool = True) -> AsyncIterator[Tmux]:
    async with Tmux(
        socket, binary=binary, config="/dev/null", timeout_s=10, keeps_journals=keeps_journals
    ) as tmux:
        yield tmux


def child_names(pid: int) -> list[str]:
    """Return the names of the running children of a process; tmux 3.3a may not reap those that ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if parent == str(pid) and state not in "ZX":
            found.append(name)
    return found


@pytest.mark.parametrize("keeps_journals", [True, False])
async def test_panes_live_on_without_us_and_only_their_journals_stay(
    socket: str, binary: str, raw: Raw, keeps_journals: bool
) -> None:
    async with engine(socket, binary, keeps_journals=keeps_journals) as tmux:
        made = await create_window(tmux, "exec cat")
        await wait_until_running(tmux, made.pane_id, "cat")
        shell = await create_window(tmux, None)
        scratch = tmux.connection.temporary_folder.path
    assert raw("list-panes", "-a", "-F", "#{pane_pipe}").split() == ["1" if keeps_journals else "0"] * 3
    server = int(raw("display-message", "-p", "-t", "home:", "#{pid}"))
    await wait_until(lambda: "cat" not in child_names(server))
    assert not scratch.exists()
    raw("send-keys", "-t", made.pane_id, "still here", "Enter")
    await wait_until(lambda: raw("capture-pane", "-p", "-t", shell.pane_id))  # its prompt
    raw("send-keys", "-t", shell.pane_id, "echo to''o", "Enter")
    await wait_until(lambda: raw("capture-pane", "-p", "-t", made.pane_id).count("still here") == 2)
    await wait_until(lambda: "\ntoo" in raw("capture-pane", "-p", "-t", shell.pane_id))


async def test_a_command_that_outlives_us_still_ends(socket: str, binary: str, raw: Raw) -> None:
    async with engine(socket, binary) as tmux:
        made = await create_window(tmux, "read line; exit 3")
        raw("set-option", "-p", "-t", made.pane_id, "remain-on-exit", "on")
    raw("send-keys", "-t", made.pane_id, "Enter")
    ask = ("display-message", "-p", "-t", made.pane_id, "#{pane_dead}")
    await wait_until(lambda: raw(*ask) == "1")


@pytest.mark.parametrize("command", ["echo run >>FILE; exec sleep 60", None])
async def test_a_person_can_respawn_a_pane_after_us(
    socket: str, binary: str, raw: Raw, tmp_path: Path, command: str | None
) -> None:
    file = tmp_path / "runs"
    async with engine(socket, binary) as tmux:
        made = await create_window(tmux, command and command.replace("FILE", str(file)))
        await wait_until(lambda: has_run(file) if command else stream_of(tmux, made.pane_id).end)
    raw("respawn-pane", "-k", "-t", made.pane_id)
    if command is None:
        raw("send-keys", "-t", made.pane_id, f"echo run >{file}; echo run >>{file}", "Enter")
    await wait_until(lambda: has_run(file, times=2))


def has_run(file: Path, *, times: int = 1) -> bool:
    return file.exists() and file.read_text() == "run\n" * times


async def test_a_person_can_respawn_a_pane_beside_us(tmux: Tmux, raw: Raw) -> None:
    made = await create_window(tmux, "echo READY; exec sleep 60")
    await read_until(stream_of(tmux, made.pane_id), b"READY\r\n")
    raw("respawn-pane", "-k", "-t", made.pane_id)
    await read_until(stream_of(tmux, made.pane_id), b"READY\r\nREADY\r\n")


async def test_the_persons_default_command_is_honoured(tmux: Tmux, raw: Raw) -> None:
    session = await home(tmux)
    raw("set-option", "-g", "default-command", "printf 'CUSTOM %s' \"$0\"; exec sleep 60")
    made = await tmux.windows.create(session)
    assert (await read_until(stream_of(tmux, made.pane_id), b"CUSTOM")).startswith(b"CUSTOM")


SHELLS = {
    "bash": "echo is=$BASH_VERSION; exec sleep 60",
    "zsh": "echo is=$ZSH_VERSION; exec sleep 60",
    "fish": "echo is=$FISH_VERSION; exec sleep 60",
    "dash": "echo is=2; exec sleep 60",
}


@pytest.mark.parametrize("shell", SHELLS)
async def test_the_persons_default_shell_is_honoured(tmux: Tmux, raw: Raw, shell: str) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    session = await home(tmux)
    raw("set-option", "-g", "default-shell", path)
    made = await tmux.windows.create(session)
    await wait_until_running(tmux, made.pane_id, shell)
    command = await tmux.windows.create(session, program=PaneProgram(SHELLS[shell]))
    seen = await read_until(stream_of(tmux, command.pane_id), b"is=")
    assert not seen.startswith(b"is=\r")


async def test_a_shell_pane_is_a_login_shell_with_the_person_s_environment(tmux: Tmux, raw: Raw) -> None:
    session = await home(tmux)
    raw("set-option", "-g", "default-shell", shutil.which("bash") or "/bin/bash")
    made = await tmux.windows.create(session)
    await tmux.input.type(made.pane_id, "shopt -q login_shell && echo lo''gin $mark $#", enter=True)
    await read_until(stream_of(tmux, made.pane_id), b"login 0\r\n")


SLOW_BASH = """\
#!/bin/sh
while [ ! -e {go} ]; do sleep 0.02; done
exec {bash} "$@"
"""


async def test_a_shell_reads_the_persons_files_also_if_we_end_at_once(
    socket: str, raw: Raw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its start-up files bash would stay in POSIX mode, in which it reads no profile."""
    slow, go = tmp_path / "bash", tmp_path / "go"
    slow.write_text(SLOW_BASH.format(go=go, bash=shutil.which("bash")))
    slow.chmod(0o755)
    (tmp_path / ".bash_profile").write_text("PS1='ready> '\n")
    monkeypatch.setenv("SHELL", str(slow))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(registry, "_PROGRAM_START_S", LIMIT_S)
    app = build(Settings(socket=socket))
    await app.dispatch.call("create-session", {"name": "home"})
    closing = asyncio.create_task(app.close())
    done, _ = await asyncio.wait([closing], timeout=1)
    go.touch()
    await closing
    assert not done
    await wait_until(lambda: raw("capture-pane", "-p", "-t", "home:").startswith("ready>"))


async def test_a_persons_variables_reach_the_program(tmux: Tmux) -> None:
    variables = {"mark": "M", "command": "C", "pid": "P", "s": "S"}
    made = await tmux.sessions.create("dev", program=PaneProgram("echo $mark$command$pid$s", env=variables))
    seen, end = await read_to_end(stream_of(tmux, made.pane_id))
    assert (seen, end.status) == (b"MCPS\r\n", 0)


async def test_the_last_words_of_a_pane_can_be_asked_for_after_its_end(tmux: Tmux) -> None:
    await tmux.sessions.create("keeper")
    made = await tmux.sessions.create("dev", program=PaneProgram("echo words; exit 3"))
    await eventually(lambda: _is_gone(tmux, made.pane_id))
    seen, end = await read_to_end(stream_of(tmux, made.pane_id))
    assert (seen, end.status) == (b"words\r\n", 3)


async def _is_gone(tmux: Tmux, pane: PaneId) -> bool:
    return all(row.id != pane for row in await tmux.panes.list())


@pytest.mark.parametrize(("command", "words"), [(" ", "is empty"), ("x" * 200_000, "longer than 100000")])
async def test_a_command_that_cannot_be_run_is_refused(tmux: Tmux, command: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        await tmux.sessions.create("dev", program=PaneProgram(command))
