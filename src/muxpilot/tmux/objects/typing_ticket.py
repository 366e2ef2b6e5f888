"""A ticket lets a text be typed into a pane at most once, whichever process sends it.

Several muxpilots may send the same text: one wrote down that it is about to type, was stopped or killed, and
another took over. Only tmux knows what was typed, so tmux decides. A variable of its global environment, one
for each pane, holds the name of the last ticket that was used. A request compares it with the name that its
sender expects, sets its own name and types, all in one step; otherwise it fails. So a request that was sent
before another one was carried out is refused, however late it arrives: its sender must look at what has
happened meanwhile.

The variable is hidden: no program gets it. An option of the pane would do as well, but tmux draws the screen
of every person again whenever an option is set.
"""

from __future__ import annotations

import re

from muxpilot.errors import MuxpilotError
from muxpilot.records import record
from muxpilot.tmux.connection.control_line import BracedCommands
from muxpilot.tmux.connection.protocol import CommandReply
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId

_NAME = re.compile(r"[\w.-]*", re.ASCII)
# The same in tmux's own language, for a variable.
_IS_NAME = "#{{m/r:^[A-Za-z0-9_.-]*$,#{{{}}}}}"
# No variable has this name, so this command fails, and tmux answers with an error.
_MISSING = "muxpilot-ticket-refused"
_REFUSE = BracedCommands.of(("show-environment", "-g", _MISSING))


class TicketRefused(Exception):
    """tmux has refused a ticket; `last` is the name of the ticket that was used last."""

    def __init__(self, last: str) -> None:
        super().__init__(last)
        self.last = last


@record
class TypingTicket:
    """The right to type one text. `after` is the ticket that must be the last one, `name` the new one."""

    name: str
    after: str = ""

    def guard(self, pane: PaneId, *commands: Command) -> Command:
        """Return a command that uses the ticket and runs `commands`, or fails if the ticket is refused.

        The ticket of a dead pane is refused too: tmux drops keys to it silently.
        """
        if not self.name or not all(_NAME.fullmatch(name) for name in (self.name, self.after)):
            raise ValueError("The name of a ticket is a word.")
        variable = _variable_of(pane)
        return (
            *("if-shell", "-F", "-t", pane, self._condition(variable)),
            BracedCommands.of(("set-environment", "-g", "-h", variable, self.name), *commands),
            _REFUSE,
        )

    def _condition(self, variable: str) -> str:
        """Return the format that is true if the ticket may be used.

        A value that is no name was set by a person. It counts as none, as in `parse_last_ticket`: else no
        ticket could ever be used in this pane again.
        """
        is_last = f"#{{==:#{{pane_dead}} #{{{variable}}},0 {self.after}}}"
        if self.after:
            return is_last
        return f"#{{?{_IS_NAME.format(variable)},{is_last},#{{==:#{{pane_dead}},0}}}}"


def _variable_of(pane: PaneId) -> str:
    return f"muxpilot_typed_{pane.removeprefix('%')}"


def last_ticket_command(pane: PaneId) -> Command:
    """Return the command that prints what `parse_last_ticket` takes."""
    return ("display-message", "-p", "-t", pane, f"#{{pane_dead}} #{{{_variable_of(pane)}}}")


def forget_command(pane: PaneId) -> Command:
    """Return the command that removes the variable of a pane that has ended."""
    return ("set-environment", "-g", "-u", _variable_of(pane))


def parse_last_ticket(reply: CommandReply) -> tuple[bool, str]:
    """Return whether the pane is dead, and the name of the ticket that was used last.

    The name is empty if none was used, or if a person has set the variable to something that is no name.
    """
    is_dead, _, name = b"".join(reply.blocks[0].lines).decode("utf-8", "replace").partition(" ")
    return is_dead == "1", name if _NAME.fullmatch(name) else ""


def is_refusal(error: MuxpilotError) -> bool:
    """Return whether an error is that of a ticket that tmux has refused."""
    return _MISSING in (error.tmux_message or "")
