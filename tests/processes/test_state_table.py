"""Whether the detector tells the truth about real programs in real panes, and to whom."""

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

from muxpilot.processes.proc import Kernel
from muxpilot.processes.state import State, look
from tests.processes.state_programs import AS_ROOT, CASES, FOREIGN, PYTHON, SSHD, Case
from tests.rigs.waiting import LIMIT_S, end_server

NOBODY = 65534
ROOTS = ("sleep", "cat", "bash")
TMUX = shutil.which("tmux") or "tmux"


class Hiding(Kernel):
    """A system that lets nobody trace, as most desktops are set up: no system calls, no memory."""

    def call(self, pid: int, thread: int) -> list[int] | None:
        raise PermissionError("hidden")

    def memory(self, pid: int, address: int, size: int) -> bytes:
        raise PermissionError("hidden")


class Stage:
    """A tmux server of one user, with a pane for each case, all started at once."""

    def __init__(self, user: int | None, cases: list[Case]) -> None:
        self.user = user
        self.folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
        self.socket = str(self.folder / "s")
        self._typed: set[str] = set()
        (self.folder / "long").write_text("line\n" * 500)
        self._copies()
        if user is not None:
            os.chown(self.folder, user, user)
            if shutil.which("ssh-keygen"):
                self.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{self.folder}/key")
        self.rows: dict[str, list[str]] = {}
        self.tmux("new-session", "-d", "-x", "150", "-y", "40", "sleep 600")
        for case in cases:
            form = "#{pane_id} #{pane_pid} #{pane_tty}"
            command = "unset TMUX; " + case.command.replace("{folder}", str(self.folder))
            self.rows[case.name] = self.tmux("new-window", "-d", "-P", "-F", form, command).split()

    def _copies(self) -> None:
        if os.getuid() == 0:
            for name in ROOTS:
                copy = self.folder / "root" / name
                copy.parent.mkdir(exist_ok=True)
                shutil.copy(shutil.which(name) or name, copy)
                copy.chmod(0o4755)

    def run(self, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a program as the user of this stage."""
        return subprocess.run(
            argv,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), **env},
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

    def look(self, case: Case, kernel: Kernel) -> State:
        _, pid, tty = self.rows[case.name]
        with wearing(self.user):
            return look(int(pid), tty, kernel=kernel)

    def bring(self, case: Case) -> None:
        """Bring a pane to where its case begins."""
        pane = self.rows[case.name][0]
        if case.typed and case.name not in self._typed:
            until(lambda: self.look(case, Kernel()).waiting_for == "shell")
            self.tmux("send-keys", "-t", pane, case.typed, "Enter")
            self._typed.add(case.name)
        if "rea" in case.command + case.typed and case.verdict in ("no", "unknown"):
            until(lambda: "ready" in self.tmux("capture-pane", "-p", "-t", pane).splitlines())

    def close(self) -> None:
        end_server(TMUX, str(self.folder / "inner"))
        end_server(TMUX, self.socket)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def wearing(user: int | None) -> Iterator[None]:
    """Be that user for the system's checks."""
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
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)


def verdict(state: State) -> str:
    return state.waiting_for or "no" if state.is_known else "unknown"


@pytest.fixture(scope="module")
def stages() -> Iterator[Callable[[str], Stage]]:
    made: dict[str, Stage] = {}

    def stage(who: str) -> Stage:
        if who != "me" and os.getuid() != 0:
            pytest.skip("only root can start programs as another user")
        if who not in made:
            is_me = who == "me"
            made[who] = Stage(None if is_me else NOBODY, [case for case in ALL[who] if not missing(case)])
        return made[who]

    yield stage
    for one in made.values():
        one.close()


ALL = {"me": [*CASES, *AS_ROOT] if os.getuid() == 0 else CASES, "another user": [*CASES, *FOREIGN]}


def missing(case: Case) -> str | None:
    program = SSHD if SSHD in case.command else case.program
    return None if "{" in program or shutil.which(program) else program


def settle(stage: Stage, case: Case, kernel: Kernel, wanted: str) -> State:
    """The state once it is as wanted, or as it still is after a while."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        state = stage.look(case, kernel)
        is_there = verdict(state) == wanted and state.foreground_cmd == case.front
        if is_there or time.monotonic() > deadline:
            return state
        time.sleep(0.01)


@pytest.mark.parametrize("kernel", [Kernel(), Hiding()], ids=["traced", "hidden"])
@pytest.mark.parametrize(
    ("who", "case"),
    [pytest.param(who, case, id=f"{who}-{case.name}") for who, cases in ALL.items() for case in cases],
)
def test_what_a_program_waits_for_is_told(
    stages: Callable[[str], Stage], who: str, case: Case, kernel: Kernel
) -> None:
    if absent := missing(case):
        pytest.skip(f"{absent} is not installed")
    stage = stages(who)
    stage.bring(case)
    wanted = (case.hidden or case.verdict) if isinstance(kernel, Hiding) else case.verdict
    state = settle(stage, case, kernel, wanted)
    assert (verdict(state), state.foreground_cmd) == (wanted, case.front), state
    assert state.is_shell is case.is_shell, state
    assert state.evidence
    if wanted == "no":
        again = [verdict(stage.look(case, kernel)) for _ in range(5)]
        assert again == ["no"] * 5


def test_a_process_of_another_user_sees_what_root_saw_for_it(stages: Callable[[str], Stage]) -> None:
    stage = stages("another user")
    source = Path(__file__).parents[2] / "src"
    cases = [case for case in CASES if case.name in ("bash", "getpass", "node server", "sleep", "cat | grep")]
    for case in cases:
        stage.bring(case)
        settle(stage, case, Kernel(), case.verdict)
    rows = [stage.rows[case.name] for case in cases]
    code = "from muxpilot.processes.state import look\n"
    code += f"for _, pid, tty in {rows}: print(look(int(pid), tty).waiting_for)"
    done = stage.run(PYTHON, "-c", code, PYTHONPATH=str(source), PYTHONDONTWRITEBYTECODE="1")
    if "Error" in done.stderr:
        pytest.skip(f"another user cannot import the source here: {done.stderr[-80:]!r}")
    wanted = [case.verdict if case.verdict != "no" else "None" for case in cases]
    assert done.stdout.split() == wanted
