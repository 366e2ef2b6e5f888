"""What was asked and what became of it, one line of JSON for each call."""

from __future__ import annotations

from muxpilot.audit.audit_log import Audit

__all__ = ["Audit"]
