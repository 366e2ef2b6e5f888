"""The output of a command, printed as it comes: each line once, and again only if the command changes it."""

from __future__ import annotations

import pytest

from muxpilot.cli.output_printer import OutputPrinter
from muxpilot.shells.command_output import CommandOutput
from muxpilot.terminal.shape import ScreenShape

HEIGHT = 4


def printed(
    capsys: pytest.CaptureFixture[str], *parts: bytes, limit: int = 1 << 20, colours: bool = False
) -> list[str]:
    """Return what is printed after each part of the output, and in the end."""
    output = CommandOutput(ScreenShape(200, HEIGHT), limit, keeps_colours=colours)
    printer = OutputPrinter(output)
    texts = []
    for part in parts:
        output.feed(part)
        printer.print_new()
        texts.append(capsys.readouterr().out)
    output.finish()
    printer.print_new(is_last=True)
    return [*texts, capsys.readouterr().out]


def test_whole_lines_are_printed_at_once_and_the_last_one_in_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed(capsys, b"one\r\ntw", b"o\r\nthr", b"ee") == ["one\n", "two\n", "", "three"]


def test_many_lines_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = b"".join(b"%d\r\n" % number for number in range(100))
    assert "".join(printed(capsys, lines, lines)) == 2 * lines.decode().replace("\r", "")


def test_a_line_that_is_redrawn_is_printed_as_it_is_in_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, b"10 %", b"\r20 %", b"\r30 %\r\n") == ["", "", "30 %\n", ""]


def test_lines_that_are_changed_after_they_were_printed_are_printed_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = printed(capsys, b"a: wait\r\nb: wait\r\n", b"\x1b[1Ab: done\r\n")
    assert texts[0] == "a: wait\nb: wait\n"
    assert "".join(texts[1:]) == "b: done\n"


def test_a_character_that_is_cut_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    euro = "€".encode()
    assert "".join(printed(capsys, b"x" + euro[:1], euro[1:] + b"\r\n")) == "x€\n"


def test_what_could_change_a_terminal_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(printed(capsys, b"\x1b]0;title\x07\x1b[31mred\x1b[0m \xe2\x80\xae\r\n"))
    assert text == "red \n"


def test_bytes_that_are_not_kept_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    output = CommandOutput(ScreenShape(200, HEIGHT), 10)
    for number in range(400_000):
        output.feed(b"%07d\r\n" % number)
    output.finish()
    printer = OutputPrinter(output)
    printer.print_new(is_last=True)
    text = capsys.readouterr().out
    assert text.endswith("0399999\n")
    assert printer.skipped_bytes == output.size - len(text) > 0


RED, NORMAL = "\x1b[31m", "\x1b[0m"


def test_colours_stay_for_a_terminal_and_end_with_the_output(capsys: pytest.CaptureFixture[str]) -> None:
    part = f"a {RED}red\r\nline".encode()
    assert printed(capsys, part, colours=True) == [f"a {RED}red\n", f"line{NORMAL}"]
    assert printed(capsys, part) == ["a red\n", "line"]


def test_only_colours_stay_and_a_torn_sequence_is_whole_in_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parts = (b"\x1b]0;title\x07\x1b[3", b"1mred\x1b[m\r\n", b"\x1b[2Jcleared\r\n")
    text = "".join(printed(capsys, *parts, colours=True))
    assert "title" not in text
    assert "\x1b[2J" not in text
    assert "red" in text
    assert "cleared" in text


def test_many_coloured_lines_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = b"".join(b"\x1b[3%dm%d\x1b[m\r\n" % (number % 8, number) for number in range(100))
    assert "".join(printed(capsys, lines, lines, colours=True)).removesuffix(
        NORMAL
    ) == 2 * lines.decode().replace("\r", "")
