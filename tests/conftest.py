"""Fixtures for all tests: a clean environment, and a private tmux server without configuration."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from muxpilot import Tmux
from muxpilot.tmux.version import parse
from tests.rigs.homes import is_new_home, make_home
from tests.rigs.live import LiveEngine
from tests.rigs.tmux_trees import second_tmux
from tests.rigs.waiting import LIMIT_S, end_server

KEPT = ("PATH", "PYTEST_CURRENT_TEST")
VARIABLES = {"SHELL": "/bin/sh", "PS1": "$ ", "LANG": "C.UTF-8", "TERM": "xterm-256color"}
_NUMBERS = itertools.count()


# Not in `./dev test --fast`: what starts servers, browsers or other hosts, or waits for seconds.
SLOW = (
    "attacks bench cli containers dialects durability examples faults files packaging resources sandbox "
    "server ssh tools view redaction/test_nothing_goes_around.py redaction/test_redact_setting.py "
    "audit/test_audit_of_calls.py policy/test_active_users.py policy/test_own_pane.py "
    "policy/test_policy_of_calls.py "
    "policy/shell/test_against_bash.py policy/shell/test_other_shells.py processes/test_state_table.py "
    "shells/test_output.py shells/test_people.py shells/test_situations.py shells/test_several.py "
    "shells/test_ssh.py tmux/connection/test_faults.py tmux/hosts/test_cleanup.py "
    "tmux/objects/test_launch.py tmux/streams/test_journals.py tmux/streams/test_journal_faults.py "
    "tmux/streams/test_journals_of_people.py tmux/streams/test_memory_streams.py "
    "tmux/streams/test_streams.py tmux/test_round_trips.py "
    "watch/test_watch_panes.py"
).split()
# These files begin first: a long one that begins last would keep a single worker busy at the end.
LONGEST = (
    "durability/test_other_muxpilots.py durability/test_restarts.py durability/test_crash_points.py "
    "packaging/test_plugin.py server/test_node_clients.py tools/test_repl.py tools/test_every_tool.py "
    "processes/test_state_table.py faults/test_shim.py view/test_browser.py view/test_watching.py "
    "ssh/test_faults.py tools/test_program_triggers.py tmux/objects/test_panes.py shells/test_situations.py "
    "ssh/test_networks.py tmux/hosts/test_cleanup.py tmux/connection/test_faults.py sandbox/test_sandbox.py"
).split()
TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-tmux", action="store_true", help="run every tmux test on the second tmux too")
    parser.addoption("--fast", action="store_true", help="leave out the slow tests and the second tmux")


def pytest_xdist_auto_num_workers() -> int:
    """Use one worker for each CPU. Each test's tmux, shells and browsers need the rest of the machine."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_slow = any(collection_path == TESTS / name for name in SLOW)
    return True if is_slow and config.getoption("--fast") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {str(TESTS / name): rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(str(item.path), len(ranks)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs a newer tmux: `@pytest.mark.tmux_since(3, 3, "what an older one cannot do")`."""
    marker = item.get_closest_marker("tmux_since")
    callspec = getattr(item, "callspec", None)
    if marker is not None and (callspec is None or callspec.params.get("binary") != "second"):
        *wanted, reason = marker.args
        if tmux_version() < tuple(wanted):
            pytest.skip(f"this tmux is older than {'.'.join(map(str, wanted))}: {reason}")


@cache
def tmux_version() -> tuple[int, int]:
    """Return the version of the tmux on the PATH; (0, 0) where there is none."""
    found = shutil.which("tmux")
    done = subprocess.run([found, "-V"], capture_output=True, text=True, check=False) if found else None
    return parse(done.stdout) if done is not None and done.stdout.strip() else (0, 0)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "tmux_since(major, minor, reason): skip where the tmux is older")
    if not config.getoption("--fast"):
        second_tmux()  # built here, outside any test's time limit
    settings.register_profile("untimed", deadline=None)  # a busy machine takes longer
    settings.load_profile("untimed")
    for number in (signal.SIGINT, signal.SIGQUIT):  # a script's background jobs ignore them
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Replace the environment and umask of the person who runs the tests. Yield a folder for homes."""
    before = dict(os.environ)
    homes = tmp_path_factory.mktemp("homes")
    kept = {name: before[name] for name in KEPT if name in before}
    os.environ.clear()
    runtime = tmp_path_factory.mktemp("runtime")  # for journals
    runtime.chmod(0o700)
    os.environ |= {**kept, "HOME": str(homes), "XDG_RUNTIME_DIR": str(runtime), **VARIABLES}
    umask = os.umask(0o022)
    yield homes
    os.umask(umask)
    os.environ.clear()
    os.environ |= before


@pytest.fixture(autouse=True)
def home(clean_environment: Path) -> Path:
    """Give each test a HOME without files. Most tests leave it so, and the next test gets the same one."""
    path = Path(os.environ["HOME"])
    if path.parent != clean_environment or not is_new_home(path):
        path = make_home(clean_environment / str(next(_NUMBERS)))
        os.environ["HOME"] = str(path)
    return path


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that are marked `both_tmux` with each of two versions of tmux."""
    if "binary" in metafunc.fixturenames:
        is_marked = metafunc.definition.get_closest_marker("both_tmux") is not None
        is_fast = metafunc.config.getoption("--fast")
        if metafunc.config.getoption("--all-tmux") or (is_marked and not is_fast):
            metafunc.parametrize("binary", ["system", "second"], indirect=True)


@pytest.fixture
def binary(request: pytest.FixtureRequest) -> str:
    """Return the path of tmux: the system's, or 3.5a for the second run of a test marked `both_tmux`."""
    if getattr(request, "param", "system") == "system":
        return shutil.which("tmux") or "tmux"
    found = second_tmux()
    if isinstance(found, str):
        pytest.skip(found)
    return str(found)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short folder: a socket's path ends at about 100 bytes."""
    path = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def socket(folder: Path, binary: str) -> Iterator[str]:
    path = str(folder / "s")
    yield path
    end_server(binary, path)


@pytest.fixture
async def tmux(socket: str, binary: str) -> AsyncIterator[Tmux]:
    async with Tmux(socket, binary=binary, config="/dev/null", timeout_s=10) as engine:
        yield engine


@pytest.fixture
def live(socket: str, binary: str) -> Iterator[LiveEngine]:
    """A tmux engine for tests that are not async themselves, such as hypothesis' examples."""
    with asyncio.Runner() as runner:
        live = LiveEngine(runner, Tmux(socket, binary=binary, config="/dev/null", timeout_s=10))
        yield live
        live.close()


@pytest.fixture
def raw(socket: str, binary: str) -> Callable[..., str]:
    """What a person would type: `raw("list-sessions", "-F", "#{session_name}")`."""

    def run(*args: str, check: bool = True) -> str:
        argv = [binary, "-u", "-S", socket, "-f", "/dev/null", *args]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if check and done.returncode:
            raise AssertionError(f"{args}: {done.stderr}")
        return done.stdout.rstrip("\n")

    return run
