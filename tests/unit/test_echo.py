"""Where a typed command's own output begins."""

from __future__ import annotations

import pytest

from muxpilot.watch.echo import Echo

# What line editors of such kinds send when a command is typed, and the first of its own output.
ECHOES = {
    "kernel": (b"make test\r\n", b"ok\r\n"),
    "dash prompt redrawn": (b"$ make test\r\n", b"ok\r\n"),
    "bash": (b"make test\r\n\x1b[?2004l\r", b"ok\r\n"),
    "bash wrapped": (b"make te \rst\r\n", b"ok\r\n"),
    "zsh wrapped": (b"m\x08make t \r\x1b[Ke\rest\x1b[?2004l\r\r\n", b"ok\r\n"),
    "zsh": (b"m\x08make test\x1b[?1l\x1b>\x1b[?2004l\r\r\n", b"ok\r\n"),
    "zsh highlighted": (b"\x1b[4mm\x1b[24m\x08\x1b[32mmake\x1b[39m test\x1b[?2004l\r\r\n", b"ok\r\n"),
}


@pytest.mark.parametrize("name", ECHOES)
def test_output_begins_behind_the_echo_wherever_the_bytes_are_cut(name: str) -> None:
    echo, output = ECHOES[name]
    newline = echo.index(b"\n") + 1
    for at in range(len(echo + output) + 1):
        begins = Echo("make test", is_at_prompt=True)((echo + output)[:at], is_quiet=False)
        assert begins == (newline if at >= newline else None), at


# As busybox and fish sent them, with panes of 20 columns: where a line is full, they begin another.
WRAPPED = [
    b"echo need\r\r\nle error: needle er\r\r\nror: \r\n",
    b"echo \r\x1b[9Cneedle \r\x1b[16Cerr\r\r\n\x1bM\x1b[18Cr: needle \x1bM\r\r\n"
    b"\x1b[13Decho needle error: needle error: \x1bM\r\r\n\x1b[32C\r\n",
]


@pytest.mark.parametrize("echo", WRAPPED)
def test_an_echo_that_is_wrapped_by_newlines_ends_with_its_text(echo: bytes) -> None:
    typed = Echo("echo needle error: needle error: ", is_at_prompt=True)
    for at in range(len(echo) + 1):
        assert typed(echo[:at], is_quiet=False) in (None, len(echo), echo.rindex(b"\n", 0, -1) + 1), at
    assert typed(echo + b"out\r\n", is_quiet=False) in (len(echo), echo.rindex(b"\n", 0, -1) + 1)


def test_a_program_that_echoes_nothing_loses_nothing() -> None:
    echo = Echo("secret", is_at_prompt=False)
    assert echo(b"Login incorrect\r\n", is_quiet=False) == 0
    assert echo(b"Password: ", is_quiet=True) == 0


def test_an_echo_that_is_still_coming_is_waited_for() -> None:
    echo = Echo("print(1)", is_at_prompt=False)
    assert echo(b">>> pri", is_quiet=True) is None
    assert echo(b">>> print(1)", is_quiet=True) is None
    assert echo(b">>> print(1)\r\n1\r\n", is_quiet=False) == 14


def test_a_line_editor_that_paints_in_its_own_way_still_ends_with_enter() -> None:
    painted = b"m-ke t\x1b[1mst\r\n"
    echo = Echo("make test", is_at_prompt=True)
    assert echo(painted + b"error: x\r\n", is_quiet=False) is None
    assert echo(painted + b"error: x\r\n", is_quiet=True) == len(painted)


def test_the_echo_of_several_lines_ends_with_the_last() -> None:
    data = b"for i in 1 2; do\r\n> echo $i\r\n> done\r\n1\r\n2\r\n"
    typed = "for i in 1 2; do\necho $i\ndone"
    for at_prompt in (True, False):
        assert Echo(typed, is_at_prompt=at_prompt)(data, is_quiet=False) == data.index(b"1\r\n2")


@pytest.mark.parametrize(
    ("line", "is_echo"),
    [
        (b"$ make test", True),
        (b"root@vm:~# make test", True),
        (b"host% make test", True),
        ("\u276f make test".encode(), True),
        (b"make test", False),
        (b"$ make test error", False),
        (b"error while running make test", False),
        (b"error", False),
    ],
)
def test_a_prompt_with_the_command_is_known_again(line: bytes, *, is_echo: bool) -> None:
    assert Echo("make test", is_at_prompt=True).is_in(line) is is_echo
