"""Many short lives and one long one: nothing is left behind by the first, and the second does not grow.

./dev bench lives [--cycles N] [--calls N]
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.rigs.wire import Place, private_place


async def cycle(place: Place) -> None:
    async with place.serve(is_new=True) as wire:
        await wire.shake_hands()
        rows = await wire.call("list-panes")
        await wire.call("read-pane", paneId=rows["panes"][0]["id"])
        assert await wire.close_stdin() == 0
        assert await wire.stderr() == ""


async def cycles(number: int, at_once: int = 4) -> str:
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "keeper", "cat")
        await cycle(place)  # it starts the pipe of the pane's journal, which stays with the pane
        before = _state(place)
        began, left = time.monotonic(), iter(range(number))

        async def worker() -> None:
            for _ in left:
                await cycle(place)

        await asyncio.gather(*(worker() for _ in range(at_once)))
        assert _state(place) == before, "tmux is not as it was"
        assert list(place.passing.iterdir()) == [], "files are left"
        took_s = time.monotonic() - began
    return f"{number} starts and stops in {took_s:.0f} s: tmux as it was, no file and no process left"


def _state(place: Place) -> tuple[str, int]:
    row = "#{session_name} #{session_attached} #{pane_id} #{pane_pipe}"
    running = sum(
        place.socket.encode() in _cmdline(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()
    )
    return place.tmux("list-panes", "-a", "-F", row), running


def _cmdline(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


async def soak(calls: int) -> tuple[str, bool]:
    """Sessions made, run in, read, watched and ended; the memory of the second half against the first."""
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "keeper", "cat")
        async with place.serve("--scope", "all", is_new=True) as wire:
            await wire.shake_hands()
            sizes, began, asked = [], time.monotonic(), 0
            for _ in range(8):
                for _ in range(max(1, calls // 8 // 7)):
                    made = await wire.call("create-session")
                    pane = {"paneId": made["paneId"]}
                    await wire.call("execute-command", command="seq 200", timeoutSeconds=20, **pane)
                    await wire.call("read-pane", **pane)
                    await wire.call("capture-pane", **pane)
                    await wire.call("watch-pane", triggers="shell", timeout=5, **pane)
                    await wire.call("list-panes")
                    await wire.call("kill-session", sessionId=made["sessionId"])
                    asked += 7
                sizes.append(_megabytes(wire.pid))
            took_s = time.monotonic() - began
    grown = sizes[-1] - sizes[len(sizes) // 2 - 1]
    told = ", ".join(f"{size:.0f}" for size in sizes)
    words = f"{asked} calls in {took_s:.0f} s; RSS in MB at each eighth: {told}; second half {grown:+.1f} MB"
    return words, grown < 10


def _megabytes(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


async def run(given: argparse.Namespace) -> int:
    is_good = True
    if given.cycles:
        print(await cycles(given.cycles))
    if given.calls:
        words, is_good = await soak(given.calls)
        print(words)
    return 0 if is_good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description="many short lives and one long one")
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=7000)
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    raise SystemExit(main())
