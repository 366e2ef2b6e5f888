"""The settings: a TOML file, environment variables and flags become one record."""

from __future__ import annotations

from muxpilot.config.flags import load_settings
from muxpilot.config.model import (
    SHELL_TYPES,
    AuditSettings,
    CommandFilter,
    Origin,
    SearchSettings,
    SecuritySettings,
    ServerEntry,
    Settings,
    ToolFilter,
    TrackingSettings,
    WatchSettings,
)

__all__ = [
    "SHELL_TYPES",
    "AuditSettings",
    "CommandFilter",
    "Origin",
    "SearchSettings",
    "SecuritySettings",
    "ServerEntry",
    "Settings",
    "ToolFilter",
    "TrackingSettings",
    "WatchSettings",
    "load_settings",
]
