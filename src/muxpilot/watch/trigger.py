"""A trigger, its type, and what the hooks of a type get.

A type is one row of the table in `triggers.py`. A hook is a function that returns the detail of the event if
the trigger fires, and None if it does not. `PaneWatch` and `TriggerMatcher` only call hooks; they know no
trigger by its name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from muxpilot.processes.state import ForegroundState
from muxpilot.records import record
from muxpilot.terminal.lines import LineBatch
from muxpilot.watch.line_matcher import FindsLine
from muxpilot.watch.probes import Probes
from muxpilot.watch.urls import HttpAddress

NEVER = float("inf")

# Events that end a watch without a trigger. Two have the name of the trigger that reports the same.
PANE_ENDED = "exit"
COMMAND_INCOMPLETE = "user_input"
TIMED_OUT = "timeout"


@record
class Ending:
    """The end of a command or, with `is_pane`, of the pane's program; `is_new` if it ran when we began."""

    status: int | None
    reason: str
    is_pane: bool = False
    is_new: bool = True

    def describe(self) -> str:
        """Return the detail of the event that reports it."""
        if self.status is None:
            return f"Process exited, its code is not known ({self.reason})"
        return f"Process exited with code {self.status} ({self.reason})"


@record
class ForegroundCheck:
    """What a look at the foreground program found, and how a command ended if the look shows that.

    `line` is the text before the cursor, and `line_before` what it was when the watch began. `has_moved_on`:
    a line has ended since, or another program is in the foreground. They are known where the watch has typed.
    """

    state: ForegroundState
    ending: Ending | None
    line: str = ""
    line_before: str = ""
    has_moved_on: bool = False


class Activity(Protocol):
    """When the pane printed something and when its screen changed, as the event loop counts."""

    @property
    def last_output(self) -> float: ...
    @property
    def last_change(self) -> float | None: ...


@record
class Trigger:
    """One thing to wait for; `word` is how the caller wrote it, and the name of the event."""

    word: str
    type: TriggerType
    number: float = 0.0
    text: str = ""
    matcher: FindsLine | None = None
    address: HttpAddress | None = None

    @property
    def name(self) -> str:
        return self.type.name

    @property
    def label(self) -> str:
        """Return the trigger for a log, without text that a caller wrote."""
        return f"{self.name}:<{len(self.text)}>" if self.type.is_free_text else self.word

    @property
    def reads_state(self) -> bool:
        """Return whether it depends on the foreground program."""
        return self.type.on_state is not None

    @property
    def looks_at_this_machine(self) -> bool:
        """Return whether it looks at ports, addresses or files here, wherever the pane is."""
        return self.type.probe is not None

    @property
    def outlives_pane(self) -> bool:
        """Return whether it may still fire when the pane's program has ended."""
        return self.type.probe is not None or self.type.on_clock is not None

    def check_output(self, batch: LineBatch) -> str | None:
        return self.type.on_output(batch) if self.type.on_output is not None else None

    def check_end(self, ending: Ending) -> str | None:
        return self.type.on_end(ending) if self.type.on_end is not None else None

    def check_prompt(self) -> str | None:
        return self.type.on_prompt() if self.type.on_prompt is not None else None

    def check_state(self, check: ForegroundCheck) -> str | None:
        return self.type.on_state(check) if self.type.on_state is not None else None


@record
class TriggerSource:
    """Which argument names a trigger, and the hosts that a url may name besides this machine."""

    argument: str
    hosts: tuple[str, ...]


# From a row, the trigger as written, the text after the colon, and where it was written, to a trigger.
ParseTrigger = Callable[["TriggerType", str, str, TriggerSource], Trigger]
# The time at which the clock alone makes a trigger fire, and the detail of the event.
Alarm = tuple[float, str]


@record
class TriggerType:
    """One row of the table: how a trigger is written, and the hooks that make it fire.

    `value` is how messages show its value. The value of a free-text trigger may hold commas.

    `describe_line` gets each line that the trigger's matcher fits, and returns the detail.
    `on_output` gets each chunk of output, split into lines.
    `on_end` gets the end of a command that the shell's marks report, and that of the pane's program.
    `on_state` gets each look at the foreground program.
    `on_prompt` is called when the marks of the shell report its next prompt.
    `on_clock` gets the pane's activity, and returns when the trigger fires unless there is more of it.
    `probe` waits for something on this machine that no pane prints; it gets the pane's folder.
    """

    name: str
    parse: ParseTrigger
    value: str = ""
    is_free_text: bool = False
    describe_line: Callable[[Trigger, str], str] | None = None
    on_output: Callable[[LineBatch], str | None] | None = None
    on_end: Callable[[Ending], str | None] | None = None
    on_state: Callable[[ForegroundCheck], str | None] | None = None
    on_prompt: Callable[[], str] | None = None
    on_clock: Callable[[Trigger, Activity], Alarm] | None = None
    probe: Callable[[Trigger, Probes, str], Awaitable[str]] | None = None

    @property
    def example(self) -> str:
        """Return how the trigger is written, with a placeholder for its value."""
        return f"{self.name}:{self.value}" if self.value else self.name
