"""Quoting and escaping, checked against small models of tmux's parser and format expansion."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.errors import BadInput
from muxpilot.tmux import quote

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
hostile = st.text(st.sampled_from("#[]{}(),:%;$~'\"\\-ab é\n\t\x1b"), max_size=20)
PIECE = re.compile(rb"'([^'\x00-\x1f\x7f]*)'|\"((?:\\[0-7]{3})*)\"")
BARE = re.compile(rb"[A-Za-z0-9_-]+")


def parse_like_tmux(line: bytes) -> bytes:
    """Parse one quoted word as tmux does. Anything but quoted pieces side by side is an error."""
    if BARE.fullmatch(line):
        return line
    word, position = b"", 0
    while position < len(line):
        found = PIECE.match(line, position)
        assert found is not None, line[position:]
        word += found[1] if found[1] is not None else bytes(int(o, 8) for o in found[2].split(b"\\")[1:])
        position = found.end()
    return word


def expand_like_tmux(text: str) -> str:
    """Expand a format as tmux does. Anything that is not escaped is an error."""

    def run(found: re.Match[str]) -> str:
        hashes, after = found[1], found[2]
        if after == "[":
            return found[0]
        assert len(hashes) % 2 == 0, f"{text!r} would be expanded"
        return hashes[::2] + after

    return re.sub(r"(#+)(.?)", run, text, flags=re.DOTALL)


@given(st.one_of(texts, hostile))
def test_a_control_word_is_read_as_it_was(text: str) -> None:
    assert parse_like_tmux(quote.quote_for_control_line(text)) == text.encode()


@given(st.binary().map(lambda data: data.replace(b"\0", b"")))
def test_any_bytes_make_one_control_word(data: bytes) -> None:
    line = quote.quote_for_control_line(data)
    assert parse_like_tmux(line) == data
    assert line == line.replace(b"\n", b"")


@given(st.binary().map(lambda data: data.replace(b"\0", b"").strip(b"\x80")))
def test_bytes_that_are_no_text_are_plain_ascii_on_the_line(data: bytes) -> None:
    assert quote.quote_for_control_line(data + b"\xff").isascii()


@pytest.mark.parametrize("word", [quote.quote_for_control_line, quote.quote_for_argv])
def test_a_nul_is_refused(word: object) -> None:
    assert callable(word)
    with pytest.raises(BadInput, match="NUL"):
        word("a\0b")


def test_an_empty_word_is_still_a_word() -> None:
    assert quote.quote_for_control_line("") == b"''"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a;", b"a\\;"),
        (";", b"\\;"),
        ("a\\;", b"a\\\\;"),
        (";;", b";\\;"),
        ("a;b", b"a;b"),
        ("", b""),
        ("é", "é".encode()),
    ],
)
def test_only_a_trailing_semicolon_is_escaped_in_argv(text: str, word: bytes) -> None:
    assert quote.quote_for_argv(text) == word


@pytest.mark.parametrize("data", [b"\xff", b"a\x80b", b"\xc3"])
def test_what_could_not_be_decoded_goes_out_as_it_was(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    assert quote.encode(text) == data
    assert parse_like_tmux(quote.quote_for_control_line(text)) == data


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(BadInput, match="position 1"):
        quote.encode("a\ud800")


@given(st.one_of(texts, hostile))
def test_a_literal_comes_out_of_a_format_as_it_went_in(text: str) -> None:
    assert expand_like_tmux(quote.escape_format(text)) == text


@given(hostile)
def test_a_literal_comes_out_of_the_clock_too(text: str) -> None:
    before = quote.escape_format(text, is_strftime=True)
    assert not re.search(r"(?<!%)(%%)*%(?!%)", before)
    assert expand_like_tmux(before.replace("%%", "%")) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("C#", "C##"),
        ("#(id)", "##(id)"),
        ("#{x}", "##{x}"),
        ("#[fg=red]", "#[fg=red]"),
        ("##[x", "##[x"),
        ("#a#[b", "##a#[b"),
        ("##", "####"),
        ("%H", "%H"),
    ],
)
def test_hashes_are_doubled_but_not_before_a_bracket(text: str, escaped: str) -> None:
    assert quote.escape_format(text) == escaped
