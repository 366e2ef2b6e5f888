"""All commands, and the panes that they run in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from muxpilot.errors import BadInput, PaneDead, Refused
from muxpilot.shells.command import Command, Status
from muxpilot.shells.command_output import Output
from muxpilot.shells.pane_shell import Exclusive, PaneShell
from muxpilot.shells.type_command import checked
from muxpilot.tmux import PaneId, Tmux

# Raises what forbids a key in a pane.
Permit = Callable[[Tmux, PaneId], Awaitable[None]]

OUTPUT_CAP_BYTES = 64 << 20
KEPT_COMMANDS = 1000
KEPT_S = 240 * 60.0

_INTERRUPTED_S = 2.0
_TIDY_EVERY_S = 10.0
# So long an answer that was just sent may take to be seen.
_ANSWERED_S = 0.1
_LEFT_S = 0.5


class Shells:
    """One per muxpilot; everything ends with it."""

    def __init__(
        self,
        exclusive: Exclusive,
        *,
        cap_bytes: int = OUTPUT_CAP_BYTES,
        kept: int = KEPT_COMMANDS,
        kept_s: float = KEPT_S,
        hint: str | None = None,
    ) -> None:
        self._exclusive = exclusive
        self._cap_bytes = cap_bytes
        self._kept = kept
        self._kept_s = kept_s
        self._hint = hint
        self._panes: dict[tuple[str, PaneId], PaneShell] = {}
        self._commands: dict[str, Command] = {}
        self._opening = asyncio.Lock()
        self._tidied = time.monotonic()

    async def submit(self, tmux: Tmux, pane: PaneId, text: str, *, delay_s: float = 0.0) -> Command:
        """Queue a command for a pane; it runs when the pane's shell takes it."""
        text = checked(text)
        shell = await self.pane(tmux, pane)
        await tmux.streams.hear_again(pane)  # or the command would end unseen
        command = Command(tmux.socket, pane, text, Output(shell.row.height, self._cap_bytes), delay_s)
        self._forget_the_old()
        self._commands[command.id] = command
        shell.submit(command)
        return command

    async def pane(self, tmux: Tmux, pane: PaneId) -> PaneShell:
        """The shells of a pane, followed from now on."""
        known = self.known(tmux, pane)
        if known is not None and known.ended is None:
            return known
        row = await tmux.panes.get(pane)
        if row.is_dead:
            raise PaneDead(f"The program of pane {pane!r} has ended.")
        async with self._opening:
            known = self.known(tmux, pane)
            if known is not None and known.ended is None:
                return known
            await self._close_the_ended()
            shell = PaneShell(tmux, row, self._exclusive, tmux.startups.nonce_of(pane), self._hint)
            await shell.open()
            self._panes[tmux.socket, pane] = shell
            return shell

    def known(self, tmux: Tmux, pane: PaneId) -> PaneShell | None:
        """The shells of a pane that commands have run in."""
        return self._panes.get((tmux.socket, pane))

    def command(self, command_id: str) -> Command:
        self._forget_the_old()
        command = self._commands.get(command_id)
        if command is None:
            raise BadInput(
                f"Command {command_id[:40]!r} not found.", "Use the commandId that execute-command answered."
            )
        return command

    def commands(self, socket: str | None = None, pane: PaneId | None = None) -> Sequence[Command]:
        """All that are remembered; of one server, of one pane there."""
        self._forget_the_old()
        return [
            command
            for command in self._commands.values()
            if socket in (None, command.socket) and pane in (None, command.pane)
        ]

    async def wait(self, command: Command, timeout_s: float) -> bool:
        """Until it has ended or waits for somebody; False if neither came in time."""
        deadline = time.monotonic() + timeout_s
        while not command.status.is_final and command.waiting_for is None:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            await command.change(left_s)
        return True

    async def look_again(self, command: Command, timeout_s: float) -> bool:
        """The same for one that was told to wait: it may have got its answer meanwhile."""
        shell = self._panes.get((command.socket, command.pane))
        if timeout_s and shell is not None and command.waiting_for in ("line", "password", "key"):
            await command.change(min(timeout_s, _ANSWERED_S))
            command.waits(None, None)
            shell.ask_to_look()
        elif command.waiting_for is not None:
            await command.end(min(timeout_s, _LEFT_S))  # the shell inside may be about to leave
        return await self.wait(command, timeout_s)

    def untracked(self, tmux: Tmux, pane: PaneId, text: str) -> Command:
        """What was only typed; nobody knows what became of it."""
        command = Command(tmux.socket, pane, text, Output(1, 0), status=Status.RUNNING)
        command.reason = "It was typed as it is; nothing of it is tracked."
        command.is_tracked, command.ended = False, command.asked
        self._commands[command.id] = command
        return command

    async def cancel(self, command: Command, permit: Permit) -> None:
        """Interrupt it where it runs, if a key may be pressed there; one that has not begun never will."""
        shell = self._panes.get((command.socket, command.pane))
        if not command.is_tracked:
            raise Refused("It was only typed, and is not tracked.", "Press C-c with send-keys.")
        if command.status.is_final or shell is None:
            return
        layer = shell.layer_of(command)
        if layer is not None and layer is not shell.layers.top:
            raise Refused(
                "It has opened a shell, in which Ctrl-C would interrupt something else.",
                "Run exit there with execute-command.",
            )
        if self.withdraw(command):
            return
        await permit(shell.tmux, command.pane)
        if command.ended is not None:  # by now: C-c would reach what comes after it
            return
        command.is_cancelled = True
        await shell.tmux.input.press(command.pane, "C-c")
        await command.end(_INTERRUPTED_S)

    def withdraw(self, command: Command) -> bool:
        """Whether it had not begun; then it never will."""
        shell = self._panes.get((command.socket, command.pane))
        if command.status is not Status.QUEUED or shell is None:
            return False
        command.is_cancelled = True
        shell.withdraw(command)
        command.lose("It was cancelled before it began.")
        return True

    async def close(self) -> None:
        panes, self._panes = self._panes, {}
        await asyncio.gather(*(shell.close() for shell in panes.values()))
        for command in self._commands.values():
            command.output.close()

    async def _close_the_ended(self) -> None:
        for key in [key for key, shell in self._panes.items() if shell.ended is not None]:
            await self._panes.pop(key).close()

    def _forget_the_old(self) -> None:
        """Now and then: to look at all of them for each command would cost more than the command."""
        now = time.monotonic()
        if len(self._commands) <= self._kept and now < self._tidied + _TIDY_EVERY_S:
            return
        self._tidied = now
        ended = [command for command in self._commands.values() if command.ended is not None]
        surplus = max(0, len(ended) - self._kept)
        for index, command in enumerate(ended):
            if index < surplus or now - (command.ended or now) > self._kept_s:
                del self._commands[command.id]
                command.output.close()
