"""Guesses at text that the grammar cannot read, in linear time, and programs that run others."""

from __future__ import annotations

import time

import pytest

from muxpilot.patterns import compile_regex
from muxpilot.policy.commands import CommandRule
from muxpilot.policy.shell import split_commands

DENY_RM = CommandRule(is_allowlist=False, patterns=(compile_regex(r"^rm\b", "patterns"),))
_LIMIT_S = 2.0


@pytest.mark.parametrize(
    "text",
    [
        "r$()m x",
        'r"$()"m x',
        "(r$()m x)",
        "A=1 r$()m x",
        "if true; then r$()m x; fi",
        "command r$()m x",
        "r${y}m x; echo $()",
        "`echo rm` x; echo $()",
        "/bin/r? x; echo $()",
        'r"$@"m x; echo $()',
        "r$!m x; echo $()",
        "y=1 ``rm x",
        "2>&1 r$()m x",
        "2>&1 rm x; echo $()",
        ">|o rm x; echo $()",
        "A=>o rm x; echo $()",
        "/bin/r[m] x; echo $()",
        "ls; rm - x (",
        "ls; rm time x (",
        """python -c 'import os; os.system("rm - x")'""",
    ],
)
def test_a_name_that_is_put_together_does_not_hide_in_what_cannot_be_read(text: str) -> None:
    assert DENY_RM.find_denial(text, is_typed=True) is not None


@pytest.mark.parametrize(
    "text", ["print(x[0])", "d = {k: v[0] for k in (1, 2)}", "it costs $5 (or so", "a = (1,"]
)
def test_text_for_other_programs_passes(text: str) -> None:
    assert DENY_RM.find_denial(text, is_typed=True) is None


def test_only_what_stands_before_a_command_is_taken_away() -> None:
    assert list(split_commands("A=1 if time rm if x")) == ["rm if x"]
    assert list(split_commands("for x")) == ["for x"]


@pytest.mark.parametrize(
    "text",
    [
        " " * 19_000 + "(",
        "\n" * 19_000 + "(",
        "if  " * 4_000 + "(",
        ">> " * 150 + "(",
        "s" * 19_000 + "(",
        "python -c \"'" + "\\\\'" * 3_000 + '"',
    ],
)
def test_no_text_holds_up_the_judgement(text: str) -> None:
    began = time.process_time()
    DENY_RM.find_denial(text, is_typed=True)
    assert time.process_time() - began < _LIMIT_S


@pytest.mark.parametrize(
    "text",
    [
        "fd . -X rm",
        "fdfind -e o --exec-batch sh -c 'rm x'",
        "rg --pre rm x",
        "fzf --bind 'enter:execute(rm {})'",
        "bat --pager 'rm x' f",
        "MANPAGER='rm x' man ls",
        "git filter-branch --tree-filter 'rm x' HEAD",
        "docker exec -it c rm x",
        "docker run --rm u env rm x",
        "docker compose exec web sh -c 'rm x'",
        "kubectl exec p -- rm x",
    ],
)
def test_what_a_program_is_given_to_run_is_judged(text: str) -> None:
    assert DENY_RM.find_denial(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "fd rm",
        "rg rm src",
        "docker rm c",
        "docker run --rm -it u bash",
        "docker exec -it c bash -c 'ls'",
        "kubectl exec -it p -- bash",
        "fzf --preview 'cat {}'",
    ],
)
def test_programs_that_run_nothing_that_is_denied_pass(text: str) -> None:
    assert DENY_RM.find_denial(text) is None
