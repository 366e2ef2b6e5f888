"""The life of a command as one table: status and event give the next status and an action.

The theory. A command waits in the queue of its pane until a shell takes it, runs there, and ends once. An
event that has no row changes nothing: a command that has ended stays as it is, whatever arrives later.

    queued --BEGIN--> running --SUCCEED--> completed      exit code 0
      |  <--REQUEUE--    |                                tmux refused to type it
      |                  |------FAIL-----> failed         another exit code
      |                  |------STOP-----> stopped        by C-z: the job lives, and its shell is free again
      |                  |------INTERRUPT> cancelled      an exit code other than 0 after cancel-command
      |                  +------LOSE-----> lost           nothing says how it ended
      +--WITHDRAW--> cancelled                            it was never typed, by the caller's wish
      +--LOSE------> lost                                 it was never typed: its shell or its pane has gone

`Command` in `command.py` is the only place that applies the table, and it logs every transition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from muxpilot.records import FastEnum


class CommandStatus(FastEnum):
    """How far a command is; the values are words of the answers of tools."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    LOST = "lost"

    is_final: bool

    def __init__(self, word: str) -> None:
        self.is_final = word not in ("queued", "running")  # an attribute: it is asked for often


class CommandEvent(FastEnum):
    """What happens to a command."""

    BEGIN = "its first line is about to be typed"
    REQUEUE = "its first line was not typed"
    SUCCEED = "its shell reports status 0"
    FAIL = "its shell reports another status"
    STOP = "its shell reports a stopped job"
    INTERRUPT = "it ends without success after cancel-command"
    WITHDRAW = "it is taken out of the queue"
    LOSE = "its end cannot be known, or it can never be typed"


class CommandAction(FastEnum):
    """What is done with a transition."""

    START = "forget why it waited"
    END = "settle its output and note the time"


class StatusChange(NamedTuple):
    status: CommandStatus
    action: CommandAction


_START, _END = CommandAction.START, CommandAction.END

TRANSITIONS: Mapping[tuple[CommandStatus, CommandEvent], StatusChange] = {
    (CommandStatus.QUEUED, CommandEvent.BEGIN): StatusChange(CommandStatus.RUNNING, _START),
    (CommandStatus.QUEUED, CommandEvent.WITHDRAW): StatusChange(CommandStatus.CANCELLED, _END),
    (CommandStatus.QUEUED, CommandEvent.LOSE): StatusChange(CommandStatus.LOST, _END),
    (CommandStatus.RUNNING, CommandEvent.REQUEUE): StatusChange(CommandStatus.QUEUED, _START),
    (CommandStatus.RUNNING, CommandEvent.SUCCEED): StatusChange(CommandStatus.COMPLETED, _END),
    (CommandStatus.RUNNING, CommandEvent.FAIL): StatusChange(CommandStatus.FAILED, _END),
    (CommandStatus.RUNNING, CommandEvent.STOP): StatusChange(CommandStatus.STOPPED, _END),
    (CommandStatus.RUNNING, CommandEvent.INTERRUPT): StatusChange(CommandStatus.CANCELLED, _END),
    (CommandStatus.RUNNING, CommandEvent.LOSE): StatusChange(CommandStatus.LOST, _END),
}
