"""How a pane's shell ends while a command runs in it.

tmux closes a pane whose program has ended and forgets its status. While a command of ours runs in the
outermost shell, remain-on-exit keeps the pane until its status has been read. Then the pane is closed, as
tmux would have done. If muxpilot is gone by then, and always on another host, a hook of the pane does it:
tmux runs the hook, which keeps the status in an option of the server.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from muxpilot.errors import MuxpilotError, NotFound
from muxpilot.shells.pane_context import PaneContext
from muxpilot.tasks import IdleTimer, TaskSet
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.connection.control_line import BracedCommands
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.objects.capture import strip_trailing_blank_rows
from muxpilot.tmux.objects.recorded_exit import (
    REMAINED_OPTION,
    drop_empty_hooks,
    forget_exit,
    read_exit,
    remove_hook_command,
    set_hook_command,
)
from muxpilot.tmux.streams import ExitStatus

_RECOVERED_ROWS = 2000
_DEAD_PANE_MESSAGE = "Pane is dead"  # tmux writes it below the last row


class OnEnd(Protocol):
    """Called with the exit status, if it is known, the reason, and the signal that ended the program."""

    def __call__(self, status: int | None, reason: str, *, signal: int | None = None) -> None: ...


class ExitKeeper:
    """Keeps the pane of a shell that may end with a command, and calls `on_end` with how it ended."""

    def __init__(self, pane: PaneContext, on_end: OnEnd) -> None:
        self._pane = pane
        self._on_end = on_end
        self._tasks = TaskSet(pane.trace)
        self._pidfd = -1
        self._is_kept = False
        self.has_hook = False  # a hook of the pane keeps the status, and closes the pane
        self._is_leaving = False
        self._is_left = False  # what is learnt from now on is not written down: the hook keeps the status
        self._saved = "on"  # the value of remain-on-exit before we kept the pane
        self._reporting: asyncio.Task[None] | None = None
        self._idle_timer = IdleTimer(pane.timing.release_pane_s, self._on_idle)
        self._releasing: asyncio.Task[None] | None = None

    @property
    def is_reporting(self) -> bool:
        """Return whether the pane's process has ended; how it ended may still be read."""
        return self._reporting is not None

    def watch_process(self) -> None:
        """Wait in the background for the end of the pane's process.

        Where the system has no pidfd, the stream's end shows it, at most a second later.
        """
        if self._pane.is_remote:
            return
        with suppress(OSError, AttributeError):
            self._pidfd = os.pidfd_open(self._pane.row.pid)
            asyncio.get_running_loop().add_reader(self._pidfd, self._on_process_end)

    async def prepare_end(self) -> None:
        """Leave the pane to its hook, because muxpilot ends. Close it if its program has just ended."""
        self._is_leaving = True
        with suppress(MuxpilotError, TimeoutError):  # the pane or tmux has gone
            async with asyncio.timeout(self._pane.timing.dead_pane_s):
                if self._is_kept and self.has_hook:
                    await self._set_options(hook=True)
                    # The hook that was there before may have left it to us a moment ago.
                    if (await self._pane.tmux.panes.get(self._pane.pane)).is_dead and self._pidfd >= 0:
                        self._on_process_end()
                if self._reporting is not None:
                    await asyncio.wait([self._reporting])
        if self._is_kept and self.has_hook:
            # A report that takes too long must leave no dead pane. The hook has kept the status.
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pane.timing.dead_pane_s):
                    await close_abandoned_pane(self._pane.tmux, self._pane.pane)
        # From now on a request may fail because muxpilot ends. That is not the end of a command.
        self._pane.shared_commands.write_ends()
        self._pane.shared_commands.is_closing = self._is_left = True
        self.close()

    def close(self) -> None:
        """Stop waiting for the process."""
        self._idle_timer.close()
        self._pane.stat_files.close()
        if self._pidfd >= 0:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    async def keep_pane(self) -> None:
        """Make tmux keep the pane when its program ends."""
        self._idle_timer.stop()
        await self._wait_for_release()
        if self._is_kept or (self._pidfd < 0 and not self._pane.is_remote):
            return
        self._saved = await self._set_options()
        if self._saved != "on":
            self._is_kept = True
            # Without a journal the last output must be read from the screen before the pane is closed.
            self.has_hook = self._pane.stream is not None and self._pane.stream.is_journaled
            hook = True if self.has_hook else None
            await self._set_options((REMAINED_OPTION, self._saved), ("remain-on-exit", "on"), hook=hook)
            self._pane.trace.debug("pane is kept when its program ends", before=self._saved)

    async def _set_options(self, *options: tuple[str, ...], hook: bool | None = None) -> str:
        """Set options of the pane, and return the value of remain-on-exit that the person wants.

        One request does both, so that a person's change cannot come between. `hook` sets the hook of the
        pane, or removes it.
        """
        pane = self._pane.pane
        hooks = () if hook is None else (self._hook_command(is_set=hook),)
        wanted = f"#{{?{REMAINED_OPTION},#{{{REMAINED_OPTION}}},#{{remain-on-exit}}}}"
        reply = await self._pane.tmux.connection.run(
            *(("set-option", "-p", "-t", pane, *option) for option in options),
            *hooks,
            ("display-message", "-p", "-t", pane, wanted),
        )
        word = b"".join(reply.blocks[-1].lines).decode()
        return {"": "off", "0": "off", "1": "on"}.get(word, word)

    def _hook_command(self, *, is_set: bool) -> Command:
        """Return the command that sets the pane's hook: it keeps the status, and closes the pane.

        While this muxpilot lives, it closes a pane of this host itself. It does not live if its parent has
        only not waited for it yet, although `kill -0` succeeds then. A pane that the person wants to keep
        only if its program fails is closed only if it did not.
        """
        pane = self._pane.pane
        if not is_set:
            return remove_hook_command(pane)
        is_failure = "#{!=:#{pane_dead_status},0}" if self._saved == "failed" else "0"
        is_kept = f"[ {is_failure} = 1 ]"
        if not self._pane.is_remote and not self._is_leaving:  # a process of another host cannot be asked for
            pid = os.getpid()
            is_alive = f"kill -0 {pid} 2>/dev/null && ! grep -qs ^State:.Z /proc/{pid}/status"
            is_kept += f" || {{ {is_alive}; }}"
        return set_hook_command(pane, is_kept=is_kept)

    def release_soon(self) -> None:
        """Release the pane after a while, because the next command may come right after."""
        self._idle_timer.restart()

    def _on_idle(self) -> None:
        self._pane.stat_files.close()
        self._release_now()

    def _release_now(self) -> None:
        """Count the pane as released from now on, also while the request to tmux is on its way."""
        if self._is_kept and self._reporting is None:
            self._is_kept = False
            self._releasing = self._tasks.start(self._restore_option(), name="release pane")

    async def release(self) -> None:
        """Let tmux close the pane when its program ends, as it did before."""
        self._release_now()
        await self._wait_for_release()

    async def _wait_for_release(self) -> None:
        # `asyncio.wait` takes two turns of the event loop also for a task that is done.
        if self._releasing is not None and not self._releasing.done():
            await asyncio.wait([self._releasing])

    async def _restore_option(self) -> None:
        with suppress(MuxpilotError):  # the pane or tmux has gone
            options = (("-u", "remain-on-exit"), ("-u", REMAINED_OPTION))
            if await self._set_options(*options, hook=False if self.has_hook else None) != self._saved:
                await self._set_options(("remain-on-exit", self._saved))
            if self.has_hook:
                await drop_empty_hooks(self._pane.tmux.connection, self._pane.pane)
            self._pane.trace.debug("pane is no longer kept when its program ends")

    async def close_dead_remote_pane(self) -> None:
        """Close a dead pane of another host, where only its stream shows that it has died."""
        if not self._pane.is_remote or not self._is_kept:
            return
        with suppress(MuxpilotError):  # the pane or its host has gone
            if (await self._pane.tmux.panes.get(self._pane.pane)).is_dead:
                self._is_kept = False
                await self._pane.tmux.panes.kill(self._pane.pane)

    def _on_process_end(self) -> None:
        self._pane.trace.debug("the pane's process has ended")
        self.close()
        self._pane.activity.restart_silence()  # its last output is still on its way
        self._reporting = self._tasks.start(self._report_end(), name="report end of pane")

    async def _report_end(self) -> None:
        """Report the end, also if a step on the way fails: callers wait for it."""
        try:
            await self._read_end()
        except MuxpilotError as error:
            self._on_end(None, error.what)
        except Exception:
            self._on_end(None, "muxpilot failed to read how it ended")
            raise

    async def _read_end(self) -> None:
        end = await self._wait_until_dead()
        await self._wait_for_last_output()
        if end is None:
            self._on_end(None, "it is gone")
            return
        await self.recover_output()
        self._on_end(end.status, "its program has ended", signal=end.signal)
        if self.has_hook and not self._is_left:
            await forget_exit(self._pane.tmux.connection, self._pane.pane)
        await self._close_dead_pane(end)

    async def _close_dead_pane(self, end: ExitStatus) -> None:
        """Close the pane, unless the person wants to keep it."""
        is_ours_to_close = self._saved == "off" or (self._saved == "failed" and end.status == 0)
        is_theirs_to_keep = not self._is_kept and await self._set_options() == "on"
        if is_ours_to_close and not is_theirs_to_keep:
            self._pane.trace.debug("dead pane closed")
            await self._pane.tmux.panes.kill(self._pane.pane)

    async def _wait_for_last_output(self) -> None:
        """Wait for output that is on its way, by another connection than the notice of the process's end."""
        pane, quiet_s = self._pane, self._pane.timing.last_output_s
        with suppress(MuxpilotError):
            await pane.tmux.streams.catch_up(pane.pane, is_exact=True)
        await pane.read_to_stream_end()
        while pane.activity.silence_s() < quiet_s:
            await pane.activity.wait_for_change(quiet_s)

    async def recover_output(self) -> None:
        """Read output that was printed just before the pane died from its screen.

        tmux stops streaming a dead pane. A pane with our own pipe needs no recovery.
        """
        pane, shell = self._pane, self._pane.stack.innermost
        command = shell.command if shell is not None else None
        if shell is None or command is None or pane.tmux.streams.is_own_pane(pane.pane):
            return
        try:
            rows = await pane.tmux.capture.last_lines(pane.pane, _RECOVERED_ROWS, join=True)
        except MuxpilotError:
            return  # it is gone
        shown = _text_after_line(rows, shell.line.text.rpartition("\n")[2].strip())
        known = command.output.full_text()[0]
        is_more = shown.startswith(known) and shown.rstrip("\n") != known.rstrip("\n")
        if is_more and not command.status.is_final:
            recovered = shown.removeprefix(known).replace("\n", "\r\n").encode()
            command.trace.debug("output recovered from the screen", length=len(recovered))
            command.output.feed(recovered)

    async def _wait_until_dead(self) -> ExitStatus | None:
        """Return how the program ended; None if another was started in the pane, or nothing tells it."""
        pane, timing = self._pane, self._pane.timing
        for _ in range(timing.dead_pane_checks):
            try:
                row = await pane.tmux.panes.get(pane.pane)
            except NotFound:
                return await read_exit(pane.tmux.connection, pane.pane)
            if row.is_dead:
                return ExitStatus(row.exit_code, row.dead_signal)
            if row.pid not in (pane.row.pid, 0):  # tmux 3.8 forgets it before it calls the pane dead
                return None
            await asyncio.sleep(timing.dead_pane_s / timing.dead_pane_checks)
        return None


async def close_abandoned_pane(tmux: Tmux, pane: PaneId) -> None:
    """Close a dead pane that a muxpilot kept, which was killed before it could close it."""
    is_ours = f"#{{&&:#{{pane_dead}},#{{==:#{{{REMAINED_OPTION}}},off}}}}"
    close = BracedCommands.of(("kill-pane", "-t", pane))
    with suppress(MuxpilotError):  # it is gone
        await tmux.connection.run(("if-shell", "-F", "-t", pane, is_ours, close))


def _text_after_line(rows: Sequence[str], line: str) -> str:
    """Return what a dead pane shows after the line that was typed last, without tmux's own message."""
    ends = [at for at, row in enumerate(rows) if row.rstrip().endswith(line)]
    shown = list(rows[ends[-1] + 1 :]) if ends else []
    if shown and shown[-1].startswith(_DEAD_PANE_MESSAGE):
        del shown[-1]
    return "".join(f"{row}\n" for row in strip_trailing_blank_rows(shown))
