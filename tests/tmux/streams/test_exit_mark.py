"""The exit mark is taken out of the output in the same way wherever the bytes are split."""

from __future__ import annotations

import pytest

from muxpilot.tmux.streams.exit_mark import ExitMarkFilter
from muxpilot.tmux.streams.stream import ExitStatus
from muxpilot.trace import area

WORD = "0123456789abcdef"
TWO_MARKS = f"a\x1b]7717;{WORD};3;\x07b\x1b]7717;{WORD};4;9\x07c".encode()


def filter_parts(*parts: bytes, ends_output: bool = False) -> tuple[bytes, ExitStatus | None]:
    marks = ExitMarkFilter(WORD, area("test"), ends_output=ends_output)
    return b"".join([marks.filter(part) for part in parts]) + marks.flush(), marks.exit_status


@pytest.mark.parametrize(
    ("ends_output", "expected"),
    [(False, (b"abc", ExitStatus(4, 9))), (True, (b"a", ExitStatus(3, None)))],
)
def test_each_exit_mark_is_removed(*, ends_output: bool, expected: tuple[bytes, ExitStatus]) -> None:
    """Without `ends_output` the last mark counts: the launcher prints its own after all else."""
    for at in range(len(TWO_MARKS) + 1):
        found = filter_parts(TWO_MARKS[:at], TWO_MARKS[at:], ends_output=ends_output)
        assert found == expected, at
