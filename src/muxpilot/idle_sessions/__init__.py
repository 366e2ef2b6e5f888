"""Sessions that nothing uses any more: what still runs in a session, and the end of those with a limit."""

from __future__ import annotations

from muxpilot.idle_sessions.expiry import IdleSessions

__all__ = ["IdleSessions"]
