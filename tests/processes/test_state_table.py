"""The state detector on real programs in real panes, as their own user and as another one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muxpilot.processes.proc import ProcReader
from muxpilot.processes.state import ForegroundState, read_local_state
from tests.processes.state_programs import AS_ROOT, CASES, FOREIGN, PYTHON, SSHD, Case
from tests.rigs.homes import make_home
from tests.rigs.waiting import LIMIT_S, end_server

NOBODY = 65534
ROOTS = ("sleep", "cat", "bash")
TMUX = shutil.which("tmux") or "tmux"


class HiddenProc(ProcReader):
    """A system without permission to trace, as most desktops are set up: no system calls, no memory."""

    def system_call(self, pid: int, thread: int) -> list[int] | None:
        raise PermissionError("hidden")

    def memory(self, pid: int, address: int, size: int) -> bytes:
        raise PermissionError("hidden")


class UserServer:
    """A tmux server of one user, with a pane for each case. All panes are started at once."""

    def __init__(self, user: int | None, cases: list[Case]) -> None:
        self.user = user
        self.folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
        self.socket = str(self.folder / "s")
        self._typed: set[str] = set()
        make_home(self.folder / "home")
        (self.folder / "long").write_text("line\n" * 500)
        self._copy_root_programs()
        if user is not None:
            for path in (self.folder, *(self.folder / "home").rglob("*"), self.folder / "home"):
                os.chown(path, user, user)
            if shutil.which("ssh-keygen"):
                self.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{self.folder}/key")
        self.rows: dict[str, list[str]] = {}
        self.tmux("new-session", "-d", "-x", "150", "-y", "40", "sleep 600")
        for case in cases:
            form = "#{pane_id} #{pane_pid} #{pane_tty}"
            command = "unset TMUX; " + case.command.replace("{folder}", str(self.folder))
            self.rows[case.name] = self.tmux("new-window", "-d", "-P", "-F", form, command).split()

    def _copy_root_programs(self) -> None:
        if os.getuid() == 0:
            for name in ROOTS:
                copy = self.folder / "root" / name
                copy.parent.mkdir(exist_ok=True)
                shutil.copy(shutil.which(name) or name, copy)
                copy.chmod(0o4755)

    def run(self, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a program as the user of this server."""
        return subprocess.run(
            argv,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder / "home"), **env},
            cwd="/",
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )

    def tmux(self, *args: str) -> str:
        env = {"SHELL": "/bin/sh", "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        done = self.run(TMUX, "-u", "-S", self.socket, "-f", "/dev/null", *args, **env)
        assert done.returncode == 0, done.stderr
        return done.stdout.rstrip("\n")

    def look(self, case: Case, proc: ProcReader) -> ForegroundState:
        _, pid, tty = self.rows[case.name]
        with effective_user(self.user):
            return read_local_state(int(pid), tty, proc=proc)

    def prepare(self, case: Case) -> None:
        """Type what the case needs, and wait until its program has begun."""
        pane = self.rows[case.name][0]
        if case.typed and case.name not in self._typed:
            until(lambda: self.look(case, ProcReader()).waiting_for == "shell")
            self.tmux("send-keys", "-t", pane, case.typed, "Enter")
            self._typed.add(case.name)
        if "rea" in case.command + case.typed and case.verdict in ("no", "unknown"):
            until(lambda: "ready" in self.tmux("capture-pane", "-p", "-t", pane).splitlines())

    def close(self) -> None:
        end_server(TMUX, str(self.folder / "inner"))
        end_server(TMUX, self.socket)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def effective_user(user: int | None) -> Iterator[None]:
    """Run a block with the permissions of another user."""
    if user is None:
        yield
        return
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(user)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def until(check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not check():
        assert time.monotonic() < deadline, "the condition never became true"
        time.sleep(0.01)


def verdict(state: ForegroundState) -> str:
    return state.waiting_for or "no" if state.is_known else "unknown"


@pytest.fixture(scope="module")
def servers() -> Iterator[Callable[[str], UserServer]]:
    """Return a function that starts the server of a user once."""
    made: dict[str, UserServer] = {}

    def start_server(who: str) -> UserServer:
        if who != "me" and os.getuid() != 0:
            pytest.skip("only root can start programs as another user")
        if who not in made:
            is_me = who == "me"
            made[who] = UserServer(
                None if is_me else NOBODY, [case for case in ALL[who] if not missing(case)]
            )
        return made[who]

    yield start_server
    for one in made.values():
        one.close()


ALL = {"me": [*CASES, *AS_ROOT] if os.getuid() == 0 else CASES, "another user": [*CASES, *FOREIGN]}


def missing(case: Case) -> str | None:
    program = SSHD if SSHD in case.command else case.program
    return None if "{" in program or shutil.which(program) else program


def wait_for_verdict(server: UserServer, case: Case, proc: ProcReader, wanted: str) -> ForegroundState:
    """Return the state once it is as wanted, or the last one when the time is over."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        state = server.look(case, proc)
        is_there = verdict(state) == wanted and state.foreground_cmd == case.front
        if is_there or time.monotonic() > deadline:
            return state
        time.sleep(0.01)


@pytest.mark.parametrize("proc", [ProcReader(), HiddenProc()], ids=["traced", "hidden"])
@pytest.mark.parametrize(
    ("who", "case"),
    [pytest.param(who, case, id=f"{who}-{case.name}") for who, cases in ALL.items() for case in cases],
)
def test_what_a_program_waits_for_is_told(
    servers: Callable[[str], UserServer], who: str, case: Case, proc: ProcReader
) -> None:
    if absent := missing(case):
        pytest.skip(f"{absent} is not installed")
    server = servers(who)
    server.prepare(case)
    wanted = (case.hidden or case.verdict) if isinstance(proc, HiddenProc) else case.verdict
    state = wait_for_verdict(server, case, proc, wanted)
    assert (verdict(state), state.foreground_cmd) == (wanted, case.front), state
    assert state.is_shell is case.is_shell, state
    assert state.evidence
    if wanted == "no":
        again = [verdict(server.look(case, proc)) for _ in range(2)]
        assert again == ["no"] * 2


def test_a_process_of_another_user_sees_what_root_saw_for_it(servers: Callable[[str], UserServer]) -> None:
    server = servers("another user")
    source = Path(__file__).parents[2] / "src"
    cases = [case for case in CASES if case.name in ("bash", "getpass", "node server", "sleep", "cat | grep")]
    for case in cases:
        server.prepare(case)
        wait_for_verdict(server, case, ProcReader(), case.verdict)
    rows = [server.rows[case.name] for case in cases]
    code = "from muxpilot.processes.state import read_local_state\n"
    code += f"for _, pid, tty in {rows}: print(read_local_state(int(pid), tty).waiting_for)"
    done = server.run(PYTHON, "-c", code, PYTHONPATH=str(source), PYTHONDONTWRITEBYTECODE="1")
    if "Error" in done.stderr:
        pytest.skip(f"another user cannot import the source here: {done.stderr[-80:]!r}")
    wanted = [case.verdict if case.verdict != "no" else "None" for case in cases]
    assert done.stdout.split() == wanted
