"""The benchmarks of this tree beside those of an earlier commit, in one run: the ratio of each row.

    ./dev bench versions [--base COMMIT] [--rounds N] [commands watch engine]

The earlier commit is checked out into a temporary git worktree and uses the packages of this .venv. Each
benchmark runs as a process of its own, in turn for both trees, so that a disturbance of the machine disturbs
both. The rows are read from the printed tables: the earlier commit knows no other form of output.
A row is slower if it takes more than 1.1 times as much by the medians and by the best rounds. Where only one
of the two says so, other work of the machine may be the reason.
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
SLOWER, UNCLEAR = "slower", "unclear: repeat"
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


Rows = Mapping[str, Value]


def read_value(cell: str) -> Value | None:
    """Read a cell such as `0.52 / 1.30`, `12.3 MB/s`, `1,234/s` or `0.10 % of a core`.

    Of two numbers the first counts. Numbers without a unit are milliseconds.
    """
    found = re.fullmatch(r"([\d,]+(?:\.\d+)?)(?: / [\d.,]+)?\s*(.*)", cell)
    return Value(float(found[1].replace(",", "")), found[2] or "ms") if found else None


def read_table(text: str) -> dict[str, Value]:
    """Return our value of each row of a Markdown table, which is its second cell."""
    values: dict[str, Value] = {}
    lines = [line for line in text.splitlines() if line.startswith("|")]
    for line in lines[2:]:
        name, cell, *_ = [cell.strip() for cell in line.strip("| ").split(" | ")]
        name = re.sub(r", seen to its end: .*", "", name)
        while name in values:
            name += " (again)"
        if value := read_value(cell):
            values[name] = value
    return values


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
    """Run one benchmark of a tree, with the source of that tree. Return its rows."""
    argv = [sys.executable, "-P", f"bench/{name}.py", *ARGUMENTS[name]]
    env = {**os.environ, "PYTHONPATH": str(tree / "src")}  # comes before the installed package
    done = subprocess.run(
        argv, cwd=tree, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    rows = read_table(done.stdout)
    if done.returncode or not rows:
        sys.exit(f"bench/{name}.py in {tree} failed:\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}")
    return rows


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
            print(f"{name}, round {turn + 1} of {rounds}, {tree}", flush=True)
            taken[tree].append(run_bench(tree, name))
    names = dict.fromkeys(row for rows in (*taken[ROOT], *taken[base]) for row in rows)
    return [[f"{name}: {row}", *judge(row, taken[base], taken[ROOT])] for row in names]


def judge(row: str, base: Sequence[Rows], ours: Sequence[Rows]) -> list[str]:
    """Return the cells of one row: both medians, their ratio, that of the best rounds, and the verdict."""
    old, new = ([rows[row] for rows in rounds if row in rows] for rounds in (base, ours))
    cells = [str(median(values)) if values else "" for values in (old, new)]
    if not (old and new):
        return [*cells, "", "", "not in both"]
    ratios = compare(median(old), median(new)), compare(best(old), best(new))
    slower = sum(ratio > WORST for ratio in ratios)
    return [*cells, *(f"{ratio:.2f}" for ratio in ratios), ("", UNCLEAR, SLOWER)[slower]]


def median(values: Sequence[Value]) -> Value:
    return Value(statistics.median(value.number for value in values), values[0].unit)


def best(values: Sequence[Value]) -> Value:
    choose = max if values[0].is_rate else min
    return choose(values, key=lambda value: value.number)


def main() -> int:
    parser = argparse.ArgumentParser(description="this tree beside an earlier commit")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ARGUMENTS))
    parser.add_argument("--base", default=BASE, help="a commit of this repository")
    parser.add_argument("--rounds", type=int, default=5, help="of each tree, in turn")
    given = parser.parse_args()
    if unknown := set(given.names) - set(ARGUMENTS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(ARGUMENTS)}")
    rows: list[list[str]] = []
    with worktree(given.base) as base:
        for name in given.names or ARGUMENTS:
            rows += measure(name, base, given.rounds)
    print(f"\n{machine()}, load {os.getloadavg()[0]:.1f}, base {given.base}, {given.rounds} rounds\n")
    print_table(("row", "base", "this tree", "of medians", "of the best", "bar"), rows)
    slower = sum(row[-1] == SLOWER for row in rows)
    print(f"\n{slower} of {len(rows)} rows are slower by more than a tenth")
    return 1 if slower else 0


if __name__ == "__main__":
    raise SystemExit(main())
