"""A real container of podman, with storage of its own, where podman is installed and can run one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rigs.namespaces import copy_programs

LIMIT_S = 60.0


@dataclass(frozen=True)
class PodmanContainer:
    """A running container with a name."""

    podman: tuple[str, ...]
    name: str

    @property
    def words(self) -> tuple[str, ...]:
        """Return the command that runs a program inside, with stdin."""
        return (*self.podman, "exec", "-i", self.name)

    def run(self, *argv: str) -> str:
        return _run([*self.words, *argv])

    def kill(self) -> None:
        _run([*self.podman, "kill", self.name])


def _run(argv: Sequence[str], stdin: bytes = b"") -> str:
    done = subprocess.run(argv, input=stdin, capture_output=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace").strip())
    return done.stdout.decode().rstrip("\n")


@contextmanager
def run_podman(programs: Sequence[str]) -> Iterator[PodmanContainer]:
    """Run a container that has only these programs. Skip the test where none can be run."""
    if shutil.which("podman") is None:
        pytest.skip("no podman here")
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    # runc runs also where crun does not, such as below a hybrid of the two kinds of cgroups.
    runtime = ("--runtime", "runc") if shutil.which("runc", path=f"{os.environ['PATH']}:/usr/sbin") else ()
    podman = (
        *("podman", "--root", str(folder / "storage"), "--runroot", str(folder / "run")),
        *("--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", *runtime),
    )
    container = PodmanContainer(podman, folder.name)
    try:
        try:
            _start(container, folder, programs)
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"podman cannot run a container here: {error}")
        yield container
    finally:
        subprocess.run(
            [*podman, "rm", "-f", container.name], capture_output=True, timeout=LIMIT_S, check=False
        )
        shutil.rmtree(folder, ignore_errors=True)


def _start(container: PodmanContainer, folder: Path, programs: Sequence[str]) -> None:
    root = folder / "root"
    (root / "tmp").mkdir(parents=True)
    (root / "root").mkdir()
    copy_programs(root, programs)
    archive = folder / "image.tar"
    subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], check=True)
    _run([*container.podman, "import", str(archive), "muxpilot-test"])
    limits = ("--ulimit", "nofile=1024:4096", "--ulimit", "nproc=1024:4096")
    start = ("run", "-d", "-i", "--network", "none", *limits, "--name", container.name)
    _run([*container.podman, *start, "muxpilot-test", "/bin/cat"])
    container.run("/bin/sh", "-c", "exit 0")
