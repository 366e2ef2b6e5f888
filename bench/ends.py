"""Kill panes whose processes do not want to end, again and again: nothing is left, and nothing else is hit.

    ./dev proof ends
    ./dev bench ends [RUNS] [--far]

Each run opens a session with a process of each kind of tests/rigs/stubborn.py and ends it by one of the four
ways; with `--far` as on another host, by the script of sh. Witnesses run beside it: the same processes in
another pane, a process outside of tmux, a process with the mark of a similar pane, and another tmux server
that was started in each killed pane.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from muxpilot import Tmux
from muxpilot.tmux import EnsuredSession
from muxpilot.tmux.objects import endings
from tests.rigs.engine import wait_until
from tests.rigs.stubborn import KINDS
from tests.rigs.waiting import LIMIT_S, end_server, is_running, send_signal
from tests.rigs.witnesses import left_of, open_stubborn, started_with

BINARY = shutil.which("tmux") or "tmux"
WAYS: dict[str, Callable[[Tmux, EnsuredSession], Awaitable[Sequence[object]]]] = {
    "kill-pane": lambda tmux, made: tmux.endings.kill_pane(made.pane_id),
    "kill-window": lambda tmux, made: tmux.endings.kill_window(made.window_id),
    "kill-session": lambda tmux, made: tmux.endings.kill_session(made.session_id),
    "respawn-pane": lambda tmux, made: tmux.endings.respawn(made.pane_id, command="exec sleep 600"),
}


def start_inner_server(folder: Path, environment: dict[str, str]) -> None:
    argv = [
        BINARY,
        "-S",
        str(folder / "inner"),
        "-f",
        "/dev/null",
        "new-session",
        "-d",
        "-s",
        "inner",
        "sleep 600",
    ]
    subprocess.run(argv, env=environment, check=True, timeout=LIMIT_S)


def inner_session(folder: Path) -> bool:
    """Whether the tmux server that was started in a pane has its session."""
    argv = [BINARY, "-S", str(folder / "inner"), "has-session", "-t", "inner"]
    return subprocess.run(argv, capture_output=True, timeout=LIMIT_S, check=False).returncode == 0


def new_folder(folder: Path, number: int) -> Path:
    (made := folder / str(number)).mkdir()
    return made


async def one_run(tmux: Tmux, folder: Path, number: int) -> tuple[float, list[str]]:
    """Kill one session. Return how long that took, and what is wrong."""
    way = list(WAYS)[number % len(WAYS)]
    made, pids = await open_stubborn(tmux, folder, f"run-{number}")
    row = await tmux.panes.get(made.pane_id)
    mark = {"TMUX_PANE": made.pane_id, "TMUX": f"{tmux.socket},{row.server_pid},0"}
    start_inner_server(folder, {"PATH": "/usr/bin:/bin", **mark})
    began = time.monotonic()
    await WAYS[way](tmux, made)
    took_s = time.monotonic() - began
    wrong = [f"run {number}: {way} left {kind}" for kind in left_of(pids)]
    if not inner_session(folder):
        wrong.append(f"run {number}: {way} ended a tmux server that was started in the pane")
    end_server(BINARY, str(folder / "inner"))
    if way == "respawn-pane":
        if (await tmux.panes.get(made.pane_id)).is_dead:
            wrong.append(f"run {number}: the new program of the pane was ended")
        await tmux.endings.kill_pane(made.pane_id)
    return took_s, wrong


async def run(runs: int) -> int:
    folder = Path(tempfile.mkdtemp(prefix="ends", dir="/tmp"))
    wrong: list[str] = []
    times: list[float] = []
    similar = {"TMUX_PANE": "%1", "TMUX": f"{folder}/other,1,0"}
    try:
        async with Tmux(str(folder / "s"), config="/dev/null") as tmux:
            _, beside = await open_stubborn(tmux, folder, "beside")
            with started_with({}, "sleep", "6000") as person, started_with(similar, "sleep", "6000") as other:
                for number in range(runs):
                    took_s, found = await one_run(tmux, new_folder(folder, number), number)
                    times.append(took_s)
                    wrong += found
                    if (
                        left_of(beside) != list(beside)
                        or person.poll() is not None
                        or other.poll() is not None
                    ):
                        wrong.append(f"run {number}: something else was hit")
                        break
            for pid in beside.values():
                send_signal(pid, signal.SIGKILL)
            await wait_until(lambda: not any(map(is_running, beside.values())))
    finally:
        end_server(BINARY, str(folder / "s"))
        shutil.rmtree(folder, ignore_errors=True)
    times.sort()
    print(f"{len(times)} panes with {len(KINDS)} stubborn processes each, ended by {', '.join(WAYS)}")
    print(
        f"nothing was left and nothing else was hit in {len(times) - len({w.split(':')[0] for w in wrong})}"
    )
    print(f"a kill took {times[len(times) // 2]:.2f} s (median), {times[-1]:.2f} s (longest)")
    print("\n".join(wrong))
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="kill panes whose processes do not want to end")
    parser.add_argument("runs", nargs="?", type=int, default=200)
    parser.add_argument("--far", action="store_true", help="as on another host: by the script of sh")
    given = parser.parse_args()
    if given.far:
        endings.has_proc = lambda: False  # type: ignore[attr-defined]
    return asyncio.run(run(given.runs))


if __name__ == "__main__":
    raise SystemExit(main())
