"""A ticket lets a text be typed into a pane at most once, whichever process sends it.

Several muxpilots may send the same text: one wrote down that it is about to type, was stopped or killed, and
another took over. Only tmux knows what was typed, so tmux decides. The option `@muxpilot_typed` of the pane
holds the name of the last ticket that was used. A request compares it with the name that its sender expects,
sets its own name and types, all in one step. So a request that was sent before another one was carried out
is refused, however late it arrives: its sender must look at what has happened meanwhile.
"""

from __future__ import annotations

import re

from muxpilot.records import record
from muxpilot.tmux.connection.control import BracedCommands
from muxpilot.tmux.connection.protocol import CommandReply
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId

# What is printed instead of what was asked for, if the pane's program has ended.
DEAD = "dead"

_OPTION = "@muxpilot_typed"
_REFUSED = "ticket refused after "
_NAME = re.compile(r"[\w.-]*", re.ASCII)
# The same in tmux's own language.
_IS_NAME = f"#{{m/r:^[A-Za-z0-9_.-]*$,#{{{_OPTION}}}}}"


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
        """Return a command that uses the ticket and runs `commands`, or prints that it is refused.

        The ticket of a dead pane is refused too: tmux drops keys to it silently.
        """
        if not self.name or not all(_NAME.fullmatch(name) for name in (self.name, self.after)):
            raise ValueError("The name of a ticket is a word.")
        refuse = ("display-message", "-p", "-t", pane, f"#{{?pane_dead,{DEAD},{_REFUSED}#{{{_OPTION}}}}}")
        return (
            *("if-shell", "-F", "-t", pane, self._condition),
            BracedCommands.of(("set-option", "-p", "-t", pane, _OPTION, self.name), *commands),
            BracedCommands.of(refuse),
        )

    @property
    def _condition(self) -> str:
        """Return the format that is true if the ticket may be used.

        A value that is no name was set by a person. It counts as none, as in `parse_last_ticket`: else no
        ticket could ever be used in this pane again.
        """
        is_last = f"#{{==:#{{pane_dead}} #{{{_OPTION}}},0 {self.after}}}"
        return is_last if self.after else f"#{{?{_IS_NAME},{is_last},#{{==:#{{pane_dead}},0}}}}"


def last_ticket_command(pane: PaneId) -> Command:
    return ("display-message", "-p", "-t", pane, f"#{{{_OPTION}}}")


def parse_last_ticket(reply: CommandReply) -> str:
    """Return the name that `last_ticket_command` printed; empty if it is no name."""
    name = b"".join(reply.blocks[0].lines).decode("utf-8", "replace")
    return name if _NAME.fullmatch(name) else ""


def raise_if_refused(reply: CommandReply) -> None:
    """Raise TicketRefused if tmux has refused the ticket, with the name of the one that was used last.

    The name is empty if the option holds anything else: then a person has changed it.
    """
    for block in reply.blocks:
        for line in block.lines:
            if line.startswith(_REFUSED.encode()):
                last = line.decode("utf-8", "replace").removeprefix(_REFUSED)
                raise TicketRefused(last if _NAME.fullmatch(last) else "")
