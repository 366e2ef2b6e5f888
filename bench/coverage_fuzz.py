"""Fuzz what reads terminal bytes, guided by the branches of our code that an input reaches.

    ./dev proof fuzz [--seconds N]
    ./dev bench coverage_fuzz [--seconds N] [--keep] [TARGET …]

The targets and their properties are in `bench/fuzz_targets.py`. Each runs in a process of its own with
atheris (libFuzzer), for its share of the time. It begins with the committed corpus `bench/fuzz_seeds` and
what earlier runs have found (.cache/fuzz). An input that breaks a property is kept there, too. Then each
of the longest is repeated to 4 and to 64 KiB: the time must grow like the length.
`--keep` writes a few of them into the committed corpus.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.fuzz_targets import SEEDS, TARGETS, TIMED, WORDS

ROOT = Path(__file__).parents[1]
FOUND = ROOT / ".cache" / "fuzz"
LONGEST = 600
KEPT, LONGEST_KEPT = 2, 400
MOST_TIMED = 40
STEEPEST = 6.0  # 16 times the length in 16 times the time, and this is what a busy machine may add


def write_words(folder: Path) -> Path:
    path = folder / "words"
    rows = ("".join(f"\\x{byte:02x}" for byte in word.encode()) for word in WORDS)
    path.write_text("".join(f'"{row}"\n' for row in rows))
    return path


def fuzz_here(name: str, argv: Sequence[str]) -> None:
    """Fuzz in this process, which ends here."""
    import atheris

    for module in [
        each for each in sys.modules if each.startswith("muxpilot") or each == "bench.fuzz_targets"
    ]:
        del sys.modules[module]
    with atheris.instrument_imports(include=["muxpilot"]):
        import bench.fuzz_targets

    run = bench.fuzz_targets.check

    def one(data: bytes) -> None:
        run(name, data)

    atheris.Setup([sys.argv[0], *argv], one)
    atheris.Fuzz()


def start(name: str, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", __file__, "--inside", name, *argv],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def fuzz(name: str, seconds: float) -> bool:
    """Fuzz one target and print what came of it; return True if every property held."""
    folder = FOUND / name
    folder.mkdir(parents=True, exist_ok=True)
    options = (
        f"-max_total_time={max(1, round(seconds))}",
        f"-max_len={LONGEST}",
        f"-artifact_prefix={FOUND}/{name}-",
    )
    with tempfile.TemporaryDirectory() as made:
        words = write_words(Path(made))
        done = start(name, *options, "-timeout=20", f"-dict={words}", str(folder), str(SEEDS / name))
    runs = re.findall(r"^#(\d+)", done.stderr, re.MULTILINE)
    reached = re.findall(r"cov: (\d+)", done.stderr)
    slow = find_steep(name, folder)
    is_good = done.returncode == 0 and not slow
    words_of = f"{int(runs[-1]) if runs else 0:,} inputs, {reached[-1] if reached else 0} branches"
    print(
        f"{name}: {words_of}, {len(list(folder.iterdir()))} kept: {'good' if is_good else 'WRONG'}",
        flush=True,
    )
    if done.returncode != 0:
        print(shorten_failure(done.stderr + done.stdout), flush=True)
    for line in slow:
        print(f"  {line}", flush=True)
    return is_good


def shorten_failure(text: str) -> str:
    """Return what failed, without the statistics of libFuzzer."""
    lines = [line for line in text.splitlines() if re.search(r"Error|assert|crash-|timeout-|  File", line)]
    return "\n".join(f"  {line[:400]}" for line in lines[-12:]) or text[-800:]


def find_steep(name: str, folder: Path) -> list[str]:
    """Repeat each input that was found, and list those for which the time grows faster than the length."""
    found = []
    longest = sorted(folder.iterdir(), key=lambda path: -path.stat().st_size)
    for path in longest[:MOST_TIMED]:
        data = path.read_bytes()
        if len(data) > 1 and is_steep(name, data):
            found.append(f"not linear: {data!r}")
    return found


def is_steep(name: str, data: bytes) -> bool:
    """Return True if sixteen times the length takes far more than sixteen times the time, three times."""
    for _ in range(3):
        short, long = (spend(name, data, size) for size in (1 << 12, 1 << 16))
        if long < 16 * STEEPEST * max(short, 0.001):
            return False
    return True


def spend(name: str, data: bytes, size: int) -> float:
    """Return the seconds for an input that is repeated up to a size, as a whole and in small parts."""
    repeated = data[1:] * (size // (len(data) - 1) + 1)
    parts = [repeated[at : at + 512] for at in range(0, len(repeated), 512)]
    began = time.process_time()
    for run in TIMED[name]:
        run([repeated])
        run(parts)
    return time.process_time() - began


def keep(name: str) -> None:
    """Write a few inputs that reached something new into the committed corpus: the longest below a limit."""
    found = [path.read_bytes() for path in (FOUND / name).iterdir() if path.stat().st_size <= LONGEST_KEPT]
    for number, data in enumerate(sorted(found, key=lambda data: (-len(data), data))[:KEPT], start=1):
        (SEEDS / name / f"found-{number}").write_bytes(data)


def main() -> int:
    if sys.argv[1:2] == ["--inside"]:
        fuzz_here(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description="fuzzing that is guided by coverage")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument(
        "--seconds", type=float, default=float(os.environ.get("MUXPILOT_FUZZ_SECONDS", "120"))
    )
    parser.add_argument("--keep", action="store_true", help="write the committed corpus")
    given = parser.parse_args()
    names = given.targets or list(TARGETS)
    if unknown := set(names) - set(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    results = [fuzz(name, given.seconds / len(names)) for name in names]
    if given.keep:
        for name in names:
            keep(name)
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
