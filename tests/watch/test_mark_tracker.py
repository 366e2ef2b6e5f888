"""A watch reads the marks of shells, also of one that the pane's reader finds late."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from muxpilot.shells.osc133 import MarkScanner, ShellMark
from muxpilot.shells.pane_commands import PaneCommands
from muxpilot.shells.shell_stack import ShellStack
from muxpilot.trace import area
from muxpilot.watch.mark_tracker import MarkTracker

NONCE = "f" * 32


def mark(kind: str, value: str, serial: int) -> bytes:
    return f"\x1b]133;{kind};{value};{serial}.7;{NONCE}\x07".encode()


def test_the_end_of_a_command_is_seen_in_a_shell_that_the_reader_finds_after_the_watch_began() -> None:
    scanner = MarkScanner()
    scanner.nonces.add(NONCE)
    stack = ShellStack(scanner, trace=area("shells"))
    pane = SimpleNamespace(scanner=scanner)
    tracker = MarkTracker(cast("PaneCommands", SimpleNamespace(pane=pane, stack=stack)))
    for item in scanner.feed(mark("I", "bash", 0)):
        assert isinstance(item, ShellMark)
        stack.feed_mark(item)
    output = tracker.feed(mark("B", "", 1) + b"true\r\n" + mark("C", "", 1) + b"out\r\n" + mark("D", "3", 2))
    assert output.exit_code == 3
    assert [(piece.data, piece.is_typing) for piece in output.pieces if not piece.is_typing] == [
        (b"out\r\n", False)
    ]
