"""The properties of what reads terminal bytes, for the committed corpus and some generated inputs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.fuzz_targets import TARGETS, TIMED, WORDS, check, read_seeds

PIECES = st.one_of(
    st.sampled_from([word.encode() for word in WORDS]), st.binary(max_size=4), st.just(b"ab c")
)


@pytest.mark.parametrize("name", TARGETS)
def test_the_properties_hold_for_the_corpus(name: str) -> None:
    seeds = read_seeds(name)
    assert seeds
    for path in seeds:
        for first in (0, 7, 100, 255):
            check(name, bytes([first]) + path.read_bytes()[1:])


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(first=st.integers(0, 255), pieces=st.lists(PIECES, max_size=12))
def test_the_properties_hold_for_generated_inputs(name: str, first: int, pieces: list[bytes]) -> None:
    """The same inputs in each run; `./dev proof fuzz` looks for others."""
    check(name, bytes([first]) + b"".join(pieces))


@pytest.mark.parametrize("name", TARGETS)
def test_a_corpus_that_is_repeated_is_read_to_its_end(name: str) -> None:
    """A quarter of a megabyte each: where time grows with the square, the test's own limit ends this."""
    seeds = read_seeds(name)
    assert seeds
    assert TIMED[name]
    for path in seeds:
        data = path.read_bytes()[1:]
        for run in TIMED[name]:
            run([data * ((1 << 18) // len(data) + 1)])
