"""How a command's text gets to a shell's prompt: as a person would type it, whatever it holds."""

from __future__ import annotations

import asyncio
import re

from muxpilot.errors import BadInput
from muxpilot.shells.shell_table import KEY, Shell
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.quote import encode

_UNTYPED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PASTE_BEGIN, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
# A terminal that edits lines itself cuts them at 4 kB.
_LONGEST_LINE = 4000
# Some line editors draw a line anew for each character of it.
_LONGEST_TYPED = 500


def checked(command: str) -> str:
    """The command without line ends behind it; what no keyboard can type is refused."""
    text = command.replace("\r\n", "\n").rstrip("\n")
    if not text.strip():
        raise BadInput("The argument 'command' is empty.", "Give a command, or use send-keys to press Enter.")
    if found := _UNTYPED.search(text):
        raise BadInput(
            f"The argument 'command' holds the control character \\x{ord(found[0]):02x}.",
            "Write it as an escape of the shell, such as $'\\e', or use send-keys.",
        )
    return text


def lines_for(shell: Shell, text: str) -> list[str]:
    """What is typed with an Enter each; a shell that takes a paste takes all at once."""
    return [text] if shell.pastes else text.split("\n")


def needs_file(shell: Shell, text: str) -> bool:
    """Whether this shell's prompt cannot take the text: a tab would complete, a long line be cut."""
    if "\t" in text and not shell.pastes_tabs:
        return True
    return not shell.pastes and any(len(line.encode()) > _LONGEST_LINE for line in text.split("\n"))


async def type_line(tmux: Tmux, pane: PaneId, shell: Shell, text: str, *, delay_s: float = 0.0) -> None:
    """Type a text and press Enter, as one act unless it shall be slow."""
    begin, end = _brackets(shell, text)
    if delay_s:
        if begin:
            await tmux.input.send_bytes(pane, begin)
        for char in text:
            await tmux.input.send_bytes(pane, encode(char))
            await asyncio.sleep(delay_s)
        await tmux.input.send_bytes(pane, end + b"\r")
    elif begin:
        await tmux.input.send_bytes(pane, begin + encode(text) + end + b"\r")
    else:
        await tmux.input.type(pane, text, enter=True)


def _brackets(shell: Shell, text: str) -> tuple[bytes, bytes]:
    """What stands before and behind a text that is more than a short line of plain characters."""
    prepared = KEY if shell.has_key and any(char in text for char in shell.special) else b""
    is_pasted = shell.pastes and ("\n" in text or "\t" in text or len(text) > _LONGEST_TYPED)
    return (prepared + _PASTE_BEGIN, _PASTE_END) if is_pasted else (prepared, b"")
