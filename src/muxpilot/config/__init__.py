"""What a person can set: a TOML file, flags and environment become one frozen set of settings."""

from __future__ import annotations

from muxpilot.config.flags import settings
from muxpilot.config.model import (
    SHELL_TYPES,
    Audit,
    CommandFilter,
    Origin,
    Search,
    Security,
    ServerEntry,
    Settings,
    ToolFilter,
    Tracking,
    Watch,
)

__all__ = [
    "SHELL_TYPES",
    "Audit",
    "CommandFilter",
    "Origin",
    "Search",
    "Security",
    "ServerEntry",
    "Settings",
    "ToolFilter",
    "Tracking",
    "Watch",
    "settings",
]
