"""How long muxpilot waits, and for what: every timing constant of shells, REPLs and watches.

Each field says what the number protects from. Tests pass records with smaller numbers.
"""

from __future__ import annotations

from muxpilot.records import record


@record
class ShellTiming:
    """Times of commands in shells (`shells/`), in seconds where the name does not say otherwise."""


@record
class ReplTiming:
    """Times of dialogues with programs (`repl/`), in seconds."""


@record
class WatchTiming:
    """Times of watches (`watch/`), in seconds."""


@record
class Timing:
    """All of them; `app` builds one and gives each subsystem its part."""

    shells: ShellTiming = ShellTiming()
    repl: ReplTiming = ReplTiming()
    watch: WatchTiming = WatchTiming()
