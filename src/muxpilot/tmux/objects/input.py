"""Input: text and keys into a pane, each call as one act.

A call is one control line, which tmux runs without a break: no other call's keys, and no person's, come
between a text and its Enter. A pane in copy mode leaves it first, or the mode would take the keys. A pane
whose program has ended is refused: tmux would drop keys in silence, and 3.3a ends with everything in it
when text is pasted there.
"""

from __future__ import annotations

import re
import secrets
from collections import deque
from collections.abc import Sequence

from muxpilot.errors import BadInput, MuxpilotError, PaneDead, Unavailable
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.connection.control import Braces
from muxpilot.tmux.connection.protocol import Reply
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.objects import keys as key_names
from muxpilot.tmux.objects import tty_write
from muxpilot.tmux.objects.buffers import Buffers
from muxpilot.tmux.objects.panes import Panes
from muxpilot.tmux.quote import encode
from muxpilot.tmux.version import PASTES_AS_CARETS

_DEAD = b"dead"
_MOST_REPEATS = 1000
# Longer text goes through a buffer: quicker for tmux, and it may hold anything.
_LONGEST_TYPED = 1024
_NOT_TYPED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# Of what was typed, so much is known for a while.
_TEXTS_KNOWN, _LONGEST_KNOWN, _PANES_KNOWN = 8, 4096, 200


class Input:
    def __init__(self, connection: Connection, buffers: Buffers, panes: Panes) -> None:
        self._connection = connection
        self._buffers = buffers
        self._panes = panes
        self._typed: dict[PaneId, deque[str]] = {}

    def typed(self, pane: PaneId) -> Sequence[str]:
        """The last texts that we typed into a pane, for whoever must know their echo again."""
        return tuple(self._typed.get(pane, ()))

    async def type(self, pane: PaneId, text: str, *, enter: bool = False, repeat: int = 1) -> None:
        """Type a text exactly as it is, whatever it holds; `enter` presses Enter after it."""
        self._remember(pane, text)
        if len(text) * repeat > _LONGEST_TYPED or _NOT_TYPED.search(text):
            await self._paste(pane, text * _checked(repeat), enter=enter, bracketed=False)
            return
        typed: list[Command] = [("send-keys", "-t", pane, "-l", "--", text)] if text else []
        pressed: list[Command] = [("send-keys", "-t", pane, "Enter")] if enter else []
        await self._press(pane, *typed * _checked(repeat), *pressed)

    async def press(self, pane: PaneId, keys: str, *, enter: bool = False, repeat: int = 1) -> None:
        """Press keys by their tmux names, several separated by blanks."""
        words = key_names.parse(keys) * _checked(repeat) + (("Enter",) if enter else ())
        await self._press(pane, ("send-keys", "-t", pane, "--", *words))

    async def paste(self, pane: PaneId, text: str, *, enter: bool = False) -> int:
        """Paste a text byte for byte, bracketed where the program asked for that; answers its bytes."""
        self._remember(pane, text)
        return await self._paste(pane, text, enter=enter, bracketed=True)

    async def send_bytes(self, pane: PaneId, data: bytes) -> None:
        """Write raw bytes to the pane's program."""
        if not data:
            raise BadInput("No bytes were given.", "Give at least one.")
        await self._paste(pane, data, enter=False, bracketed=False)

    async def show(self, pane: PaneId, text: str, *, clear: bool = False) -> None:
        """Show a text in a pane as if its program had printed it: never typed, never run."""
        row = await self._panes.get(pane)
        if row.is_dead:
            raise PaneDead(f"The program of pane {pane!r} has ended.")
        lines = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", text).replace("\n", "\r\n")
        begin = "\x1b[H\x1b[2J" if clear else "\r\n" if row.cursor_column else ""
        shown = begin + lines + "\r\n"
        if row.far is not None:
            await tty_write.show_far(row.far, row.tty, shown)
        else:
            await tty_write.write(row.tty, shown.encode("utf-8", "replace"))

    def _remember(self, pane: PaneId, text: str) -> None:
        known = self._typed.pop(pane, None) or deque(maxlen=_TEXTS_KNOWN)
        if len(text) <= _LONGEST_KNOWN:
            known.append(text)
        self._typed[pane] = known
        while len(self._typed) > _PANES_KNOWN:
            del self._typed[next(iter(self._typed))]

    async def _paste(self, pane: PaneId, text: str | bytes, *, enter: bool, bracketed: bool) -> int:
        """`-r` keeps line feeds as they are, `-d` takes the private buffer away again."""
        data = encode(text)
        name = f"muxpilot-{secrets.token_hex(8)}"
        pressed: list[Command] = [("send-keys", "-t", pane, "Enter")] if enter else []
        if not data:
            await self._act(pane, *pressed)
            return 0
        brackets = ("-p",) if bracketed else ()
        try:
            await self._buffers.set(name, data)
            exact = ("-S",) if await self._connection.server_version() >= PASTES_AS_CARETS else ()
            paste = ("paste-buffer", "-d", "-r", *exact, *brackets, "-b", name, "-t", pane)
            async with self._connection.changing_buffers():
                await self._act(pane, paste, *pressed)
        except BaseException as error:
            discarding = self._buffers.discard(name)
            if isinstance(error, MuxpilotError) and not isinstance(error, Unavailable):
                await discarding
            raise
        return len(data)

    async def _press(self, pane: PaneId, *keys: Command) -> None:
        """A dead pane drops keys, and is said to be dead."""
        is_dead = ("display-message", "-p", "-t", pane, "#{?pane_dead,dead,}")
        self._told(pane, await self._connection.run(("copy-mode", "-q", "-t", pane), *keys, is_dead))

    async def _act(self, pane: PaneId, *commands: Command) -> None:
        """What a dead pane must not even see."""
        if not commands:
            return
        dead = Braces.around(("display-message", "-p", _DEAD))
        alive = Braces.around(("copy-mode", "-q", "-t", pane), *commands)
        line = ("if-shell", "-F", "-t", pane, "#{pane_dead}", dead, alive)
        self._told(pane, await self._connection.run(line))

    def _told(self, pane: PaneId, reply: Reply) -> None:
        if any(block.lines == (_DEAD,) for block in reply.blocks):
            raise PaneDead(f"The program of pane {pane!r} has ended.")


def _checked(repeat: int) -> int:
    if not 1 <= repeat <= _MOST_REPEATS:
        raise BadInput(f"The repeat count {repeat} is out of range.", f"Use 1 to {_MOST_REPEATS}.")
    return repeat
