"""Presets of `[security]`: which keys each one sets. A key that the file sets itself wins over the preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from muxpilot.config.model import PRESET_NAMES, SecuritySettings
from muxpilot.records import record


@record
class Preset:
    """One preset. `meaning` is what `muxpilot doctor` prints, a line each."""

    meaning: tuple[str, ...]
    # Keys of `[security]` with their values.
    values: Mapping[str, Any] = field(default_factory=dict)
    # RE2 expressions: a command that matches one is put to a person.
    asked_commands: tuple[str, ...] = ()


_CHANGING_KEYS = (
    *("allow_execute_command", "allow_raw_mode", "allow_send_keys", "allow_kill"),
    *("allow_create", "allow_split", "allow_rename", "allow_move", "allow_foreign"),
)

PRESETS: Mapping[str, Preset] = {
    "open": Preset(
        (
            "agents may use every pane, also those of people",
            "nothing asks a person first",
            "secrets that panes show are not redacted",
        )
    ),
    "guarded": Preset(
        (
            "panes and sessions of people can be read, not typed into, changed or killed",
            "kills ask a person first",
            "commands with sudo ask a person first",
            "token shapes and private keys are redacted in what agents see",
            "everything else is allowed in panes that muxpilot created",
        ),
        {"allow_foreign": False, "ask": ("@kill",), "redact": True},
        (r"(?:^|[\s/])sudo(?:\s|$)",),
    ),
    "read-only": Preset(
        (
            "agents can list, read and watch",
            "no tool types, creates, changes or kills anything",
        ),
        dict.fromkeys(_CHANGING_KEYS, False),
    ),
}
assert tuple(PRESETS) == PRESET_NAMES


def apply_preset(security: SecuritySettings, given: Mapping[str, int]) -> SecuritySettings:
    """Return the settings with the values of their preset. `given` has the keys that the file sets."""
    values = PRESETS[security.preset].values
    return replace(
        security, **{name: value for name, value in values.items() if f"security.{name}" not in given}
    )
