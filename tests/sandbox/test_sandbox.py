"""`muxpilot sandbox`: what is inside sees one folder, writes there alone, and reaches nobody."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from muxpilot.cli.sandbox import _probe, inside
from muxpilot.errors import BadInput, Unavailable
from tests.conftest import eventually
from tests.server.wire import Wire, environment

LIMIT_S = 20

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def _why_not() -> str | None:
    """Why bubblewrap cannot be used here, if so."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return "bubblewrap is not installed"
    argv = [bwrap, "--unshare-all", "--ro-bind", "/", "/", "true"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    return f"bubblewrap cannot run here: {done.stderr.strip()}" if done.returncode else None


@pytest.fixture(scope="module")
def possible() -> None:
    reason = _why_not()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder with a workspace in it, and a file beside that nobody inside may see."""
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    folder.chmod(0o755)
    (folder / "work").mkdir()
    (folder / "work").chmod(0o777)
    (folder / "home").mkdir()
    (folder / "home" / "secret").write_text("secret")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def boxed(
    outside: Path, *args: str, python: tuple[str, ...] = (sys.executable,)
) -> AsyncIterator[Wire]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(*python, "-m", "muxpilot", "sandbox", "--workspace", str(outside / "work"), *args),
        *(("--", "--scope", "debug") if "--" not in args else ()),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env={**environment(outside / "home"), "SECRET_TOKEN": "s3cr3t", **_found_by(python)},
        cwd=outside,
        limit=1 << 24,
    )
    wire = Wire(process)
    try:
        await wire.shake_hands()
        yield wire
    finally:
        await wire.close()


def _found_by(python: tuple[str, ...]) -> dict[str, str]:
    """The system's Python, which everybody may run, finds our packages like this."""
    source = str(Path(__file__).parents[2] / "src")
    return {"PYTHONPATH": f"{source}:{sysconfig.get_path('purelib')}"} if len(python) > 1 else {}


async def run(wire: Wire, command: str) -> str:
    """What a command prints in a pane, to its end."""
    answer = await wire.call("tmux_create_pane", command=f"{command}; echo E''ND")
    pane = answer.partition("(id: ")[2].partition(")")[0]

    async def look() -> str:
        text = str(await wire.call("tmux_capture_pane", pane_id=pane, lines=1000))
        return text if "END" in text else ""

    return str(await eventually(look)).removesuffix("END").strip()


async def test_tools_work_inside_and_the_workspace_is_written_outside(possible: None, outside: Path) -> None:
    async with boxed(outside, "--audit", "logs.jsonl") as wire:
        assert await run(wire, "pwd; echo made > here") == "/workspace"
        await wire.call("tmux_create_pane", command="sh")
        await wire.call("tmux_send_keys", pane_id="debug-2", keys="echo typed > there\n")

        async def is_there() -> bool:
            return (outside / "work" / "there").exists()

        await eventually(is_there)
        assert await wire.leave() == 0
        assert await wire.stderr() == ""
    assert (outside / "work" / "here").read_text() == "made\n"
    log = (outside / "work" / "logs.jsonl").read_text()
    assert '"tool": "create_pane", "pane_id": "debug-1"' in log


async def test_nothing_else_is_seen_written_or_reached(possible: None, outside: Path) -> None:
    secret = outside / "home" / "secret"
    questions = {
        f"cat {secret} 2>&1": "No such file",
        "touch /usr/made 2>&1": "Read-only file system",
        "ls /tmp": None,
        "ls /sys /var /srv 2>&1": "No such file",
        "env": None,
        "tail -n +3 /proc/net/dev": "lo:",
        "ls /proc | grep -c '^[0-9]'": None,
        "grep CapEff /proc/self/status": "0000000000000000",
        "cat /etc/shadow 2>&1": "No such file",
    }
    async with boxed(outside) as wire:
        answers = {command: await run(wire, command) for command in questions}
    for command, words in questions.items():
        assert words is None or words in answers[command], answers[command]
    assert outside.name not in answers["ls /tmp"]
    assert "s3cr3t" not in answers["env"]
    assert len(answers["tail -n +3 /proc/net/dev"].splitlines()) == 1
    assert int(answers["ls /proc | grep -c '^[0-9]'"]) < 20
    assert secret.read_text() == "secret"


async def test_the_network_is_there_when_it_is_asked_for(possible: None, outside: Path) -> None:
    async with boxed(outside, "--net") as wire:
        inner = await run(wire, "readlink /proc/self/ns/net")
    assert inner == os.readlink("/proc/self/ns/net")


async def test_an_ordinary_user_can_do_it_too(possible: None, outside: Path) -> None:
    system = "/usr/bin/python3"
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become somebody else, with setpriv")
    probe = [*NOBODY, system, "-c", "import sys, muxpilot.server.serve; print(sys.version_info[:2])"]
    done = subprocess.run(
        probe,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        env={**environment(outside / "home"), **_found_by((*NOBODY, system))},
        cwd=outside,
    )
    if done.returncode:
        pytest.skip(f"nobody cannot run muxpilot with {system}: {done.stderr.splitlines()[-1]}")
    async with boxed(outside, python=(*NOBODY, system)) as wire:
        assert await run(wire, "id -u; touch mine") == "65534"
        assert await wire.leave() == 0
    assert (outside / "work" / "mine").stat().st_uid == 65534


async def test_no_process_is_left_when_it_is_killed(possible: None, outside: Path) -> None:
    async with boxed(outside) as wire:
        await run(wire, "setsid sh -c 'trap \"\" HUP TERM; exec sleep 86413' & sleep 0")
        wire.process.terminate()
        await wire.ended()

        async def is_quiet() -> bool:
            commands = (path.read_bytes() for path in _cmdlines())
            return not any(b"sleep\x0086413" in command for command in commands)

        await eventually(is_quiet)


def _cmdlines() -> Iterator[Path]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            path.read_bytes()
        except OSError:
            continue
        yield path


def refused(*args: str, **variables: str) -> str:
    """The one line with which it is refused."""
    done = subprocess.run(
        [sys.executable, "-m", "muxpilot", "sandbox", *args],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        stdin=subprocess.DEVNULL,
        env={**environment(Path(os.environ["HOME"])), **variables},
    )
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    return line


def test_what_cannot_be_done_is_said_in_one_line(outside: Path) -> None:
    assert "is not a folder" in refused("--workspace", str(outside / "none"))
    assert "holds your home folder" in refused("--workspace", os.environ["HOME"])
    assert "is not in the workspace" in refused("--workspace", str(outside), "--audit", "/etc/log")
    assert "Give it to the server" in refused("--workspace", str(outside), "--socket", "/tmp/x")


def test_a_missing_or_forbidden_bubblewrap_is_told_with_what_to_do(outside: Path) -> None:
    tools = outside / "tools"
    tools.mkdir()
    (tools / "tmux").symlink_to(shutil.which("tmux") or "/usr/bin/tmux")
    workspace = ("--workspace", str(outside / "work"))
    assert "bubblewrap (bwrap) is not installed. Install" in refused(*workspace, PATH=str(tools))
    fake = tools / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    fake.chmod(0o755)
    told = refused(*workspace, PATH=f"{tools}:/usr/bin:/bin")
    assert "No permissions to create new namespace" in told
    assert "kernel.unprivileged_userns_clone=1" in told


def test_a_sandbox_around_us_that_forbids_unix_sockets_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(family: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("muxpilot.cli.sandbox.socket.socket", forbidden)
    with pytest.raises(Unavailable, match=r"forbids unix sockets.*network\.allowAllUnixSockets"):
        _probe(["/bin/true"])


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("audit.log", "/workspace/audit.log"),
        ("/workspace/a/b.log", "/workspace/a/b.log"),
        ("/w/deep/x", "/workspace/deep/x"),
        ("a/../b", "/workspace/b"),
    ],
)
def test_a_path_of_the_workspace_is_known_by_each_of_its_names(path: str, wanted: str) -> None:
    assert inside(path, Path("/w")) == wanted


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "/workspace/../etc", ".", "/w", "/wide/x"])
def test_a_path_that_leads_out_is_refused(path: str) -> None:
    with pytest.raises(BadInput, match="is not in the workspace"):
        inside(path, Path("/w"))
