"""`muxpilot sandbox`: programs inside see one folder, write only there, and reach no network."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from muxpilot.cli.sandbox import path_inside
from muxpilot.errors import BadInput
from tests.rigs.waiting import eventually
from tests.rigs.wire import Wire, command, environment
from tests.sandbox import no_unix_sockets
from tests.sandbox.boxes import run_in_debug_pane, serve_in_box

LIMIT_S = 20

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def why_bubblewrap_fails() -> str | None:
    """Return why bubblewrap does not work here, or None."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return "bubblewrap is not installed"
    argv = [bwrap, "--unshare-all", "--ro-bind", "/", "/", "true"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    return f"bubblewrap cannot run here: {done.stderr.strip()}" if done.returncode else None


@pytest.fixture(scope="module")
def possible() -> None:
    reason = why_bubblewrap_fails()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def outside() -> Iterator[Path]:
    """Yield a folder with a workspace, and a file beside it that must stay invisible inside."""
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    folder.chmod(0o755)
    (folder / "work").mkdir()
    (folder / "work").chmod(0o777)
    (folder / "home").mkdir()
    (folder / "home" / "secret").write_text("secret")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def serve_in_sandbox(
    outside: Path, *args: str, python: tuple[str, ...] = (sys.executable,), workspace: str | None = None
) -> AbstractAsyncContextManager[Wire]:
    folder = str(outside / "work") if workspace is None else workspace
    server = () if "--" in args else ("--", "--scope", "debug")
    argv = [*python, "-m", "muxpilot", "sandbox", "--workspace", folder, *args, *server]
    env = {**environment(outside / "home"), "SECRET_TOKEN": "s3cr3t", **_found_by(python)}
    return serve_in_box(argv, outside, env)


def _found_by(python: tuple[str, ...]) -> dict[str, str]:
    """Return the variables with which the system's Python finds our packages."""
    source = str(Path(__file__).parents[2] / "src")
    return {"PYTHONPATH": f"{source}:{sysconfig.get_path('purelib')}"} if len(python) > 1 else {}


async def test_mcp_in_sandbox_works_and_the_workspace_is_written_outside(
    possible: None, outside: Path
) -> None:
    async with serve_in_sandbox(outside, "--audit", "logs.jsonl") as wire:
        assert await run_in_debug_pane(wire, "pwd; echo made > here") == "/workspace"
        await wire.call("tmux_create_pane", command="sh")
        await wire.call("tmux_send_keys", pane_id="debug-2", keys="echo typed > there\n")

        async def is_there() -> bool:
            return (outside / "work" / "there").exists()

        await eventually(is_there)
        assert await wire.close_stdin() == 0
        assert await wire.stderr() == ""
    assert (outside / "work" / "here").read_text() == "made\n"
    log = (outside / "work" / "logs.jsonl").read_text()
    assert '"tool": "create_pane", "pane_id": "debug-1"' in log


async def test_filesystem_isolation_nothing_else_is_seen_written_or_reached(
    possible: None, outside: Path
) -> None:
    secret = outside / "home" / "secret"
    questions = {
        f"cat {secret} 2>&1": "No such file",
        "touch /usr/made 2>&1": "Read-only file system",
        "touch /made /etc/made 2>&1 | grep -c Read-only": "2",
        "touch ~/made /tmp/made /run/made && echo kept": "kept",
        "getent hosts localhost": "localhost",
        "ls /tmp": None,
        "ls /sys /var /srv 2>&1": "No such file",
        "env": None,
        "tail -n +3 /proc/net/dev": "lo:",
        "cat /proc/[0-9]*/cmdline | tr '\\0' ' '": "muxpilot",
        "grep CapEff /proc/self/status": "0000000000000000",
        "cat /etc/shadow 2>&1": "No such file",
    }
    async with serve_in_sandbox(outside) as wire:
        answers = {command: await run_in_debug_pane(wire, command) for command in questions}
    for question, words in questions.items():
        assert words is None or words in answers[question], answers[question]
    assert outside.name not in answers["ls /tmp"]
    assert "s3cr3t" not in answers["env"]
    assert len(answers["tail -n +3 /proc/net/dev"].splitlines()) == 1
    assert "pytest" not in answers["cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]
    assert secret.read_text() == "secret"


async def test_a_workspace_may_have_an_odd_name_and_be_a_link(possible: None, outside: Path) -> None:
    odd = outside / 'it\'s "odd" ü'
    odd.mkdir()
    (outside / "link").symlink_to(odd)
    audit = str(outside / "link" / "audit.log")
    async with serve_in_sandbox(outside, "--audit", audit, workspace="link/") as wire:
        assert await run_in_debug_pane(wire, "pwd; touch here") == "/workspace"
    assert sorted(path.name for path in odd.iterdir()) == ["audit.log", "here"]


async def test_the_network_is_there_when_it_is_asked_for(possible: None, outside: Path) -> None:
    async with serve_in_sandbox(outside, "--net") as wire:
        inner = await run_in_debug_pane(wire, "readlink /proc/self/ns/net")
    assert inner == os.readlink("/proc/self/ns/net")


async def test_an_ordinary_user_can_do_it_too(possible: None, outside: Path) -> None:
    system = "/usr/bin/python3"
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become somebody else, with setpriv")
    (outside / "private").mkdir(mode=0o700)

    def tried(*argv: str) -> subprocess.CompletedProcess[str]:
        env = {**environment(outside / "home"), **_found_by((*NOBODY, system))}
        whole = [*NOBODY, system, *argv]
        return subprocess.run(
            whole, capture_output=True, text=True, check=False, timeout=LIMIT_S, env=env, cwd=outside
        )

    done = tried("-c", "import muxpilot.server.lifecycle")
    if done.returncode:
        pytest.skip(f"nobody cannot run muxpilot with {system}: {done.stderr.splitlines()[-1]}")
    async with serve_in_sandbox(outside, python=(*NOBODY, system)) as wire:
        assert await run_in_debug_pane(wire, "id -u; touch mine") == "65534"
        assert await wire.close_stdin() == 0
    assert (outside / "work" / "mine").stat().st_uid == 65534
    done = tried("-m", "muxpilot", "sandbox", "--workspace", "private")
    assert "You cannot read the workspace 'private'." in done.stderr


def test_an_installation_with_its_dependencies_alone_is_enough(possible: None, outside: Path) -> None:
    """Leave out all site-packages (-S), which also have the libraries of developers."""
    libraries = outside / "libraries"
    libraries.mkdir()
    (libraries / "re2").symlink_to(Path(sysconfig.get_path("purelib")) / "re2")
    source = Path(__file__).parents[2] / "src"
    env = {**environment(outside / "home"), "PYTHONPATH": f"{source}:{libraries}"}
    python = f"{sys.base_prefix}/bin/python3"
    argv = (python, "-S", "-m", "muxpilot", "sandbox", "--workspace", str(outside / "work"))
    done = subprocess.run(
        [*argv, "--", "--version"], capture_output=True, text=True, check=False, timeout=LIMIT_S, env=env
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("muxpilot ")


def test_root_is_told_that_a_workspace_must_be_its_own(possible: None, outside: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    (outside / "work").chmod(0o700)
    os.chown(outside / "work", 65534, 65534)
    assert "Run muxpilot as the owner" in error_of("--workspace", str(outside / "work"))


async def test_no_process_is_left_when_it_is_killed(possible: None, outside: Path) -> None:
    async with serve_in_sandbox(outside) as wire:
        seconds = 10**6 + os.getpid()  # what another's test sleeps is not ours
        await run_in_debug_pane(wire, f"setsid sh -c 'trap \"\" HUP TERM; exec sleep {seconds}' & sleep 0")

        async def is_there() -> bool:
            return any(f"sleep\0{seconds}".encode() in command for command in _commands())

        async def is_quiet() -> bool:
            return not await is_there()

        await eventually(is_there)
        wire.process.terminate()
        await wire.wait_for_exit()

        await eventually(is_quiet)


def _commands() -> Iterator[bytes]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            yield path.read_bytes()


def error_of(*args: str, launcher: tuple[str, ...] = (), **variables: str) -> str:
    """Return the error line of a sandbox that cannot start."""
    done = subprocess.run(
        [*launcher, *command("sandbox", *args)],
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
    assert "is not a folder" in error_of("--workspace", str(outside / "none"))
    assert "The workspace '' is not a folder" in error_of("--workspace", "")
    assert "contains your home folder" in error_of("--workspace", os.environ["HOME"])
    assert "is not in the workspace" in error_of("--workspace", str(outside), "--audit", "/etc/log")
    assert "Give it to the server" in error_of("--workspace", str(outside), "--socket", "/tmp/x")


def test_a_missing_or_forbidden_bubblewrap_is_told_with_what_to_do(outside: Path) -> None:
    tools = outside / "tools"
    tools.mkdir()
    (tools / "tmux").symlink_to(shutil.which("tmux") or "/usr/bin/tmux")
    workspace = ("--workspace", str(outside / "work"))
    assert "bubblewrap (bwrap) is not installed. Install" in error_of(*workspace, PATH=str(tools))
    fake = tools / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    fake.chmod(0o755)
    told = error_of(*workspace, PATH=f"{tools}:/usr/bin:/bin")
    assert "No permissions to create new namespace" in told
    assert "kernel.unprivileged_userns_clone=1" in told


@pytest.mark.skipif(
    platform.machine() not in no_unix_sockets.SOCKET, reason="the filter is for other machines"
)
def test_a_sandbox_around_us_that_forbids_unix_sockets_is_named(outside: Path) -> None:
    launcher = (sys.executable, no_unix_sockets.__file__)
    wanted = r"forbids unix sockets.*network\.allowAllUnixSockets = true"
    assert re.search(wanted, error_of("--workspace", str(outside / "work"), launcher=launcher))
    done = subprocess.run(
        [*launcher, *command("--socket", str(outside / "s"), "call", "create-session")],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        env=environment(outside / "home"),
    )
    assert done.returncode == 1
    assert re.search(wanted, done.stdout + done.stderr)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("audit.log", "/workspace/audit.log"),
        ("/workspace/a/b.log", "/workspace/a/b.log"),
        ("/w/deep/x", "/workspace/deep/x"),
        ("a/../b", "/workspace/b"),
        ("/workspace/w/x", "/workspace/w/x"),
    ],
)
def test_a_path_of_the_workspace_is_known_by_each_of_its_names(path: str, wanted: str) -> None:
    assert path_inside(path, Path("/w")) == wanted


def test_a_workspace_below_a_folder_of_the_same_name_is_meant_as_it_is_outside() -> None:
    assert path_inside("/workspace/mine/x", Path("/workspace/mine")) == "/workspace/x"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "/workspace/../etc", ".", "/w", "/wide/x"])
def test_a_path_that_leads_out_is_refused(path: str) -> None:
    with pytest.raises(BadInput, match="is not in the workspace"):
        path_inside(path, Path("/w"))
