"""Output is rendered while it comes, and kept within limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.terminal_streams import generate
from muxpilot.shells.command_output import CommandOutput
from muxpilot.shells.echo import find_echo_end
from muxpilot.terminal.shape import ScreenShape

CAP = 1 << 20


@contextmanager
def render(*chunks: bytes, cap: int = CAP, height: int = 10) -> Iterator[CommandOutput]:
    output = CommandOutput(ScreenShape(80, height), cap)
    try:
        for chunk in chunks:
            output.feed(chunk)
        output.finish()
        yield output
    finally:
        output.close()


def text(*chunks: bytes) -> str:
    with render(*chunks) as output:
        return output.full_text()[0]


CASES = {
    "plain": (b"a\r\nb\r\n", "a\nb\n"),
    "tabs": (b"a\tb\r\n", "a\tb\n"),
    "tabs behind a colour": (b"\x1b[31ma\tb\x1b[m\r\n", "a\tb\n"),
    "tabs behind a carriage return": (b"x\ra\tb\r\n", "a\tb\n"),
    "a bar": (b"10%\r20%\r100%\r\n", "100%\n"),
    "a shorter last state": (b"working\r\x1b[Kok\r\n", "ok\n"),
    "up and over": (b"one\r\ntwo\r\n\x1b[2Auno\r\x1b[2B", "uno\ntwo\n"),
    "a title": (b"\x1b]0;title\x07a\r\n", "a\n"),
    "a title that SUB has cut off": (b"\x1b]0;title\x1aa\x07b\r\n", "ab\n"),
    "wide": ("漢字\r漢\r\n".encode(), "漢字\n"),
    "no final newline": (b"abc", "abc"),
    "line drawing": (b"\x1b(0lqk\x1b(B box\r\n", "┌─┐ box\n"),
    "line drawing with shifts": (b"\x1b)0a\r\n\x0ex\x0fx\r\n", "a\n│x\n"),
    "a repeated character": (b"=\x1b[5b\r\n", "======\n"),
    "a line that wraps": (b"x" * 100 + b"\x1b[A\rY\x1b[B\r\n", "Y" + "x" * 99 + "\n"),
    "a late variation selector": ("a\r\n\ufe0fb\u26a0\ufe0fc\r\n".encode(), "a\nb\u26a0\ufe0fc\n"),
    "a line feed alone": (b"ab\ncd\r\n", "ab\n  cd\n"),
    "a saved cursor": (b"one\x1b7\r\ntwo\x1b8!\r\n\r\n", "one!\ntwo\n"),
    "a tab over text": (b"abcdefghij\r\tX\r\n", "abcdefghXj\n"),
    "a line that wraps behind deleted cells": (
        b"abc\x1b[19P\x1b[999C" + "漢x\r\n".encode(),
        "abc" + " " * 58 + "漢x\n",
    ),
    "cleared": (b"a\r\n\x1b[H\x1b[2Jb\r\n", "a\nb\n"),
}


@pytest.mark.parametrize("case", CASES)
def test_text_is_what_a_person_would_have_seen_wherever_it_is_split(case: str) -> None:
    data, wanted = CASES[case]
    assert text(data) == wanted
    for at in range(len(data)):
        assert text(data[:at], data[at:]) == wanted, at


def test_rows_that_have_left_the_screen_are_settled_and_those_on_it_can_change() -> None:
    lines = b"".join(b"%d\r\n" % n for n in range(100))
    assert text(lines, b"\x1b[3Ax\r\n") == "".join(f"{'x7' if n == 97 else n}\n" for n in range(99)) + "99"


@given(
    st.lists(
        st.sampled_from([b"word ", b"\r\n", b"\r", b"\x1b[A", b"\x1b[K", b"\x1b[31m", b"x" * 30]), max_size=60
    )
)
def test_splitting_changes_nothing(pieces: list[bytes]) -> None:
    assert text(*pieces) == text(b"".join(pieces))


@settings(max_examples=100)
@given(st.integers(0, 1 << 30), st.data())
def test_text_does_not_depend_on_where_a_stream_is_split(seed: int, data: st.DataObject) -> None:
    stream = "".join(generate(Random(seed), 25)).encode("utf-8", "surrogateescape")
    at = data.draw(st.integers(0, len(stream)))
    assert text(stream[:at], stream[at:]) == text(stream)
    assert text(*(stream[byte : byte + 1] for byte in range(len(stream)))) == text(stream)


@given(st.text(alphabet="a漢é\n", max_size=300), st.integers(0, 200))
def test_an_excerpt_has_whole_characters_and_keeps_its_limit(words: str, limit: int) -> None:
    with render(words.replace("\n", "\r\n").encode()) as output:
        excerpt, is_cut = output.excerpt(limit)
        size = output.size
    assert size == len(words.encode())
    assert "\ufffd" not in excerpt
    if not is_cut:
        assert excerpt == words
    else:
        head, _, rest = excerpt.partition("\n[… ")
        left_out, _, tail = rest.partition(" bytes left out …]\n")
        assert words.startswith(head)
        assert words.endswith(tail)
        assert len((head + tail).encode()) == size - int(left_out) <= limit


def test_past_the_cap_bytes_are_counted_and_the_end_is_kept() -> None:
    rows = [b"%099d\r\n" % n for n in range(5000)]
    with render(b"x" * 99 + b"\r\n", *rows, cap=10_000) as output:
        assert output.size == 500_100
        whole, is_cut = output.full_text()
        assert is_cut
        assert whole.startswith("x" * 99 + "\n")
        assert "[… 490100 bytes more were not kept …]" in whole
        assert output.excerpt(1000)[0].endswith(f"{4999:099d}\n")


ECHOES = {
    "a line": (b"echo a\r\na\r\n", "echo a", b"a\r\n"),
    "not yet": (b"echo a", "echo a", None),
    "broken by the editor": (b"echo aaaa\r\naaaa\r\nout", "echo aaaaaaaa", b"out"),
    "scrolled by the editor": (b"echo aaa\r<aaaa\r\nout", "echo " + "a" * 90, b"out"),
    "nothing echoed": (b"\r\nout", "secret", b"out"),
}


@pytest.mark.parametrize("case", ECHOES)
def test_output_begins_behind_the_echo(case: str) -> None:
    data, line, rest = ECHOES[case]
    at = find_echo_end(data, line)
    assert (data[at:] if at >= 0 else None) == rest


def test_offsets_count_what_is_missing_at_the_beginning_where_the_whole_length_is_known() -> None:
    output = CommandOutput(ScreenShape(80, 10), CAP)
    output.note_lost(90, "it is gone")
    output.feed(b"kept\r\n")
    output.finish()
    output.note_total(105)
    assert output.size == 105
    assert output.excerpt(100) == ("kept\n", True)
    assert output.slice(101, 3).text == "ept"
    part = output.slice(40, 3)
    assert (part.text, part.is_cut, part.note.startswith("Bytes 40 to 100 were not kept")) == (
        "kep",
        True,
        True,
    )
    assert output.read_from(0, 100).begin == output.read_from(100, 100).begin == 100
    output.close()


def test_offsets_count_what_is_here_where_another_part_is_missing() -> None:
    output = CommandOutput(ScreenShape(80, 10), CAP)
    output.feed(b"first\r\n")
    output.note_lost(90, "it is gone")
    output.feed(b"last\r\n")
    output.finish()
    output.note_total(105)
    assert output.size == len("first\nlast\n")
    output.close()
