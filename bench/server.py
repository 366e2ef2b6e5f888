"""The MCP server against the ways it could have been built, side by side in one run.

    ./dev bench server

The servers take turns, ten calls at a time, each on a tmux of its own. It ends with 0 whether the bars
are met or not: a noisy machine is not a failure, but it says so.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import Times, machine, print_table

OURS = [sys.executable, "-m", "muxpilot"]
VARIANTS = [sys.executable, "-P", str(Path(__file__).with_name("variants.py"))]
SHARES = {"p50": 0.5, "p99": 0.99}
AT_ONCE = 10
HEAD = ("what", "ours ms", "rival ms", "ratio", "bar")


class Client:
    """One server process, asked one thing at a time."""

    def __init__(self, argv: list[str], home: str) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "TERM", "LANG") if name in os.environ}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, env=kept | {"HOME": home}, cwd=home)
        self._ids = count(1)

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        self._write({"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params})
        assert self._process.stdout is not None
        answer = json.loads(self._process.stdout.readline())
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{method}: {answer}")
        return answer["result"]

    def shake_hands(self) -> None:
        who = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who})
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)

    def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


def calls(
    clients: Mapping[str, Client], tool: str, arguments: Mapping[str, Any], rounds: int
) -> dict[str, Times]:
    """Ten calls of each server in turn, and one before them that is not counted (see measure.interleaved)."""
    taken: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(rounds // AT_ONCE):
        for name, client in clients.items():
            for turn in range(-1, AT_ONCE):
                began = time.perf_counter()
                client.ask("tools/call", {"name": tool, "arguments": arguments})
                if turn >= 0:
                    taken[name].append((time.perf_counter() - began) * 1000)
    return {name: Times(times) for name, times in taken.items()}


def starts(commands: Mapping[str, list[str]], home: str, rounds: int) -> dict[str, Times]:
    """From the start of a process to its answer to tools/list."""
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(-1, rounds):
        for name, argv in commands.items():
            began = time.perf_counter()
            client = Client(argv, home)
            client.shake_hands()
            client.ask("tools/list", {})
            if turn >= 0:
                taken[name].append((time.perf_counter() - began) * 1000)
            client.close()
    return {name: Times(times) for name, times in taken.items()}


def measured(arguments: argparse.Namespace) -> Iterator[list[str]]:
    rivals = {"a tmux process per call": "spawning", "the SDK's stdio": "sdk-stdio"}
    commands = {"ours": OURS} | {name: [*VARIANTS, variant] for name, variant in rivals.items()}
    bars = {"a tmux process per call": 4.0}
    with ExitStack() as stack:
        clients = {}
        for name, argv in commands.items():
            socket, home = stack.enter_context(private_tmux())
            clients[name] = client = Client([*argv, "--socket", socket], home)
            stack.callback(client.close)
            client.shake_hands()
        for tool, given in {"list-panes": {}, "send-keys": {"paneId": "%0", "keys": "hello"}}.items():
            taken = calls(clients, tool, given, arguments.rounds)
            ours = taken.pop("ours")
            for rival, times in taken.items():
                for name, share in SHARES.items():
                    what = f"{tool} {name}, against {rival}"
                    yield faster(what, ours.at(share), times.at(share), bars.get(rival))
    yield start_up(arguments.starts)


def start_up(rounds: int) -> list[str]:
    with private_tmux() as (socket, home):
        taken = starts({"ours": [*OURS, "--socket", socket], "bare": [*VARIANTS, "bare"]}, home, rounds)
    mine, least = taken["ours"].at(0.5), taken["bare"].at(0.5)
    verdict = "met" if mine / least <= 1.3 else "missed"
    what = "start to tools/list, median, against the SDK's bare server"
    return [what, f"{mine:.0f}", f"{least:.0f}", f"{mine / least:.2f}x as long", f"<= 1.3x: {verdict}"]


def faster(what: str, ours_ms: float, rival_ms: float, bar: float | None) -> list[str]:
    ratio = rival_ms / ours_ms
    verdict = "" if bar is None else f">= {bar:g}x: {'met' if ratio >= bar else 'missed'}"
    return [what, f"{ours_ms:.2f}", f"{rival_ms:.2f}", f"{ratio:.2f}x faster", verdict]


@contextmanager
def private_tmux() -> Iterator[tuple[str, str]]:
    """A tmux of its own with four panes, the first of which swallows what is typed."""
    folder = tempfile.mkdtemp(prefix="mx", dir="/tmp")
    tmux = ["tmux", "-u", "-S", f"{folder}/s", "-f", "/dev/null"]
    quiet = "stty -echo; exec cat >/dev/null"
    try:
        subprocess.run([*tmux, "new-session", "-d", "-x", "200", "-y", "50", quiet], check=True)
        for _ in range(3):
            subprocess.run([*tmux, "new-window", "-d", "exec sleep 1000"], check=True)
        yield f"{folder}/s", folder
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="the MCP server, measured")
    parser.add_argument("--rounds", type=int, default=1000, help="calls of each tool on each server")
    parser.add_argument("--starts", type=int, default=9, help="starts of each server")
    arguments = parser.parse_args()
    version = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    rows = list(measured(arguments))
    print(f"{machine()}, {version}; {arguments.rounds} calls and {arguments.starts} starts of each,", end=" ")
    print(f"load {os.getloadavg()[0]:.1f}\n")
    print_table(HEAD, rows)


if __name__ == "__main__":
    main()
