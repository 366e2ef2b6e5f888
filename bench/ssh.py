"""A plain call to a tmux on another host: one ssh per call, ssh through a master, and muxpilot's connection.

    ./dev bench ssh

The ways take turns on one private sshd on loopback, where the network itself costs nothing: a real round
trip adds the same to each. It ends with 0 whether the bar is met or not, but it says so.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import shutil
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import Call, Times, interleaved, machine, print_table, throughput
from muxpilot.app import build
from muxpilot.config.model import Settings
from muxpilot.tmux import Tmux
from tests.rigs.sshd import Sshd, run_sshd
from tests.rigs.waiting import end_server

BAR = 10
ASK = ("display-message", "-p", "#{version}")
OURS = "a tool call, list-panes"
HEAD = ("way", "p50 / p99 ms", "times slower", "bar")


def per_call(sshd: Sshd, socket: str, *options: str) -> Call:
    """What others do: a process for each call."""
    far = shlex.join(("tmux", "-u", "-S", socket, *ASK))
    argv = ("ssh", "-o", "LogLevel=ERROR", *options, *shlex.split(sshd.arguments), far)

    async def call() -> None:
        process = await asyncio.create_subprocess_exec(*argv, stdin=DEVNULL, stdout=DEVNULL)
        if await process.wait():
            raise RuntimeError("ssh failed")

    return call


async def connecting(sshd: Sshd, socket: str) -> float:
    """Milliseconds of a first call, with the connection that it makes."""
    began = time.perf_counter()
    async with Tmux(socket, ssh=sshd.arguments, config="/dev/null") as tmux:
        await tmux.connection.run(ASK)
        return (time.perf_counter() - began) * 1000


async def measured(sshd: Sshd, folder: Path, rounds: int) -> None:
    socket = str(folder / "s")
    master = ("-o", "ControlMaster=auto", "-o", f"ControlPath={folder}/cm", "-o", "ControlPersist=60")
    async with Tmux(socket, ssh=sshd.arguments, config="/dev/null") as tmux:
        await tmux.sessions.create("bench")
        connecting_ms = await connecting(sshd, socket)
        app = build(Settings(socket=socket, ssh=sshd.arguments))
        ways: dict[str, Call] = {
            "muxpilot's connection": lambda: tmux.connection.run(ASK),
            OURS: lambda: app.dispatch.call("list-panes", {}),
            "ssh per call, through a master": per_call(sshd, socket, *master),
            "ssh per call": per_call(sshd, socket),
        }
        times = await interleaved(ways, rounds=rounds, at_once=4)
        rate = await throughput(ways["muxpilot's connection"], callers=20, each=200)
        stop = ("ssh", *master, "-O", "exit", *shlex.split(sshd.arguments))
        await (await asyncio.create_subprocess_exec(*stop, stdout=DEVNULL, stderr=DEVNULL)).wait()
        await app.close()
    show(times)
    print(f"\nconnecting, once: {connecting_ms:.0f} ms; 20 callers at once: {rate:,.0f} calls a second")


def show(times: dict[str, Times]) -> None:
    ours = times[OURS].at(0.5)
    rows = []
    for name, taken in times.items():
        ratio = taken.at(0.5) / ours
        bar = f">= {BAR}x: {'met' if ratio >= BAR else 'MISSED'}" if name == "ssh per call" else ""
        rows.append((name, str(taken), f"{ratio:.1f}x", bar))
    print_table(HEAD, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    rounds = parser.parse_args().rounds
    print(f"{machine()}\n")
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    try:
        (folder / "keys").mkdir()
        with run_sshd(folder / "keys", {"PATH": os.environ["PATH"], "HOME": str(folder)}) as sshd:
            asyncio.run(measured(sshd, folder, rounds))
    finally:
        end_server("tmux", str(folder / "s"))
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
