"""Reading the version of tmux, and refusing old ones."""

from __future__ import annotations

import pytest

from muxpilot.errors import NoTmux
from muxpilot.tmux import version


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("tmux 3.3a", (3, 3)),
        ("3.5a", (3, 5)),
        ("3.10", (3, 10)),
        ("next-3.8", (3, 8)),
        ("tmux 3.6-rc2\n", (3, 6)),
        ("openbsd-7.4", (99, 0)),
        ("master", (99, 0)),
    ],
)
def test_the_numbers_are_read(text: str, numbers: tuple[int, int]) -> None:
    assert version.parse(text) == numbers


def test_one_that_says_nothing_is_refused() -> None:
    with pytest.raises(NoTmux, match="does not report its version"):
        version.require_supported("\n")


def test_one_that_is_new_enough_is_taken() -> None:
    assert version.require_supported("3.2") == (3, 2)


@pytest.mark.parametrize("text", ["tmux 3.1c", "2.9", "1.8\n"])
def test_one_that_is_too_old_is_refused(text: str) -> None:
    with pytest.raises(NoTmux, match=r"is too old: muxpilot needs tmux 3\.2 or newer\. Install"):
        version.require_supported(text)
