"""Recognizing the echo of a line in the bytes that a shell printed before a command started."""

from __future__ import annotations

import pytest

from muxpilot.shells.echo import may_be_echo_of

LINE = "echo ours"


@pytest.mark.parametrize(
    ("echo", "shows"),
    [
        (b"", True),
        (b"echo ours\r\n", True),
        (b"\x1b[Ke\x08echo ours\x1b[?2004l\r\r\n", True),
        (b"echo o\r\nurs\r\n", True),
        (b"echo theirs\r\n", False),
        (b"echo theirs\r\necho ours\r\n", False),
    ],
)
def test_only_the_first_line_that_was_ended_can_be_what_has_begun(echo: bytes, *, shows: bool) -> None:
    assert may_be_echo_of(echo, LINE, is_decorated=False) is shows


def test_a_command_of_several_lines_is_looked_for_in_all_of_them() -> None:
    assert may_be_echo_of(b"> echo a\r\n> echo b\r\n", "echo a\necho b", is_decorated=True)
    assert may_be_echo_of(b"{\r\necho a\r\n}\r\n", "echo a\n}", is_decorated=False)
