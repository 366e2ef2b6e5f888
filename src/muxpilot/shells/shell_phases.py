"""The phases of a shell, as one table: phase and event, the next phase, and what is done.

How a shell goes through its phases while it runs commands:

    STARTING -- prompt --> PROMPT -- we type --> TYPED -- start --> RUNNING -- status --> FINISHED
                             ^                    |  |                 |                     |
                             |     CONTINUATION <-+  +-- echo ends ----+ (no start mark)     |
                             +------------------------- prompt -----------------------------+

An event is a mark that is news (`osc133.MarkOrder` drops all others), or what muxpilot does or finds out.
The next phase follows from the phase and the event alone. Whether a mark is news follows from its bytes and
the numbers before it. So a muxpilot that reads the same bytes again comes to the same phases.

Three things need a reason:

- A prompt mark while a line of ours is TYPED changes nothing: editors draw a prompt again whenever they like,
  with the same number. What ends the line is a status, which has a higher number.
- A person may press Enter just before our line arrives. If the echo before a start mark cannot be that of our
  line, the command may be the person's (START_OF_OTHER). Then its end is not yet ours: after its prompt
  (PROMPT_BEFORE_LINE) our line counts as TYPED still, until it starts, or nothing follows (LINE_WAS_OURS).
- After a gap in the stream the phase is UNKNOWN, because marks may be lost. The next mark shows the phase.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from muxpilot.records import FastEnum, record
from muxpilot.trace import Trace


class Phase(FastEnum):
    """What a shell does now, as far as its marks show."""

    STARTING = "starting"
    PROMPT = "prompt"
    TYPED = "typed"  # a line of ours was typed, and has not started yet
    RUNNING = "running"
    FINISHED = "finished"  # the status has arrived, the prompt follows
    CONTINUATION = "continuation"  # the shell waits for the rest of a command
    UNKNOWN = "unknown"


class ShellEvent(FastEnum):
    """What can happen to a shell; the values are the reasons in the log."""

    PROMPT = "a prompt mark"
    PROMPT_BEFORE_LINE = "a prompt mark; the command before may have been a person's"
    START = "a start mark"
    START_OF_OTHER = "a start mark, which may be of a person's line"
    STATUS = "a status mark"
    CONTINUATION = "a continuation mark"
    LINE_TYPED = "a line is typed"
    ECHO_ENDED = "the echo has ended"
    LINE_WAS_OURS = "no other command has started"
    LINE_NOT_TYPED = "the line was not typed"
    LINE_KEPT = "the shell keeps the line in its editor"
    LINE_REFUSED = "the shell refuses the line"
    LINE_REMOVED = "the line was removed before it ran"
    PROMPT_MISSING = "no prompt mark came after the status"
    KEY_ANSWERED = "the private key answered"
    GAP = "a gap in the stream"


class Action(FastEnum):
    """What is done when a shell changes its phase; `ShellStack` has a function for each."""

    NOTHING = "nothing"
    BEGIN_LINE = "begin a line"
    BEGIN_OUTPUT = "begin the output"
    BEGIN_UNSURE_OUTPUT = "begin output that may not be ours"
    BEGIN_PROMPT = "begin the prompt, end the command"
    BEGIN_PROMPT_OF_LINE = "begin the prompt, wait for our line"
    MOVE_PROMPT = "note where the prompt ends"
    LOSE_COMMAND = "begin the prompt, lose the command"
    END_OUTPUT = "end the output, take the status"
    STOP_OUTPUT = "end the output"
    FINISH_COMMAND = "end the command"


@record
class Transition:
    """One row: in these phases, this event leads to that phase."""

    event: ShellEvent
    before: tuple[Phase, ...]
    after: Phase
    action: Action = Action.NOTHING


class HasPhase(Protocol):
    """A shell, as this module needs it."""

    phase: Phase

    @property
    def trace(self) -> Trace: ...


_ALL = tuple(Phase)
_AT_REST = (Phase.STARTING, Phase.PROMPT, Phase.FINISHED, Phase.CONTINUATION, Phase.UNKNOWN)

TRANSITIONS = (
    Transition(ShellEvent.PROMPT, _AT_REST, Phase.PROMPT, Action.BEGIN_PROMPT),
    Transition(ShellEvent.PROMPT, (Phase.RUNNING,), Phase.PROMPT, Action.LOSE_COMMAND),
    Transition(ShellEvent.PROMPT, (Phase.TYPED,), Phase.TYPED, Action.MOVE_PROMPT),
    Transition(ShellEvent.PROMPT_BEFORE_LINE, (Phase.FINISHED,), Phase.TYPED, Action.BEGIN_PROMPT_OF_LINE),
    Transition(ShellEvent.START, _ALL, Phase.RUNNING, Action.BEGIN_OUTPUT),
    Transition(ShellEvent.START_OF_OTHER, (Phase.TYPED,), Phase.RUNNING, Action.BEGIN_UNSURE_OUTPUT),
    Transition(ShellEvent.STATUS, _ALL, Phase.FINISHED, Action.END_OUTPUT),
    Transition(ShellEvent.CONTINUATION, _ALL, Phase.CONTINUATION, Action.STOP_OUTPUT),
    Transition(ShellEvent.LINE_TYPED, _ALL, Phase.TYPED, Action.BEGIN_LINE),
    Transition(ShellEvent.ECHO_ENDED, (Phase.TYPED,), Phase.RUNNING),
    Transition(ShellEvent.LINE_WAS_OURS, (Phase.TYPED,), Phase.PROMPT, Action.FINISH_COMMAND),
    Transition(ShellEvent.LINE_NOT_TYPED, (Phase.TYPED,), Phase.PROMPT),
    Transition(ShellEvent.LINE_KEPT, (Phase.TYPED,), Phase.CONTINUATION),
    Transition(ShellEvent.LINE_REFUSED, (Phase.TYPED,), Phase.FINISHED),
    Transition(ShellEvent.LINE_REMOVED, (Phase.TYPED,), Phase.PROMPT, Action.FINISH_COMMAND),
    Transition(ShellEvent.PROMPT_MISSING, (Phase.FINISHED,), Phase.UNKNOWN, Action.FINISH_COMMAND),
    Transition(ShellEvent.KEY_ANSWERED, (Phase.STARTING, Phase.UNKNOWN, Phase.RUNNING), Phase.PROMPT),
    Transition(ShellEvent.GAP, _ALL, Phase.UNKNOWN),
)

_TABLE: Mapping[tuple[Phase, ShellEvent], Transition] = {
    (phase, row.event): row for row in TRANSITIONS for phase in row.before
}


def change_phase(shell: HasPhase, event: ShellEvent) -> Transition | None:
    """Change a shell's phase as the table says. Return the row; None if the event is impossible now."""
    row = _TABLE.get((shell.phase, event))
    if row is None:
        shell.trace.debug("event dropped", phase=shell.phase.value, why=event.value)
        return None
    if row.after is not shell.phase:
        if shell.trace.is_debug:
            before, after = shell.phase.value, row.after.value
            shell.trace.debug("phase changed", before=before, after=after, why=event.value)
        shell.phase = row.after
    return row
