"""Which statements a shell would run, read from a text by a real grammar."""

from __future__ import annotations

from muxpilot.policy.shell.guess import hides_a_command, pieces
from muxpilot.policy.shell.reader import Statement
from muxpilot.policy.shell.statements import Reading, read, read_variable

__all__ = ["Reading", "Statement", "hides_a_command", "pieces", "read", "read_variable"]
