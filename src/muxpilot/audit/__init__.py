"""The audit log: one line of JSON for each call and its outcome."""

from __future__ import annotations

from muxpilot.audit.audit_log import AuditLog

__all__ = ["AuditLog"]
