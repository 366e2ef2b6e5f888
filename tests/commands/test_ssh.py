"""Commands through ssh, to a private sshd whose remote side has no tmux in its PATH."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commands.conftest import Desk
from tests.conftest import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class Far:
    """How to get to the other side, as a command line."""

    ssh: str


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if sshd is None or shutil.which("ssh") is None:
        pytest.skip("no sshd here")
    folder = tmp_path_factory.mktemp("ssh")
    folder.chmod(0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", str(folder / name)], check=True)
    (folder / "authorized").write_text((folder / "user.pub").read_text())
    (folder / "authorized").chmod(0o600)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    bare = folder / "bin"
    bare.mkdir()
    for program in Path("/usr/bin").iterdir():
        if not program.name.startswith("tmux"):
            (bare / program.name).symlink_to(program)
    config = folder / "config"
    config.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\n"
        f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        f"PidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPrintMotd no\nPrintLastLog no\n"
        f"SetEnv PATH={bare} HOME={folder}\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True, parents=True) if os.getuid() == 0 else None
    log = (folder / "log").open("w")
    process = subprocess.Popen([sshd, "-D", "-e", "-f", str(config)], stderr=log)
    options = (
        f"-F /dev/null -p {port} -i {folder}/user -o StrictHostKeyChecking=no "
        f"-o UserKnownHostsFile={folder}/known -o LogLevel=ERROR"
    )
    yield Far(f"ssh -t {options} {getpass.getuser()}@127.0.0.1")
    process.terminate()
    process.wait(10)
    log.close()


SHELLS = {
    "bash": "env -i TERM=$TERM PATH=$PATH HOME=/nowhere bash --norc",
    "zsh": "env -i TERM=$TERM PATH=$PATH HOME=/nowhere zsh -f",
    "fish": "env TERM=$TERM PATH=$PATH HOME=/nowhere fish --no-config",
    "dash": "env -i TERM=$TERM PATH=$PATH HOME=/nowhere dash",
}


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_command_runs_in_the_shell_at_the_far_end(desk: Desk, far: Far, shell: str) -> None:
    desk.program(shell)
    pane = await desk.ours()

    async def listening() -> bool:
        answer = await desk.run(pane, f"{far.ssh} true")
        return bool(answer["exitCode"] == 0)

    await eventually(listening)
    outer = await desk.run(pane, f"{far.ssh} '{SHELLS[shell]}'")
    assert (outer["status"], outer["waitingForInput"]) == ("running", True), outer
    assert "shell" in outer["reason"]
    assert (await desk.run(pane, "cd /usr"))["exitCode"] == 0
    answer = await desk.run(pane, "pwd; command -v tmux; seq 1 300")
    assert answer["output"] == "/usr\n" + "".join(f"{n}\n" for n in range(1, 301))
    assert (await desk.run(pane, "sh -c 'exit 42'"))["exitCode"] == 42
    assert (await desk.run(pane, 'echo "open'))["waitingForInput"]
    assert (await desk.run(pane, "echo closed"))["output"] == "closed\n"
    assert (await desk.run(pane, "exit 7"))["exitCode"] == 7
    ended = await desk.result(outer)
    assert (ended["status"], ended["exitCode"]) == ("failed", 7)
    assert "muxpilot" not in desk.screen(pane)
    assert "stty -echo" not in desk.screen(pane)


async def test_a_command_over_ssh_that_takes_long_is_waited_for(desk: Desk, far: Far) -> None:
    pane = await desk.ours()
    answer = await desk.run(pane, f"{far.ssh} 'sleep 0.8; echo done'")
    assert (answer["status"], answer["waitingForInput"]) == ("completed", False)
    assert "done" in answer["output"]
