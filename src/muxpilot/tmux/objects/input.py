"""Input: send text and keys to a pane.

Each call is one control line, which tmux runs as a unit: keys of other calls or of people cannot come between
a text and its Enter. A pane in copy mode leaves it first, because the mode would take the keys. A pane whose
program has ended is refused: tmux drops keys to it silently, and tmux 3.3a crashes, with all its sessions,
when text is pasted into it.
"""

from __future__ import annotations

import re
import secrets
from collections import deque
from collections.abc import Sequence

from muxpilot.errors import BadInput, MuxpilotError, NotFound, PaneDead, Unavailable
from muxpilot.records import record
from muxpilot.terminal.escapes import CLEAR_SCREEN
from muxpilot.terminal.mouse import MouseEncoding
from muxpilot.tmux.connection import reply_safety
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.connection.control_line import BracedCommands
from muxpilot.tmux.connection.protocol import CommandReply
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.objects import keys as key_names
from muxpilot.tmux.objects import tty_write
from muxpilot.tmux.objects.buffers import Buffers
from muxpilot.tmux.objects.panes import Panes
from muxpilot.tmux.objects.typing_ticket import (
    TicketRefused,
    TypingTicket,
    forget_command,
    is_refusal,
    last_ticket_command,
    parse_last_ticket,
)
from muxpilot.tmux.quote import SecretWord, encode
from muxpilot.tmux.version import PASTES_AS_CARETS

_MOST_REPEATS = 1000
# What is printed if the pane's program has ended.
_DEAD = "dead"
# Longer text goes through a buffer: that is faster in tmux, and a buffer may hold any bytes.
_LONGEST_TYPED = 1024
_NOT_TYPED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# Limits of the memory of typed texts: texts per pane, length of a text, and panes.
_TEXTS_KEPT, _LONGEST_KEPT, _PANES_KEPT = 8, 4096, 200

# The option of the server that says how many commands and messages it keeps.
_MESSAGE_LIMIT = "message-limit"

_MOUSE_FIELDS = (
    *("pane_width", "pane_height", "mouse_any_flag", "mouse_sgr_flag", "mouse_utf8_flag"),
    *("mouse_button_flag", "mouse_all_flag"),
)


@record
class MouseMode:
    """The size of a pane, and which mouse events its program wants: none, or clicks, or motion too."""

    width: int
    height: int
    is_on: bool
    has_motion: bool
    encoding: MouseEncoding


class Input:
    """Types into the panes of one server, and remembers the last typed texts of each pane."""

    def __init__(self, connection: Connection, buffers: Buffers, panes: Panes) -> None:
        self._connection = connection
        self._buffers = buffers
        self._panes = panes
        self._typed: dict[PaneId, deque[str]] = {}
        # All panes that we have sent input to: what runs in them may be an agent's.
        self.panes_typed_into: set[PaneId] = set()
        self._trace = connection.endpoint.trace

    def recently_typed(self, pane: PaneId) -> Sequence[str]:
        """Return the last texts that we typed into a pane, to recognize their echo in its output."""
        return tuple(self._typed.get(pane, ()))

    async def type(
        self,
        pane: PaneId,
        text: str,
        *,
        enter: bool = False,
        repeat: int = 1,
        ticket: TypingTicket | None = None,
    ) -> None:
        """Type a text exactly as it is; `enter` presses Enter after it.

        With a ticket, raise TicketRefused if another process has used it already.
        """
        self._remember_typed(pane, text)
        if len(text) * repeat > _LONGEST_TYPED or _NOT_TYPED.search(text):
            whole = text * _validate_repeat(repeat)
            await self._paste(pane, whole, enter=enter, bracketed=False, ticket=ticket)
            return
        typing: list[Command] = [("send-keys", "-t", pane, "-l", "--", text)] if text else []
        press_enter: list[Command] = [("send-keys", "-t", pane, "Enter")] if enter else []
        keys = [*typing * _validate_repeat(repeat), *press_enter]
        self.panes_typed_into.add(pane)
        if ticket is not None:
            await self._run_unless_dead(pane, *keys, ticket=ticket)
        else:
            await self._send_keys(pane, *keys)

    async def type_secret(self, pane: PaneId, secret: str) -> None:
        """Type what a person has entered, and Enter. It is remembered nowhere.

        tmux keeps the last commands with their arguments, for `show-messages`. A limit of 0 empties that log,
        and this command never stays in it.
        """
        reply = await self._connection.run(("show-options", "-sv", _MESSAGE_LIMIT), repeatable=True)
        restore: Command = ("set-option", "-s", _MESSAGE_LIMIT, reply.first_line)
        typing = ("send-keys", "-t", pane, "-l", "--", SecretWord(secret))
        try:
            await self._send_keys(
                pane,
                ("set-option", "-s", _MESSAGE_LIMIT, "0"),
                typing,
                ("send-keys", "-t", pane, "Enter"),
                restore,
            )
        except MuxpilotError:
            await self._connection.run(restore)  # tmux ends a line at the first command that fails
            raise

    async def last_ticket(self, pane: PaneId) -> str:
        """Return the name of the ticket that was used last in a pane; empty if none was."""
        return (await self._ask_last_ticket(pane))[1]

    async def _ask_last_ticket(self, pane: PaneId) -> tuple[bool, str]:
        return parse_last_ticket(await self._connection.run(last_ticket_command(pane), repeatable=True))

    async def forget_tickets(self, pane: PaneId) -> None:
        """Remove what tmux remembers of a pane that has ended."""
        await self._connection.run(forget_command(pane))

    async def use_ticket(self, pane: PaneId, ticket: TypingTicket, *commands: Command) -> None:
        """Use a ticket and run commands, so that requests which were sent before are refused.

        Raise TicketRefused if another process has used a ticket, and PaneDead if the program has ended.
        """
        is_silent = reply_safety.prints_no_foreign_text(commands)
        try:
            await self._connection.run(
                ticket.guard(pane, *commands), silent_blocks=2 + len(commands) if is_silent else 0
            )
        except MuxpilotError as error:
            if not is_refusal(error):
                raise
            is_dead, last = await self._ask_last_ticket(pane)
            self._raise_if_dead(pane, is_dead=is_dead)
            raise TicketRefused(last) from None

    async def press(self, pane: PaneId, keys: str, *, enter: bool = False, repeat: int = 1) -> None:
        """Press keys by their tmux names, several separated by blanks."""
        words = key_names.parse_keys(keys) * _validate_repeat(repeat) + (("Enter",) if enter else ())
        self.panes_typed_into.add(pane)
        await self._send_keys(pane, ("send-keys", "-t", pane, "--", *words))

    async def paste(self, pane: PaneId, text: str, *, enter: bool = False) -> int:
        """Paste a text byte for byte, bracketed if the program asked for that. Return its length in bytes."""
        self._remember_typed(pane, text)
        return await self._paste(pane, text, enter=enter, bracketed=True)

    async def send_bytes(self, pane: PaneId, data: bytes, *, ticket: TypingTicket | None = None) -> None:
        """Write raw bytes to the pane's program."""
        if not data:
            raise BadInput("No bytes were given.", "Give at least one byte.")
        await self._paste(pane, data, enter=False, bracketed=False, ticket=ticket)

    async def mouse_mode(self, pane: PaneId) -> MouseMode:
        """Return which mouse events the program of a pane has asked for."""
        ask = " ".join(f"#{{{name}}}" for name in _MOUSE_FIELDS)
        try:
            reply = await self._connection.run(("display-message", "-p", "-t", pane, ask), repeatable=True)
        except NotFound:
            raise NotFound("pane", pane) from None
        numbers = [int(word) for word in reply.first_line.split()]
        if len(numbers) != len(_MOUSE_FIELDS):  # for a pane that is gone, tmux prints empty fields
            raise NotFound("pane", pane)
        width, height, is_on, *flags = numbers
        is_sgr, is_utf8, *motion = map(bool, flags)
        encoding = MouseEncoding.SGR if is_sgr else MouseEncoding.UTF8 if is_utf8 else MouseEncoding.DEFAULT
        return MouseMode(width, height, is_on=bool(is_on), has_motion=any(motion), encoding=encoding)

    async def show_text(self, pane: PaneId, text: str, *, clear: bool = False) -> None:
        """Show a text in a pane as if its program had printed it. It is never typed or run."""
        row = await self._panes.get(pane)
        if row.is_dead:
            raise PaneDead(f"The program of pane {pane!r} has ended.")
        lines = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", text).replace("\n", "\r\n")
        begin = CLEAR_SCREEN if clear else "\r\n" if row.cursor_column else ""
        shown = begin + lines + "\r\n"
        self._trace.debug(
            "text shown in pane", pane=pane, chars=len(shown), is_remote=row.remote_shell is not None
        )
        if row.remote_shell is not None:
            await tty_write.write_remote(row.remote_shell, row.tty, shown)
        else:
            await tty_write.write_local(row.tty, shown.encode("utf-8", "replace"))

    def _remember_typed(self, pane: PaneId, text: str) -> None:
        kept = self._typed.pop(pane, None) or deque(maxlen=_TEXTS_KEPT)
        if len(text) <= _LONGEST_KEPT:
            kept.append(text)
        self._typed[pane] = kept
        while len(self._typed) > _PANES_KEPT:
            del self._typed[next(iter(self._typed))]

    async def _paste(
        self,
        pane: PaneId,
        text: str | bytes,
        *,
        enter: bool,
        bracketed: bool,
        ticket: TypingTicket | None = None,
    ) -> int:
        """Paste through a private buffer. `-r` keeps line feeds as they are, `-d` deletes the buffer."""
        data = encode(text)
        self.panes_typed_into.add(pane)
        name = f"muxpilot-{secrets.token_hex(8)}"
        press_enter: list[Command] = [("send-keys", "-t", pane, "Enter")] if enter else []
        if not data:
            await self._run_unless_dead(pane, *press_enter)
            return 0
        brackets = ("-p",) if bracketed else ()
        try:
            await self._buffers.set(name, data)
            exact = ("-S",) if await self._connection.server_version() >= PASTES_AS_CARETS else ()
            paste = ("paste-buffer", "-d", "-r", *exact, *brackets, "-b", name, "-t", pane)
            async with self._connection.lock_for_buffer_change():
                await self._run_unless_dead(pane, paste, *press_enter, ticket=ticket)
        except BaseException as error:
            discarding = self._buffers.discard(name)
            if isinstance(error, MuxpilotError | TicketRefused) and not isinstance(error, Unavailable):
                await discarding
            raise
        self._trace.debug("text pasted", pane=pane, bytes=len(data), bracketed=bracketed, enter=enter)
        return len(data)

    async def _send_keys(self, pane: PaneId, *keys: Command) -> None:
        """Send keys, then ask whether the pane is dead: a dead pane drops keys silently."""
        reply = await self._connection.run(_leave_mode(pane), *keys, _report_if_dead(pane))
        self._raise_if_dead(pane, is_dead=_says_dead(reply))

    async def _run_unless_dead(
        self, pane: PaneId, *commands: Command, ticket: TypingTicket | None = None
    ) -> None:
        """Run commands only if the pane is not dead; a paste into a dead pane crashes tmux 3.3a."""
        if not commands:
            return
        if ticket is not None:
            await self.use_ticket(pane, ticket, _leave_mode(pane), *commands)
            return
        report_dead = BracedCommands.of(("display-message", "-p", _DEAD))
        act = BracedCommands.of(_leave_mode(pane), *commands)
        reply = await self._connection.run(("if-shell", "-F", "-t", pane, "#{pane_dead}", report_dead, act))
        self._raise_if_dead(pane, is_dead=_says_dead(reply))

    def _raise_if_dead(self, pane: PaneId, *, is_dead: bool) -> None:
        if is_dead:
            raise PaneDead(f"The program of pane {pane!r} has ended.")


def _leave_mode(pane: PaneId) -> Command:
    return ("copy-mode", "-q", "-t", pane)


def _report_if_dead(pane: PaneId) -> Command:
    return ("display-message", "-p", "-t", pane, f"#{{?pane_dead,{_DEAD},}}")


def _says_dead(reply: CommandReply) -> bool:
    return any(block.lines == (_DEAD.encode(),) for block in reply.blocks)


def _validate_repeat(repeat: int) -> int:
    if not 1 <= repeat <= _MOST_REPEATS:
        raise BadInput(f"The repeat count {repeat} is out of range.", f"Use 1 to {_MOST_REPEATS}.")
    return repeat
