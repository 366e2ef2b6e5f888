"""Everything that takes too long for the tests: run one after another, and written to docs/proof.md.

    ./dev proof [--quick] [--only PART …]

A part that cannot run here (no Node.js, no network) is told as such, and is not counted as good.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.http import server
from bench.measure import machine
from bench.server import private_tmux

ROOT = Path(__file__).parents[1]
PYTHON = sys.executable
NODE = "node@22 @modelcontextprotocol/conformance@0.1.16 @modelcontextprotocol/inspector@latest".split()
# The scenarios that need no tools of the suite's own on the server.
SCENARIOS = "server-initialize ping tools-list resources-list prompts-list dns-rebinding-protection".split()


def ran(*argv: str, limit_s: float = 3000, **variables: str) -> tuple[bool, str]:
    """Whether it went well, and the last that it said."""
    try:
        done = subprocess.run(
            argv,
            cwd=ROOT,
            env=os.environ | variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return done.returncode == 0, re.sub(r"\x1b\[\d*m", "", "\n".join(lines[-12:]))


def faults(quick: bool) -> tuple[bool, str]:  # noqa: FBT001 - one row of a table
    argv = (PYTHON, "-m", "pytest", "-q", "tests/faults")
    return ran(*argv, MUXPILOT_FAULTS="1" if quick else "4")


def fuzz(quick: bool) -> tuple[bool, str]:  # noqa: FBT001
    return ran(PYTHON, "bench/fuzz.py", "--messages", "1000" if quick else "20000")


def lives(quick: bool) -> tuple[bool, str]:  # noqa: FBT001
    given = ("--cycles", "20", "--calls", "350") if quick else ("--cycles", "1000", "--calls", "7000")
    return ran(PYTHON, "bench/lives.py", *given)


def http(quick: bool) -> tuple[bool, str]:  # noqa: FBT001
    return ran(PYTHON, "bench/http.py")


def protocol(quick: bool) -> tuple[bool, str]:  # noqa: FBT001
    """The official conformance suite and the Inspector, on our HTTP."""
    if shutil.which("npm") is None:
        return False, "not run: there is no npm here"
    with tempfile.TemporaryDirectory(prefix="mx") as folder:
        is_there, words = ran("npm", "install", "--silent", "--prefix", folder, *NODE, limit_s=600)
        if not is_there:
            return False, f"not run: {words}"
        path = f"{folder}/node_modules/.bin"
        with private_tmux() as (socket, home), server(socket, home) as (port, _):
            return _conforms(path, f"http://127.0.0.1:{port}/mcp")


def _conforms(path: str, url: str) -> tuple[bool, str]:
    variables = {"PATH": f"{path}:{os.environ['PATH']}"}
    rows, is_good = [], True
    for scenario in SCENARIOS:
        argv = (f"{path}/conformance", "server", "--url", url, "--scenario", scenario)
        passed, words = ran(*argv, limit_s=120, **variables)
        # A scenario that tested nothing says so with zeros.
        counted = re.search(r"Passed: ([1-9]\d*)/\1, 0 failed", words)
        is_good &= passed and counted is not None
        rows.append(f"conformance {scenario}: {counted[0] if counted else words.splitlines()[-1:]}")
    asks = ("--cli", url, "--transport", "http", "--method", "tools/list")
    passed, words = ran(f"{path}/mcp-inspector", *asks, limit_s=120, **variables)
    rows.append(f"Inspector tools/list: {'answered' if passed else words[-300:]}")
    return is_good and passed, "\n".join(rows)


PARTS: dict[str, tuple[str, Callable[[bool], tuple[bool, str]]]] = {
    "faults": ("a tmux that fails, dies or hangs at the n-th thing asked, for every tool", faults),
    "fuzz": ("random JSON-RPC over stdio", fuzz),
    "lives": ("starts and stops, and a soak", lives),
    "http": ("20 HTTP clients with 50 calls each", http),
    "protocol": ("the official conformance suite and the Inspector", protocol),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="what takes too long for the tests")
    parser.add_argument("--quick", action="store_true", help="a little of each")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    sections, is_good = [], True
    for name in given.only:
        words, part = PARTS[name]
        began = time.monotonic()
        passed, told = part(given.quick)
        is_good &= passed
        head = (
            f"## {name}: {words}\n\n{'good' if passed else '**not good**'}, {time.monotonic() - began:.0f} s"
        )
        sections.append(f"{head}\n\n```text\n{told}\n```\n")
        print(sections[-1], flush=True)
    depth = " (`--quick`)" if given.quick else ""
    intro = f"# Proof\n\nWritten by `./dev proof`{depth}: {machine()}, load {os.getloadavg()[0]:.1f}.\n"
    (ROOT / "docs" / "proof.md").write_text("\n".join([intro, *sections]))
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
