"""The echo of what was typed is known again, and nothing else is taken for it."""

from __future__ import annotations

import pytest

from muxpilot.watch.trigger_matcher import Sieve
from muxpilot.watch.triggers import parse
from muxpilot.watch.typed_echo import is_echo

TYPED = ["make test"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("$ make test", True),
        ("root@vm:~# make test", True),
        ("host% make test ", True),
        ("\u276f make test", True),
        (">>> make test", True),
        ("make test", False),
        ("$ make test error", False),
        ("running: make test", False),
        ("error while running make test", False),
        ("$make test", False),
        ("error", False),
        ("", False),
    ],
)
def test_a_prompt_with_the_text_is_its_echo(line: str, *, expected: bool) -> None:
    assert is_echo(line, TYPED) is expected


def test_of_several_lines_the_last_is_echoed_last() -> None:
    assert is_echo("> done", ["for x in 1\ndo echo\ndone\n"])
    assert not is_echo("$ ", [""])
    assert not is_echo("$ ", ["\n"])


def test_the_prompt_may_stand_there_already() -> None:
    sieve = Sieve(parse("error"), lambda: ["true error: x"], before="ready> ")
    assert sieve.feed(b"true error: x\r\n").hits == {}
    assert sieve.feed(b"true error: x\r\n").hits == {0: "Matched error pattern: true error: x"}


def test_a_line_behind_the_echo_is_found_in_the_same_chunk() -> None:
    sieve = Sieve(parse("error"), lambda: ["cat error: log"], before="$ ")
    data = b"cat error: log\r\n$ cat error: log\r\nerror: yes\r\n"
    assert sieve.feed(data).hits == {0: "Matched error pattern: error: yes"}
