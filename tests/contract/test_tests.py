"""Checks of the test suite itself: `tests/` mirrors `src/muxpilot`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.conftest import LONGEST, SLOW
from tests.contract.source import ROOT, SOURCE

TESTS = ROOT / "tests"
# Suites that test the program as a whole, and the helpers that tests share.
ACROSS = {
    "attacks",
    "bench",
    "containers",
    "contract",
    "durability",
    "examples",
    "faults",
    "packaging",
    "rigs",
    "sandbox",
    "ssh",
}


def folders() -> Iterator[Path]:
    """Yield every folder of tests/ that holds a Python file, relative to tests/."""
    yield from sorted({path.parent.relative_to(TESTS) for path in TESTS.rglob("*.py")} - {Path()})


def mirrors_source(folder: Path) -> bool:
    """Return whether `src/muxpilot` has a package or a module of this path."""
    return any((SOURCE / folder).glob("*.py")) or (SOURCE / folder).with_suffix(".py").is_file()


def test_every_folder_of_tests_has_its_part_in_the_source() -> None:
    mirrored = [folder for folder in folders() if folder.parts[0] not in ACROSS]
    assert [str(folder) for folder in mirrored if not mirrors_source(folder)] == []


def test_every_suite_across_packages_exists() -> None:
    assert {str(folder) for folder in folders()} >= ACROSS
    assert [name for name in ACROSS if (SOURCE / name).exists()] == []


def test_the_lists_of_slow_and_long_tests_name_what_exists() -> None:
    assert [name for name in (*SLOW, *LONGEST) if not (TESTS / name).exists()] == []


def test_helpers_hold_no_tests() -> None:
    assert [path.name for path in TESTS.joinpath("rigs").glob("test_*.py")] == []
