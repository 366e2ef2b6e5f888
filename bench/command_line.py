"""The commands for a terminal, measured: from the start of the process to its first call, and to its end.

    ./dev bench command_line

The bar: each begins its work within 0.3 s.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import machine, print_table

ROUNDS = 10
LIMIT_S = 60
BAR_S = 0.3
# Logged when the first tool is called: everything is imported and built then.
FIRST_CALL = b"call begins"


def muxpilot(*argv: str) -> list[str]:
    return [sys.executable, "-m", "muxpilot", *argv]


def ask(*argv: str) -> str:
    """Run muxpilot to its end, and return its output."""
    return subprocess.run(
        muxpilot(*argv), stdout=subprocess.PIPE, text=True, timeout=LIMIT_S, check=True
    ).stdout


def time_command(*argv: str) -> tuple[float, float]:
    """Return the seconds from the start of the process to its first call, and to its end."""
    began = time.perf_counter()
    log = os.environ | {"MUXPILOT_LOG": "debug:calls"}
    with subprocess.Popen(
        muxpilot(*argv), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=log
    ) as process:
        assert process.stderr is not None
        first = next(time.perf_counter() for line in process.stderr if FIRST_CALL in line)
        process.stderr.read()
    return first - began, time.perf_counter() - began


def measure() -> list[tuple[str, str, str]]:
    """Return a row for each command: the median of its beginning, and of all of it."""
    pane = json.loads(ask("call", "create-session", "{}"))["paneId"]
    command = ask("run", "-p", pane, "--detach", "--", "seq 1 1000").strip()
    ask("wait", command)
    lines = {
        "run true": ("run", "-p", pane, "--", "true"),
        "wait for a command that has ended": ("wait", command),
        "logs of 1000 lines": ("logs", command),
        "ps": ("ps",),
        "send": ("send", pane, "--keys", "Enter"),
        "clean --dry-run": ("clean", "--dry-run"),
    }
    rows = []
    for name, argv in lines.items():
        times = [time_command(*argv) for _ in range(ROUNDS)]
        first, whole = (statistics.median(column) for column in zip(*times, strict=True))
        rows.append(
            (
                name,
                f"{first * 1000:.0f} ms{'' if first <= BAR_S else ' (above the bar)'}",
                f"{whole * 1000:.0f} ms",
            )
        )
    return rows


def main() -> None:
    argparse.ArgumentParser(description="the commands for a terminal, measured").parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed muxpilot is compiled
    with tempfile.TemporaryDirectory(prefix="mx", dir="/tmp", ignore_cleanup_errors=True) as folder:
        os.environ |= {"HOME": folder, "XDG_RUNTIME_DIR": folder, "SHELL": "/bin/bash"}
        os.environ["TMUX_MCP_SOCKET"] = f"{folder}/s"
        try:
            rows = measure()
        finally:
            subprocess.run(["tmux", "-S", f"{folder}/s", "kill-server"], check=False)
    print(machine())
    print_table(("command", "to its first call", "in all"), rows)


if __name__ == "__main__":
    main()
