"""The mode of a terminal: by termios here, and from what `stty` prints on another host."""

from __future__ import annotations

import os
import termios
from collections.abc import Iterator

import pytest

from muxpilot.processes.terminal_mode import (
    TerminalMode,
    is_terminal_path,
    parse_stty,
    read_remote_terminal_mode,
    read_terminal_mode,
)

LINUX = (
    "speed 38400 baud; rows 24; columns 80; line = 0; intr = ^C; quit = ^\\; erase = ^?; kill = ^U; "
    "-parenb -ignbrk brkint icrnl ixon opost isig icanon iexten echo echoe echok"
)
MACOS = "lflags: icanon isig iexten -echo echoe iflags: -istrip icrnl cchars: erase = ^?; intr = ^C;"


@pytest.fixture
def terminal() -> Iterator[int]:
    """Yield the descriptor of a new terminal."""
    master, slave = os.openpty()
    yield slave
    os.close(slave)
    os.close(master)


def test_flags_and_keys_of_a_terminal_are_read(terminal: int) -> None:
    mode = termios.tcgetattr(terminal)
    mode[3] = (mode[3] | termios.ICANON | termios.ISIG) & ~termios.ECHO
    mode[6][termios.VERASE] = b"\x08"
    mode[6][termios.VINTR] = b"\x03"
    termios.tcsetattr(terminal, termios.TCSANOW, mode)
    found = read_terminal_mode(os.ttyname(terminal))
    assert found is not None
    assert (found.is_canonical, found.has_echo, found.has_signals) == (True, False, True)
    assert (found.erase_key, found.interrupt_key) == (b"\x08", b"\x03")
    assert found.hides_typing


@pytest.mark.parametrize("path", ["/dev/null", "/no/such", "", "x\0y"])
def test_a_path_that_is_no_terminal_has_no_mode(path: str) -> None:
    assert read_terminal_mode(path) is None


@pytest.mark.parametrize(("text", "has_echo"), [(LINUX, True), (MACOS, False)], ids=["linux", "macos"])
def test_stty_is_understood_as_linux_and_macos_print_it(text: str, *, has_echo: bool) -> None:
    assert parse_stty(text) == TerminalMode(
        is_canonical=True, has_echo=has_echo, maps_return=True, has_signals=True, interrupt_key=b"\x03"
    )


def test_an_stty_that_printed_no_mode_is_not_a_mode() -> None:
    assert parse_stty("") is None
    assert parse_stty("stty: standard input: Inappropriate ioctl for device") is None


async def test_a_path_with_a_command_in_it_reaches_no_shell() -> None:
    async def run(script: str) -> list[str]:
        raise AssertionError(script)

    assert not is_terminal_path("/dev/pts/1; id")
    assert await read_remote_terminal_mode(run, "/dev/pts/1; id") is None
