"""The benchmarks of this tree beside those of an earlier commit, in one run: the ratio of each row.

    ./dev bench versions [--base COMMIT] [--rounds N] [commands watch engine]

The earlier commit is checked out into a temporary git worktree and uses the packages of this .venv. Each
benchmark runs as a process of its own, in turn for both trees, so that a disturbance of the machine disturbs
both. The rows are read from the printed tables: the earlier commit knows no other form of output.
A row is good if it takes at most a tenth more than before.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import machine, print_table

ROOT = Path(__file__).parents[1]
BASE = "19f4b33"  # the last commit without journals
LIMIT_S = 900
WORST = 1.1
# Smaller than by default, because each runs several times.
ARGUMENTS = {
    "commands": ("--rounds", "10"),
    "watch": ("--rounds", "15", "--seconds", "10", "--megabytes", "50"),
    "engine": (),
}
# A smaller value than this is as good as none: percents of a core are measured in ticks of 10 ms.
FLOORS = {"% of a core": 0.2}


@dataclass(frozen=True, slots=True)
class Value:
    """The first number of a table's cell, and its unit."""

    number: float
    unit: str

    @property
    def is_rate(self) -> bool:
        return self.unit.endswith("/s")

    def __str__(self) -> str:
        return f"{self.number:,.2f} {self.unit}".strip()


def read_value(cell: str) -> Value | None:
    """Read a cell such as `0.52 / 1.30`, `12.3 MB/s`, `1,234/s` or `0.10 % of a core`.

    Of two numbers the first counts. Numbers without a unit are milliseconds.
    """
    found = re.fullmatch(r"([\d,]+(?:\.\d+)?)(?: / [\d.,]+)?\s*(.*)", cell)
    return Value(float(found[1].replace(",", "")), found[2] or "ms") if found else None


def read_table(text: str) -> dict[str, Value]:
    """Return our value of each row of a Markdown table: the second cell."""
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in text.splitlines()
        if line[:1] == "|"
    ]
    values = {re.sub(r", seen to its end: .*", "", row[0]): read_value(row[1]) for row in rows[2:]}
    return {name: value for name, value in values.items() if value is not None}


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """Yield a folder with the files of a commit."""
    with tempfile.TemporaryDirectory(prefix="muxpilot-base-") as folder:
        path = Path(folder) / "tree"
        git("worktree", "add", "--detach", str(path), commit)
        try:
            yield path
        finally:
            git("worktree", "remove", "--force", str(path))


def git(*args: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *args], check=True, capture_output=True, timeout=120)


def run_bench(tree: Path, name: str) -> dict[str, Value]:
    """Run one benchmark of a tree with the source of that tree. Return its rows."""
    argv = [sys.executable, "-P", f"bench/{name}.py", *ARGUMENTS[name]]
    env = {**os.environ, "PYTHONPATH": str(tree / "src")}  # comes before the installed package
    done = subprocess.run(
        argv, cwd=tree, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    rows = read_table(done.stdout)
    if done.returncode or not rows:
        sys.exit(f"bench/{name}.py in {tree} failed:\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}")
    return rows


def median_rows(rounds: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """Return the median of each row over all rounds."""
    return {
        name: Value(statistics.median(rows[name].number for rows in rounds), first.unit)
        for name, first in rounds[0].items()
        if all(name in rows for rows in rounds)
    }


def compare(base: Value, ours: Value) -> float:
    """Return how many times as much we take as the base did."""
    floor = FLOORS.get(ours.unit, 1e-9)
    before, now = max(base.number, floor), max(ours.number, floor)
    return before / now if ours.is_rate else now / before


def measure(name: str, base: Path, rounds: int) -> list[list[str]]:
    """Run one benchmark in both trees in turn. Return the rows of the comparison."""
    taken: dict[Path, list[dict[str, Value]]] = {base: [], ROOT: []}
    for turn in range(rounds):
        for tree in (base, ROOT) if turn % 2 == 0 else (ROOT, base):
            taken[tree].append(run_bench(tree, name))
            print(
                f"{name}, round {turn + 1} of {rounds}, {'base' if tree == base else 'this tree'}", flush=True
            )
    before, now = median_rows(taken[base]), median_rows(taken[ROOT])
    rows = []
    for row, value in now.items():
        ratio = compare(before[row], value) if row in before else None
        told = "new" if ratio is None else f"{ratio:.2f}"
        verdict = "" if ratio is None or ratio <= WORST else "slower"
        rows.append([f"{name}: {row}", str(before.get(row, "")), str(value), told, verdict])
    gone = [[f"{name}: {row}", str(value), "", "gone", ""] for row, value in before.items() if row not in now]
    return rows + gone


def main() -> int:
    parser = argparse.ArgumentParser(description="this tree beside an earlier commit")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ARGUMENTS))
    parser.add_argument("--base", default=BASE, help="a commit of this repository")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if unknown := set(given.names) - set(ARGUMENTS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(ARGUMENTS)}")
    rows: list[list[str]] = []
    with worktree(given.base) as base:
        for name in given.names or ARGUMENTS:
            rows += measure(name, base, given.rounds)
    print(
        f"\n{machine()}, load {os.getloadavg()[0]:.1f}, base {given.base}, medians of {given.rounds} rounds\n"
    )
    print_table(("row", "base", "this tree", "times as much", "bar"), rows)
    slower = sum(row[-1] == "slower" for row in rows)
    print(f"\n{slower} of {len(rows)} rows take more than {WORST:g} times as much as before")
    return 1 if slower else 0


if __name__ == "__main__":
    raise SystemExit(main())
