"""Prompts and questions that are recognized by the text on the screen."""

from __future__ import annotations

import pytest

from muxpilot.terminal import prompt_signs


@pytest.mark.parametrize(
    ("line", "is_shell", "is_classic", "is_remote", "is_before_text", "is_question"),
    [
        ("user@host:~$ ", True, True, True, True, True),
        ("root#", True, True, False, False, True),
        ("~ \u276f ", True, False, True, True, True),
        ("main \u2713 ", True, False, True, False, True),
        (">>> ", True, False, False, True, True),
        ("50%", False, True, False, False, True),
        ("Password: ", False, False, False, False, True),
        ("Continue? [y/N] ", False, False, False, False, True),
        ("plain text", False, False, False, False, False),
        ("", False, False, False, False, False),
    ],
)
def test_a_line_looks_like_a_prompt_or_a_question(
    line: str, *, is_shell: bool, is_classic: bool, is_remote: bool, is_before_text: bool, is_question: bool
) -> None:
    assert prompt_signs.looks_like_shell_prompt(line) is is_shell
    assert prompt_signs.looks_like_classic_shell_prompt(line) is is_classic
    assert prompt_signs.looks_like_remote_shell_prompt(line) is is_remote
    assert prompt_signs.ends_with_prompt_and_blank(line) is is_before_text
    assert prompt_signs.looks_like_question(line) is is_question


def test_the_text_after_a_prompt_is_what_was_typed() -> None:
    assert prompt_signs.text_typed_after(b"$ ", b"ls -x\x08l") == "ls -l"
    assert prompt_signs.text_typed_after(b"$ ", b"") == ""


@pytest.mark.parametrize(
    ("line", "wants_line"),
    [
        ("Name? ", True),
        ("package name: ", True),
        ("press any key: ", False),
        ("Continue? [y/N] ", False),
        ("? Which one? (Use arrow keys)", False),
        ("? Which ones? (Use arrow keys to move, <space> to select)", False),
        ("? Which ones? (Press <space> to select, <a> to toggle all)", False),
        ("API keys: ", True),
    ],
)
def test_a_program_that_reads_keys_wants_a_line_or_a_key(line: str, *, wants_line: bool) -> None:
    assert prompt_signs.looks_like_line_prompt(line) is wants_line
