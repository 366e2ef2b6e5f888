"""The echo of typed text is recognized, and nothing else is taken for it."""

from __future__ import annotations

import pytest

from muxpilot.watch.trigger_matcher import TriggerMatcher
from muxpilot.watch.triggers import parse_triggers
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
    matcher = TriggerMatcher(parse_triggers("error"), lambda: ["true error: x"], line_before="ready> ")
    assert matcher.feed(b"true error: x\r\n").fired == {}
    assert matcher.feed(b"true error: x\r\n").fired == {0: "Matched error pattern: true error: x"}


def test_a_line_behind_the_echo_is_found_in_the_same_chunk() -> None:
    matcher = TriggerMatcher(parse_triggers("error"), lambda: ["cat error: log"], line_before="$ ")
    data = b"cat error: log\r\n$ cat error: log\r\nerror: yes\r\n"
    assert matcher.feed(data).fired == {0: "Matched error pattern: error: yes"}
