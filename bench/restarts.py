"""A muxpilot with commands in ten panes, killed again and again: every command's result is told afterwards.

    ./dev proof restarts
    ./dev bench restarts [LIVES] [--seed N] [--logs FOLDER]

The logs of the killed servers are kept where something is wrong. A seed repeats the choice of panes,
commands and moments, but not the timing of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.rigs.restarts import Restarts
from tests.rigs.wire import private_place


async def run(lives: int, seed: int, logs: Path) -> int:
    print(f"seed {seed}; the logs of the servers are in {logs} until all is good", flush=True)
    with private_place() as place:
        report = await Restarts(place, seed=seed, logs=logs).run(lives)
    print(report)
    if not report.faults:
        shutil.rmtree(logs)
    return 1 if report.faults else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="a muxpilot that is killed at random moments")
    parser.add_argument("lives", nargs="?", type=int, default=500)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--logs", type=Path, help="an empty folder")
    given = parser.parse_args()
    logs = given.logs or Path(tempfile.mkdtemp(prefix="restarts-"))
    logs.mkdir(exist_ok=True)
    return asyncio.run(run(given.lives, given.seed, logs))


if __name__ == "__main__":
    raise SystemExit(main())
