"""How a pane's shell ends while a command runs in it.

tmux closes a pane whose program has ended and forgets its status. While a command of ours runs in the
outermost shell the pane is kept until its status has been read; then it is closed as tmux would have.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from muxpilot.errors import MuxpilotError, NotFound
from muxpilot.tmux import Pane
from muxpilot.tmux.objects.capture import without_blank_end

if TYPE_CHECKING:
    from muxpilot.shells.pane_shell import PaneShell

_SETTLED_S = 0.05
_LET_GO_S = 1.0
_TRIES, _PAUSE_S = 200, 0.01
_LAST_ROWS = 2000
_TOMBSTONE = "Pane is dead"
# What the option was, told to the next muxpilot should this one be killed.
_WAS = "@muxpilot_remained"


class Life:
    """Watches the pane's process; `keep` and `let_go` around each command."""

    def __init__(self, shell: PaneShell) -> None:
        self._shell = shell
        self._pidfd = -1
        self._is_kept = False
        self._before = "on"  # what the option was before we kept the pane
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._letting: asyncio.Task[None] | None = None

    def watch(self) -> None:
        """Where the system has no such descriptor, the stream's end tells, a second later at most."""
        if self._shell.row.far is not None:
            return
        with suppress(OSError, AttributeError):
            self._pidfd = os.pidfd_open(self._shell.row.pid)
            asyncio.get_running_loop().add_reader(self._pidfd, self._ended)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._pidfd >= 0:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    async def keep(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._letting is not None:
            await asyncio.wait([self._letting])
        if self._is_kept or (self._pidfd < 0 and self._shell.row.far is None):
            return
        self._before = await self._remains()
        if self._before != "on":
            self._is_kept = True
            await self._remains((_WAS, self._before), ("remain-on-exit", "on"))

    async def _remains(self, *options: tuple[str, ...]) -> str:
        """Set options of the pane, and tell whether it stays then: in one act, or a person comes between."""
        pane = self._shell.row.id
        told = f"#{{?{_WAS},#{{{_WAS}}},#{{remain-on-exit}}}}"
        reply = await self._shell.tmux.connection.run(
            *(("set-option", "-p", "-t", pane, *option) for option in options),
            ("display-message", "-p", "-t", pane, told),
        )
        word = b"".join(reply.blocks[-1].lines).decode()
        return {"": "off", "0": "off", "1": "on"}.get(word, word)

    def let_go_soon(self) -> None:
        """Not at once: the next command may come right after."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(_LET_GO_S, self._let_go_now)

    def _let_go_now(self) -> None:
        """From here on it is not kept, whoever asks while tmux is told."""
        if self._is_kept and self._task is None:
            self._is_kept = False
            self._letting = asyncio.create_task(self._release())

    async def let_go(self) -> None:
        self._let_go_now()
        if self._letting is not None:
            await self._letting

    async def _release(self) -> None:
        with suppress(MuxpilotError):  # the pane, or tmux, has gone
            if await self._remains(("-u", "remain-on-exit"), ("-u", _WAS)) != self._before:
                await self._remains(("remain-on-exit", self._before))

    async def bury(self) -> None:
        """Close a dead pane of another host, where only its stream tells that it has died."""
        if self._shell.row.far is None or not self._is_kept:
            return
        with suppress(MuxpilotError):  # it is gone, or its host is
            if (await self._shell.tmux.panes.get(self._shell.row.id)).is_dead:
                self._is_kept = False
                await self._shell.tmux.panes.kill(self._shell.row.id)

    def _ended(self) -> None:
        self.close()
        self._task = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        try:
            row = await self._dead()
            await self._heard_out()
            if row is None:
                self._shell.end(None, "it is gone")
                return
            await self.recover()
            self._shell.end(row.exit_code, "its program has ended")
            is_ours_to_close = self._before == "off" or (self._before == "failed" and row.exit_code == 0)
            is_theirs_to_keep = not self._is_kept and await self._remains() == "on"
            if is_ours_to_close and not is_theirs_to_keep:
                await self._shell.tmux.panes.kill(row.id)
        except MuxpilotError as error:
            self._shell.end(None, error.what)

    async def _heard_out(self) -> None:
        """Its last words are on their way, by another connection than the one that told its death."""
        shell = self._shell
        with suppress(MuxpilotError):
            await shell.tmux.streams.catch_up(shell.row.id)
        await shell.caught_up_with_stream()
        while shell.silence_s() < _SETTLED_S:
            await shell.change(_SETTLED_S)

    async def recover(self) -> None:
        """tmux sends no more of a pane once it is dead: its last words may stand on its screen only."""
        shell, layer = self._shell, self._shell.layers.top
        command = layer.command if layer is not None else None
        if layer is None or command is None or shell.tmux.streams.is_ours(shell.row.id):
            return
        try:
            rows = await shell.tmux.capture.last(shell.row.id, _LAST_ROWS, join=True)
        except MuxpilotError:
            return  # it is gone
        shown = _behind(rows, layer.line.rpartition("\n")[2].strip())
        known = command.output.whole()[0]
        is_more = shown.startswith(known) and shown.rstrip("\n") != known.rstrip("\n")
        if is_more and not command.status.is_final:
            command.output.feed(shown.removeprefix(known).replace("\n", "\r\n").encode())

    async def _dead(self) -> Pane | None:
        for _ in range(_TRIES):
            try:
                row = await self._shell.tmux.panes.get(self._shell.row.id)
            except NotFound:
                return None
            if row.is_dead:
                return row
            if row.pid != self._shell.row.pid:
                return None  # another program was started in its place
            await asyncio.sleep(_PAUSE_S)
        return None


def _behind(rows: Sequence[str], line: str) -> str:
    """What a dead pane shows behind the line that was typed last, without what tmux wrote below it."""
    ends = [at for at, row in enumerate(rows) if row.rstrip().endswith(line)]
    shown = list(rows[ends[-1] + 1 :]) if ends else []
    if shown and shown[-1].startswith(_TOMBSTONE):
        del shown[-1]
    return "".join(f"{row}\n" for row in without_blank_end(shown))
