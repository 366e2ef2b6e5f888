"""Checks of names, titles, folders, variables and sizes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.errors import BadInput
from muxpilot.tmux.objects import validate

GOOD = ("dev", "a b", "-x", "C#", "#(touch F)", "%H", "a.b:c", "é世👩‍👩‍👧", "'\"\\$;", "x" * 256)
CONTROLS = ("\0", "\n", "\t", "\r", "\x1b[31m", "\x7f", "\x85", "\udcff", "\ud800")


@pytest.mark.parametrize("text", GOOD)
def test_a_name_is_kept_as_it_is(text: str) -> None:
    assert validate.validate_name("name", text) == text
    assert validate.validate_title("title", text) == text


@pytest.mark.parametrize("text", CONTROLS)
def test_a_control_character_is_refused(text: str) -> None:
    for check in (validate.validate_name, validate.validate_title):
        with pytest.raises(BadInput, match="control character"):
            check("name", f"a{text}b")


def test_a_name_is_not_empty_but_a_title_may_be() -> None:
    assert validate.validate_title("title", "") == ""
    with pytest.raises(BadInput, match="The window name is empty"):
        validate.validate_name("window name", "")


def test_a_name_has_an_end() -> None:
    with pytest.raises(BadInput, match="longer than 256"):
        validate.validate_name("name", "x" * 257)


@given(st.text())
def test_what_is_printable_may_be_a_title(text: str) -> None:
    shown = validate.keep_printable(text)
    assert validate.validate_title("title", shown) == shown
    assert shown.isprintable()


@pytest.mark.parametrize(
    ("text", "version", "stored"),
    [
        ("a.b:c", (3, 2), "a_b_c"),
        ("a.b:c", (3, 6), "a_b_c"),
        ("a.b:c", (3, 7), "a.b:c"),
        ("a\\b", (3, 3), "a\\\\b"),
        ("a\\b", (3, 5), "a\\\\b"),
        ("a\\b:", (3, 7), "a\\\\b:"),
        ("$HOME ${x} $_ $1 $", (3, 3), "\\$HOME \\${x} \\$_ $1 $"),
        ("$HOME ${x}", (3, 4), "\\$HOME \\${x}"),
        ("$HOME ${x}", (3, 5), "$HOME ${x}"),
    ],
)
def test_the_name_that_tmux_keeps(text: str, version: tuple[int, int], stored: str) -> None:
    assert validate.stored_session_name(text, version) == stored


def test_a_folder_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    odd = tmp_path / "a\n#{x};"
    odd.mkdir()
    assert validate.validate_folder("~") == str(tmp_path)
    assert validate.validate_folder("a\n#{x};") == str(odd)
    assert validate.validate_folder(".") == os.getcwd()


@pytest.mark.parametrize("path", ["/no/such", "/etc/passwd", "a\0b", "/tmp\0"])
def test_what_is_no_folder_is_refused(path: str) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        validate.validate_folder(path)


def test_variables_become_flags() -> None:
    assert validate.environment_flags({"A": "b=c;", "_X1": ""}) == ("-e", "A=b=c;", "-e", "_X1=")


@pytest.mark.parametrize("key", ["", "1A", "A=B", "A B", "-e", "É", "A\n"])
def test_what_is_no_variable_is_refused(key: str) -> None:
    with pytest.raises(BadInput, match="is not the name of a variable"):
        validate.environment_flags({key: "x"})


@pytest.mark.parametrize("cells", [1, 80, 10_000])
def test_a_size_is_kept(cells: int) -> None:
    assert validate.validate_size("width", cells) == cells


@pytest.mark.parametrize("cells", [0, -1, 10_001, 10**9])
def test_an_absurd_size_is_refused(cells: int) -> None:
    with pytest.raises(BadInput, match="Use 1 to 10000"):
        validate.validate_size("width", cells)
