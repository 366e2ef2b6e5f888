"""Two and five muxpilots at the same panes: each answer is its own command's, and all list the same.

./dev bench muxpilots [--commands N]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.rigs.muxpilots import run_together
from tests.rigs.wire import private_place


async def run(commands: int) -> int:
    is_good = True
    for servers in (2, 5):
        with private_place() as place:
            outcome = await run_together(place, servers=servers, commands=commands)
        print(outcome, flush=True)
        is_good = is_good and not outcome.faults
    return 0 if is_good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description="several muxpilots at the same panes")
    parser.add_argument("--commands", type=int, default=1000, help="in all, for two and for five muxpilots")
    return asyncio.run(run(parser.parse_args().commands))


if __name__ == "__main__":
    raise SystemExit(main())
