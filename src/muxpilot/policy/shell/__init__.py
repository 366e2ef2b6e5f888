"""Which statements a shell would run, read from a text by a real grammar."""

from __future__ import annotations

from muxpilot.policy.shell.loose import pieces
from muxpilot.policy.shell.statements import Reading, Statement, read, read_variable

__all__ = ["Reading", "Statement", "pieces", "read", "read_variable"]
