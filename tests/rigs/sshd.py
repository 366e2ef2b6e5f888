"""A private sshd on loopback, with keys of its own, that stands for another host."""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.rigs.waiting import send_signal

LIMIT_S = 20.0


@dataclass
class Sshd:
    """A running sshd. `arguments` are what ssh needs to reach it: options, then the destination."""

    folder: Path
    port: int
    program: str
    address: str = "127.0.0.1"
    inside: Sequence[str] = ()  # a command that runs it elsewhere, such as in a namespace
    process: subprocess.Popen[bytes] | None = None
    stopped: list[int] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return (
            f"-F /dev/null -p {self.port} -i {self.folder}/user -o StrictHostKeyChecking=no "
            f"-o UserKnownHostsFile={self.folder}/known {getpass.getuser()}@{self.address}"
        )

    @property
    def processes(self) -> set[int]:
        """Return the pids of sshd: the listener, and one or two for each open connection."""
        return set(self._pids())

    def start(self) -> None:
        """Start sshd with a clean environment, as the system does, and wait until it listens."""
        with (self.folder / "log").open("ab") as log:
            argv = [*self.inside, self.program, "-D", "-e", "-f", str(self.folder / "config")]
            self.process = subprocess.Popen(argv, stderr=log, env={"PATH": os.environ["PATH"]})
        deadline = time.monotonic() + LIMIT_S
        while not self._is_listening():
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.01)

    def kill(self) -> None:
        """Kill the listener and all connections, as if the host were gone; not the programs they started."""
        self.freeze()  # so that no connection arrives meanwhile
        for pid in self.stopped:
            send_signal(pid, signal.SIGKILL)
        self.stopped = []
        if self.process is not None:
            self.process.wait(LIMIT_S)
            self.process = None

    def break_connections(self) -> None:
        for pid in self._pids()[1:]:
            send_signal(pid, signal.SIGKILL)

    def freeze(self) -> None:
        """Stop all processes of sshd. Repeat, because one that still ran may have started another."""
        while new := [pid for pid in self._pids() if pid not in self.stopped]:
            for pid in new:
                send_signal(pid, signal.SIGSTOP)
            self.stopped += new

    def thaw(self) -> None:
        for pid in self.stopped:
            send_signal(pid, signal.SIGCONT)
        self.stopped = []

    def _is_listening(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex((self.address, self.port)) == 0

    def _pids(self) -> list[int]:
        """Return the pids of the listener and of the sshds below it, the listener first."""
        found = [self.process.pid] if self.process is not None else []
        for pid in found:
            for child in _children(pid):
                if _name(child).startswith("sshd"):
                    found.append(child)
        return found


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def free_port() -> int:
    """Return a free port below the range of outgoing connections, so that it stays free after a kill."""
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def run_sshd(
    folder: Path, variables: Mapping[str, str], *, address: str = "127.0.0.1", inside: Sequence[str] = ()
) -> Iterator[Sshd]:
    """Run an sshd for the time of the block. Its sessions have these variables."""
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if program is None or shutil.which("ssh") is None:
        pytest.skip("no sshd here")
    folder.chmod(0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", str(folder / name)], check=True)
    (folder / "authorized").write_text((folder / "user.pub").read_text())
    (folder / "authorized").chmod(0o600)
    port = free_port()
    settings = " ".join(f'{name}="{value}"' for name, value in variables.items())
    (folder / "config").write_text(
        f"Port {port}\nListenAddress {address}\n"
        f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        "PidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPrintMotd no\nPrintLastLog no\n"
        f"MaxStartups 100\nSetEnv {settings}\n"
    )
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True, parents=True)
    sshd = Sshd(folder, port, program, address, inside)
    try:
        sshd.start()
        yield sshd
    finally:
        sshd.thaw()
        sshd.kill()
