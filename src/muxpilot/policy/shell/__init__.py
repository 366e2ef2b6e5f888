"""Find the statements that a shell would run in a text, with tree-sitter's bash grammar."""

from __future__ import annotations

from muxpilot.policy.shell.guess import hides_a_command, split_commands
from muxpilot.policy.shell.reader import Statement
from muxpilot.policy.shell.statements import ShellReading, read_statements, read_variable

__all__ = [
    "ShellReading",
    "Statement",
    "hides_a_command",
    "read_statements",
    "read_variable",
    "split_commands",
]
