"""How a command's text gets to a shell's prompt: as a person would type it, whatever it holds."""

from __future__ import annotations

import asyncio
import re

from muxpilot.errors import BadInput
from muxpilot.shells.kinds import KEY, Shell
from muxpilot.tmux import PaneId, Tmux

_UNTYPED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PASTE_BEGIN, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
# A terminal that edits lines itself cuts them at 4 kB.
_LONGEST_LINE = 4000


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
    if delay_s:
        for char in text:
            await tmux.input.type(pane, char)
            await asyncio.sleep(delay_s)
        await tmux.input.press(pane, "Enter")
        return
    prepared = KEY if shell.has_key and any(char in text for char in shell.special) else b""
    if shell.pastes and ("\n" in text or "\t" in text):
        data = prepared + _PASTE_BEGIN + text.encode("utf-8", "surrogateescape") + _PASTE_END + b"\r"
        await tmux.input.send_bytes(pane, data)
    elif prepared:
        await tmux.input.send_bytes(pane, prepared + text.encode("utf-8", "surrogateescape") + b"\r")
    else:
        await tmux.input.type(pane, text, enter=True)
