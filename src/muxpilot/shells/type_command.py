"""How a command's text gets to a shell's prompt: as a person would type it, whatever characters it has."""

from __future__ import annotations

import asyncio
import re

from muxpilot.errors import BadInput
from muxpilot.shell_table import KEY, ShellKind
from muxpilot.terminal.escapes import PASTE_END_BYTES, PASTE_START_BYTES
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.objects.typing_ticket import TypingTicket
from muxpilot.tmux.quote import encode

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# A terminal in canonical mode cuts lines at 4 kB.
_LONGEST_LINE = 4000
# Some line editors draw the whole line again for each character that is typed.
_LONGEST_TYPED = 500


def validate_command(command: str) -> str:
    """Return the command without line ends after it; raise BadInput for what no keyboard can type."""
    text = command.replace("\r\n", "\n").rstrip("\n")
    if not text.strip():
        raise BadInput("The argument 'command' is empty.", "Give a command, or use send-keys to press Enter.")
    if found := _CONTROL.search(text):
        raise BadInput(
            f"The argument 'command' holds the control character \\x{ord(found[0]):02x}.",
            "Write it as an escape of the shell, such as $'\\e', or use send-keys.",
        )
    return text


def lines_for(shell: ShellKind, text: str) -> list[str]:
    """Return the texts that are typed with an Enter each: one, if the shell takes a paste."""
    return [text] if shell.takes_paste else text.split("\n")


def needs_file(shell: ShellKind, text: str) -> bool:
    """Return whether this shell's prompt cannot take the text: a tab completes, a long line is cut."""
    if "\t" in text and not shell.takes_pasted_tabs:
        return True
    return not shell.takes_paste and any(len(line.encode()) > _LONGEST_LINE for line in text.split("\n"))


async def type_line(tmux: Tmux, pane: PaneId, shell: ShellKind, text: str, *, ticket: TypingTicket) -> None:
    """Type a text and press Enter, with one request to tmux.

    Raise TicketRefused if another muxpilot has typed meanwhile.
    """
    begin, end = _brackets(shell, text)
    if begin:
        await tmux.input.send_bytes(pane, begin + encode(text) + end + b"\r", ticket=ticket)
    else:
        await tmux.input.type(pane, text, enter=True, ticket=ticket)


async def type_slowly(tmux: Tmux, pane: PaneId, shell: ShellKind, text: str, *, delay_s: float) -> None:
    """Type a text with a pause after each character, and press Enter."""
    begin, end = _brackets(shell, text)
    if begin:
        await tmux.input.send_bytes(pane, begin)
    for char in text:
        await tmux.input.send_bytes(pane, encode(char))
        await asyncio.sleep(delay_s)
    await tmux.input.send_bytes(pane, end + b"\r")


def _brackets(shell: ShellKind, text: str) -> tuple[bytes, bytes]:
    """Return the bytes before and after a text that is not a short line of plain characters."""
    key = KEY if shell.has_key and any(char in text for char in shell.special_characters) else b""
    is_pasted = shell.takes_paste and ("\n" in text or "\t" in text or len(text) > _LONGEST_TYPED)
    return (key + PASTE_START_BYTES, PASTE_END_BYTES) if is_pasted else (key, b"")
