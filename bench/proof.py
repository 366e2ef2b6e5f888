"""Everything that takes too long for the tests, in parts, and written to docs/proof.md.

    ./dev proof [PART …] [--quick] [--again] [--seconds N]

Parts that only wait and count run side by side; those that measure time run alone, after them. What was good
for this source is kept in .cache/proof and not run again, so that a proof that was broken off goes on where
it was. A part that cannot run here (no Node.js, no network) says so, and is not counted as good.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.http import server
from bench.measure import machine
from bench.server import private_tmux
from bench.version_1_defects import DEFECTS

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".cache" / "proof"
PAGE = ROOT / "docs" / "proof.md"
INTRO = ROOT / "bench" / "proof_intro.md"
NODE = ROOT / ".cache" / "conformance"
LIMIT_S = 5400
# Parts run side by side: what is slow then is the machine, and no fault.
PATIENT = {"MUXPILOT_PATIENCE_S": "120"}


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one part, for which source and how deep."""

    name: str
    is_good: bool
    told: str
    seconds: float
    where: str
    is_quick: bool
    source: str


@dataclass(frozen=True, slots=True)
class Part:
    """One thing to prove; `run` answers whether it went well, and the last that was said."""

    words: str
    run: Callable[[bool], tuple[bool, str]]
    is_timed: bool = False
    notes: str = ""  # text below the result; it begins with a heading of the third level


def ran(
    *argv: str, limit_s: float = LIMIT_S, last: int = 14, env: Mapping[str, str] | None = None
) -> tuple[bool, str]:
    """Whether it went well, and the last that it said. What takes too long ends with all that it started."""
    process = subprocess.Popen(
        argv,
        cwd=ROOT,
        env={**os.environ, **PATIENT, **(env or {})},
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return False, f"{process.communicate()[0][-500:]}\nended after {limit_s:g} s"
    lines = [line for line in said.splitlines() if line.strip()]
    return process.returncode == 0, re.sub(r"\x1b\[\d*m", "", "\n".join(lines[-last:]))


def script(name: str, *, quick: Sequence[str], full: Sequence[str]) -> Callable[[bool], tuple[bool, str]]:
    argv = (sys.executable, "-P", f"bench/{name}.py")  # -P: bench/http.py must not stand for Python's own
    return lambda is_quick: ran(*argv, *(quick if is_quick else full))


def pytest(*args: str, **deeper: str) -> Callable[[bool], tuple[bool, str]]:
    argv = (sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", *args)
    return lambda is_quick: ran(*argv, env={} if is_quick else deeper)


def install_suite(version: str) -> Path | str:
    """The folder of a version of the official suite, or why it is not there."""
    if shutil.which("npm") is None:
        return "not run: there is no npm here"
    folder = NODE / version
    program = folder / "node_modules" / ".bin" / "conformance"
    if not program.exists():
        packages = ("node@22", f"@modelcontextprotocol/conformance@{version}")
        is_there, words = ran("npm", "install", "--silent", "--prefix", str(folder), *packages, limit_s=600)
        if not is_there:
            return f"not run: {words}"
    return program


def run_suite(program: Path, *asked: str) -> tuple[bool, str]:
    with private_tmux() as (socket, home), server(socket, home) as (port, _):
        argv = (str(program), "server", "--url", f"http://127.0.0.1:{port}/mcp", *asked)
        return ran(*argv, limit_s=300, last=400, env={"PATH": f"{program.parent}:{os.environ['PATH']}"})


def conformance(is_quick: bool) -> tuple[bool, str]:  # noqa: FBT001 - one row of a table
    """The official suite on our HTTP; what it may fail is listed in conformance.yml."""
    program = install_suite("0.1.16")
    if isinstance(program, str):
        return False, program
    known = ("--expected-failures", str(ROOT / "bench" / "conformance.yml"))
    is_good, said = run_suite(program, "--suite", "all", *known)
    passed = re.findall(r"^✓ (.*): [1-9]", said, re.MULTILINE)
    unexpected = said.partition("Unexpected")[2]
    if not is_good or not passed:
        return False, unexpected or said[-2000:]
    rest = len(re.findall(r"^  ~ ", said, re.MULTILINE))
    return True, f"passed: {', '.join(passed)}\nnot asked of us (bench/conformance.yml): {rest} scenarios"


# Why a check of the newest suite may fail: it needs a tool, prompt or resource of the suite's own, or the
# extension for tasks, which muxpilot does not declare.
NOT_ASKED = re.compile(
    r"Not testable|Unknown tool|Unknown prompt|Tool '.*' not found|no resource 'test:|no argument 'arg1'"
    r"|failing_job|routing-task fixture|tasks/|capabilities\.extensions|InputRequiredResult"
)


def conformance_2026(is_quick: bool) -> tuple[bool, str]:  # noqa: FBT001 - one row of a table
    """The scenarios that the revision 2026-07-28 requires, check by check."""
    program = install_suite("0.2.0-alpha.12")
    if isinstance(program, str):
        return False, program
    with tempfile.TemporaryDirectory() as folder:
        run_suite(program, "--requirements", "2026-07-28", "--output-dir", folder)
        found = [
            (path.parent.name, check)
            for path in sorted(Path(folder).rglob("checks.json"))
            for check in json.loads(path.read_text())
        ]
    counted = Counter(check["status"] for _, check in found)
    wrong = [
        f"{scenario}: {check['id']}: {check.get('errorMessage', '')[:200]}"
        for scenario, check in found
        if check["status"] in ("FAILURE", "WARNING")
        and not NOT_ASKED.search(check.get("errorMessage", ""))
        and not check["id"].startswith("sep-2663-")
    ]
    told = f"{counted['SUCCESS']} checks passed; {counted['FAILURE']} need the suite's own tools or tasks"
    return bool(counted["SUCCESS"]) and not wrong, "\n".join([told, *wrong])


def coverage_fuzz(is_quick: bool) -> tuple[bool, str]:  # noqa: FBT001 - one row of a table
    """Fuzz for `--seconds`. atheris is installed here when it is first needed."""
    if importlib.util.find_spec("atheris") is None:
        is_there, words = ran(sys.executable, "-m", "pip", "install", "--quiet", "atheris>=3,<4", limit_s=600)
        if not is_there:
            return False, f"not run: {words}"
    default = "20" if is_quick else "600"
    argv = (sys.executable, "-P", "bench/coverage_fuzz.py", "--seconds")
    return ran(*argv, os.environ.get("MUXPILOT_FUZZ_SECONDS", default), last=30)


def terminal_notes() -> str:
    """Return what the terminal proof compares, what still differs, and the defects of version 1."""
    rows = ["| what | printed on 20 columns | version 1 | tmux and muxpilot |", "| --- | --- | --- | --- |"]
    for name, defect in DEFECTS.items():
        printed, before, wanted = (
            f"`{text}`" for text in (repr(defect.printed)[1:-1], *map(" ⏎ ".join, defect[1:]))
        )
        rows.append(f"| {name} | {printed} | {before} | {wanted} |")
    return "\n".join(((ROOT / "bench" / "terminal_notes.md").read_text(), *rows, ""))


PARTS = {
    "faults": Part(
        "a tmux that fails, dies or hangs at the n-th thing asked, for every tool, n = 1 to 4; the catalogue",
        pytest("tests/faults", "-n", "2", MUXPILOT_FAULTS="4"),
    ),
    "quoting": Part(
        "generated names, texts, bytes and paths come back from a real tmux as they were, and run nothing",
        pytest("tests/tmux/test_round_trips.py", "-n", "2", "--timeout=1800", MUXPILOT_TIMES="10"),
    ),
    "terminal": Part(
        "the same streams in a real tmux and in our terminal model look the same",
        script("terminal_proof", quick=("--sequences", "20000"), full=("--sequences", "1000000")),
        is_timed=True,
        notes=terminal_notes(),
    ),
    "fuzz": Part(
        "fuzzing guided by coverage: tokenizer, screen, outputs, lines, control mode, marks, sanitizer",
        coverage_fuzz,
    ),
    "json-rpc": Part(
        "random JSON-RPC over stdio",
        script("fuzz", quick=("--messages", "1000"), full=("--messages", "20000")),
    ),
    "messages": Part(
        "random messages over stdio and HTTP in both protocol eras, against the SDK's word",
        script("fuzz_protocol", quick=("--messages", "4000"), full=("--messages", "110000")),
    ),
    "lives": Part(
        "starts and stops leave nothing",
        script("lives", quick=("--cycles", "20", "--calls", "0"), full=("--cycles", "1000", "--calls", "0")),
    ),
    "soak": Part(
        "one long life does not grow",
        script("lives", quick=("--cycles", "0", "--calls", "350"), full=("--cycles", "0", "--calls", "7000")),
    ),
    "conformance": Part("the official conformance suite 0.1.16, on our HTTP", conformance),
    "conformance-2026": Part(
        "the official conformance suite 0.2.0-alpha.12, all that 2026-07-28 requires, on our HTTP",
        conformance_2026,
    ),
    "restarts": Part(
        "a muxpilot with commands in ten panes is killed at random moments: every result is told afterwards",
        script("restarts", quick=("50",), full=("500",)),
    ),
    "muxpilots": Part(
        "two and five muxpilots at the same panes: each answer is its own command's, and all list the same",
        script("muxpilots", quick=("--commands", "100"), full=("--commands", "1000")),
    ),
    "ends": Part(
        "kill panes whose processes ignore signals, fork twice and leave the terminal: nothing is left, and "
        "nothing else is hit",
        script("ends", quick=("20",), full=("200",)),
    ),
    "clients": Part(
        "the Inspector (`--cli --strict`) and the TypeScript SDK's client",
        pytest("tests/server/test_node_clients.py"),
    ),
    "http": Part(
        "20 HTTP clients with 200 calls each, beside version 1",
        script("http", quick=(), full=()),
        is_timed=True,
    ),
    "flood": Part(
        "a pane that prints without end, and the calls beside it",
        script("flood", quick=("--megabytes", "100"), full=("--megabytes", "1000")),
        is_timed=True,
    ),
}


def source() -> str:
    """A name for the source as it stands, so that what was good for another is not taken for this one."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def kept(name: str) -> Result | None:
    try:
        return Result(**json.loads((KEPT / f"{name}.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def proved(name: str, *, is_quick: bool) -> Result:
    of, began = source(), time.monotonic()
    try:
        is_good, told = PARTS[name].run(is_quick)
    except (OSError, subprocess.SubprocessError) as error:
        is_good, told = False, f"not run: {error}"
    where = f"{machine()}, load {os.getloadavg()[0]:.1f}"
    result = Result(name, is_good, told, time.monotonic() - began, where, is_quick, of)
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{name}.json").write_text(json.dumps(asdict(result)))
    return result


def is_done(name: str, *, is_quick: bool) -> bool:
    found = kept(name)
    return found is not None and found.is_good and found.is_quick <= is_quick and found.source == source()


def all_of(names: Sequence[str], *, is_quick: bool, at_once: int) -> Iterator[Result]:
    beside = [name for name in names if not PARTS[name].is_timed]
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(lambda name: proved(name, is_quick=is_quick), beside)
    for name in names:
        if PARTS[name].is_timed:
            yield proved(name, is_quick=is_quick)


def section(result: Result) -> str:
    verdict = "good" if result.is_good else "**not good**"
    depth = ", `--quick`" if result.is_quick else ""
    head = f"## {result.name}: {PARTS[result.name].words}"
    return (
        f"{head}\n\n{verdict}, {result.seconds:.0f} s{depth}; {result.where}\n\n```text\n{result.told}\n```\n"
        + with_notes(result.name)
    )


def with_notes(name: str) -> str:
    return f"\n{PARTS[name].notes}" if PARTS[name].notes else ""


def earlier_sections() -> dict[str, str]:
    """Return the sections of the page as it stands: another machine may have run those parts."""
    sections = re.split(r"^(?=## )", PAGE.read_text(), flags=re.MULTILINE)[1:] if PAGE.exists() else []
    results = {re.split(r"[ :\n]", text[3:], maxsplit=1)[0]: text.partition("\n### ")[0] for text in sections}
    return {name: f"{text.rstrip()}\n{with_notes(name)}" for name, text in results.items() if name in PARTS}


def write_page() -> None:
    """Write docs/proof.md, of what each part said last."""
    earlier = earlier_sections()
    sections = []
    for name in PARTS:
        row = kept(name)
        sections.append(section(row) if row else earlier.get(name, f"## {name}\n\nnot run\n"))
    PAGE.write_text("\n".join([INTRO.read_text(), *sections]))


def main() -> int:
    parser = argparse.ArgumentParser(description="what takes too long for the tests")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="a little of each")
    parser.add_argument("--again", action="store_true", help="also what was good for this source")
    parser.add_argument("--seconds", type=int, help="how long to fuzz")
    parser.add_argument("--at-once", type=int, default=2, help="parts side by side")
    given = parser.parse_args()
    if given.seconds is not None:
        os.environ["MUXPILOT_FUZZ_SECONDS"] = str(given.seconds)
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    asked = [name for name in PARTS if name in given.parts or not given.parts]
    due = [name for name in asked if given.again or not is_done(name, is_quick=given.quick)]
    print(f"to prove: {', '.join(due) or 'nothing, all of it was good for this source'}", flush=True)
    for result in all_of(due, is_quick=given.quick, at_once=given.at_once):
        print(section(result), flush=True)
    write_page()
    return 0 if all(is_done(name, is_quick=given.quick) for name in asked) else 1


if __name__ == "__main__":
    raise SystemExit(main())
