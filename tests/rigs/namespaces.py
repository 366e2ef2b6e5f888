"""Containers without a container engine: processes with a file system, pids and terminals of their own.

bubblewrap makes the namespaces, and `nsenter` runs a program inside them, as `docker exec -i` does.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rigs.waiting import LIMIT_S, send_signal

PROMPT = "inside$ "
VARIABLES = {"HOME": "/root", "SHELL": "/bin/bash", "LANG": "C.UTF-8", "PS1": PROMPT}
# The only programs of the smallest container.
NEEDED = ("sh", "cat", "tmux")
_HOLDER = ("/bin/sh", "-c", "echo ready; while read -r _; do :; done")


@dataclass
class Container:
    """A running container. `root` is its file system as it is seen from outside.

    What is run inside gets these variables, or all variables of who runs it if there are none.
    """

    root: Path
    mounts: Sequence[str]
    variables: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None
    pid: int = 0

    @property
    def command(self) -> str:
        """Return the command that runs a program inside, the same after a restart of the container."""
        return shlex.join(["/bin/sh", str(self.root.parent / "enter")])

    @property
    def words(self) -> list[str]:
        return shlex.split(self.command)

    def start(self) -> None:
        """Start the container: a process that waits, the first of its pids."""
        reading, writing = os.pipe()
        argv = [
            "bwrap",
            *self.mounts,
            "--unshare-pid",
            "--as-pid-1",
            "--info-fd",
            str(writing),
            "--",
            *_HOLDER,
        ]
        with open(reading, "rb") as info:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(writing,)
            )
            os.close(writing)
            self.pid = json.loads(info.read())["child-pid"]
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ready\n"
        self.root.with_name("enter").write_text(f'exec {shlex.join(self._nsenter)} "$@"\n')

    @property
    def _nsenter(self) -> list[str]:
        given = [f"{name}={value}" for name, value in self.variables.items()]
        return ["nsenter", "-t", str(self.pid), "-m", "-p", *(("env", "-i", *given) if given else ())]

    def stop(self) -> None:
        """End the container with everything in it, as `docker kill` does."""
        if self.process is not None:
            send_signal(self.pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait(LIMIT_S)
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
            self.process = None

    def run(self, *argv: str) -> str:
        """Run a program inside, and return what it prints."""
        done = subprocess.run(
            [*self._nsenter, *argv], capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        assert done.returncode == 0, f"{argv}: {done.stderr}"
        return done.stdout.rstrip("\n")

    def tmux(self, *args: str) -> str:
        """Run tmux inside, as a person there would."""
        return self.run("tmux", "-u", *args)

    def kill_connections(self) -> list[int]:
        """Kill every `nsenter` into the container with what it has started, but not tmux. Return their pids.

        nsenter gives its own pipes to the program inside: to kill it alone would break no connection.
        """
        listed = subprocess.run(["pgrep", "-f", f"nsenter -t {self.pid} "], capture_output=True, text=True)
        waiting = [int(pid) for pid in listed.stdout.split()]
        for pid in waiting:
            waiting += _children(pid)
        for pid in waiting:
            send_signal(pid, signal.SIGKILL)
        return waiting

    def use_busybox(self, *applets: str) -> None:
        """Let busybox be the shell and these programs, as in an image of Alpine."""
        for name in ("sh", *applets):
            (self.root / "bin" / name).unlink(missing_ok=True)
            (self.root / "bin" / name).symlink_to("busybox")

    def processes(self) -> list[int]:
        """Return the pids, as they are outside, of all processes inside."""
        space = os.readlink(f"/proc/{self.pid}/ns/pid")
        found = []
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and os.readlink(f"/proc/{name}/ns/pid") == space:
                    found.append(int(name))
            except OSError:
                continue
        return found


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # it has ended
        return []


def _skip_without_namespaces() -> None:
    if shutil.which("bwrap") is None or shutil.which("nsenter") is None:
        pytest.skip("no bubblewrap or nsenter here")
    argv = ["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true"]
    if os.getuid() != 0 or subprocess.run(argv, capture_output=True, check=False).returncode:
        pytest.skip("entering namespaces needs root here")


def copy_programs(root: Path, names: Sequence[str]) -> None:
    """Copy programs with their libraries into a folder, where they become /bin."""
    for name in names:
        source = shutil.which("dash" if name == "sh" else name)
        if source is None:
            pytest.skip(f"no {name} here")
        _copy(Path(source), root / "bin" / name)
        listed = subprocess.run(["ldd", source], capture_output=True, text=True, check=False).stdout
        for library in re.findall(r"(/\S+) \(0x", listed):
            _copy(Path(library), root / library.lstrip("/"))
    _copy_folder(Path("/usr/lib/locale/C.utf8"), root)  # tmux starts in a UTF-8 locale only
    for terminal in ("screen", "tmux-256color"):
        for base in ("/lib/terminfo", "/usr/share/terminfo"):
            found = Path(base, terminal[0], terminal)
            if found.exists():
                _copy(found, root / "lib/terminfo" / terminal[0] / terminal)


def _copy_folder(source: Path, root: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, root / str(source).lstrip("/"))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy(source.resolve(), target)


@contextmanager
def run_container(*, has_only: Sequence[str] = (), has_proc: bool = True) -> Iterator[Container]:
    """Run a container with the programs of this machine, or with a few of them."""
    _skip_without_namespaces()
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    root = folder / "root"
    (root / "root").mkdir(parents=True)
    (root / "tmp").mkdir()
    proc = ("--proc", "/proc") if has_proc else ()
    if has_only:
        copy_programs(root, has_only)
        mounts: list[str] = ["--bind", str(root), "/"]
    else:
        (root / "root" / ".profile").write_text(f"PS1='{PROMPT}'\n")
        mounts = ["--ro-bind", "/", "/"]
        mounts += [
            "--bind",
            str(root / "root"),
            "/root",
            "--bind",
            str(root / "tmp"),
            "/tmp",
            "--tmpfs",
            "/run",
        ]
    variables = {} if has_only else {**VARIABLES, "PATH": os.environ["PATH"]}
    container = Container(root, (*mounts, "--dev", "/dev", *proc), variables)
    try:
        container.start()
        yield container
    finally:
        container.stop()
        shutil.rmtree(folder, ignore_errors=True)
