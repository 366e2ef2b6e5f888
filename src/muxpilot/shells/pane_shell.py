"""The shells of one pane: their stream, their commands, one after the other.

Commands wait in a queue until the pane's innermost shell stands at its prompt with nothing typed there.
One that has opened a shell of its own (`ssh`, `su`, `bash`) lets the next command go inside it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress

from muxpilot.errors import MuxpilotError, PaneDead
from muxpilot.processes.state import State, image_of, is_in_front, state_of
from muxpilot.shells.command import Command
from muxpilot.shells.command_runner import Run
from muxpilot.shells.osc133 import Mark, Scanner
from muxpilot.shells.pane_exit import Life
from muxpilot.shells.pane_lock import Turn
from muxpilot.shells.prompt_ready import Gate
from muxpilot.shells.shell_stack import Layers, NestedShell, Phase
from muxpilot.shells.shell_table import KEY
from muxpilot.tmux import Data, End, Gap, Pane, PaneId, PaneStream, Tmux

log = logging.getLogger("muxpilot")

_PROMPT_PATIENCE_S = 0.3
_CATCH_UP_S = 5.0
_CLEARINGS, _CLEARED_S = 10, 1.5
_KEY_S = 0.5
_QUIET_S, _QUIET_TRIES = 0.03, 20
_SETTLED_S, _SETTLING = 1.0, 50
_BURIAL_S = 3.0
# Less than the silence after which a command is taken to wait for somebody.
_DOUBT_S = 0.13

# Nobody else types into the pane meanwhile.
Exclusive = Callable[[Tmux, PaneId], AbstractAsyncContextManager[None]]


class PaneShell:
    """Everything that is known of a pane's shells; made when the first command asks for it."""

    def __init__(
        self, tmux: Tmux, row: Pane, exclusive: Exclusive, nonce: str | None, hint: str | None = None
    ) -> None:
        """`nonce` is what a shell of ours was started with, `hint` which shell it is where nothing tells."""
        self.tmux = tmux
        self.row = row
        self.exclusive = exclusive
        self.hint = hint
        self.scanner = Scanner()
        self.layers = Layers(self.scanner, self._changed, lambda layer: self.is_in_front(layer) is False)
        self.life = Life(self)
        self.turn = Turn(tmux.socket, row)
        self.last_output = 0.0
        self.changes = 0
        self.looks_asked = 0  # how often somebody wanted to know at once what a command waits for
        self.seen = 0  # how far the stream has been read
        self.ended: str | None = None
        self.is_starting = nonce is not None
        self.stream: PaneStream | None = None
        self._queue: deque[Command] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._reader: asyncio.Task[None] | None = None
        self._doubts: set[asyncio.Task[None]] = set()
        self._change = asyncio.Event()
        self._stack = AsyncExitStack()
        if nonce is not None:
            self.scanner.nonces.add(nonce)

    async def open(self) -> None:
        """Read the pane's stream, from its first byte where we have it."""
        if self.is_starting:
            self.stir()
        self.stream = await self._stack.enter_async_context(self.tmux.streams.open(self.row.id))
        begin = self.stream.start if self.tmux.streams.is_ours(self.row.id) else self.stream.end
        self.seen, end = begin, self.stream.end
        self.life.watch()
        self._reader = asyncio.create_task(self._read(self.stream, begin))
        await self.until(lambda: self.seen >= end, _CATCH_UP_S)
        outermost = self.layers.stack[0] if self.layers.stack else None
        if outermost is not None and self.row.far is None and outermost.pid != self.row.pid:
            # Of a shell that was here before somebody started another in its place.
            self.layers.forget(outermost, "Another program was started in the pane.")
            self.is_starting = False

    async def close(self) -> None:
        for task in (self._worker, self._reader, *self._doubts):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        self.end(None, "muxpilot has left")
        await self.life.let_go()
        self.life.close()
        await self._stack.aclose()

    def submit(self, command: Command) -> None:
        if self._queue:
            command.reason = f"It waits for the command before it: {self._queue[0].text[:80]!r}."
        self._queue.append(command)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())

    def withdraw(self, command: Command) -> bool:
        """Take a command back that has not begun."""
        with suppress(ValueError):
            self._queue.remove(command)
            return True
        return False

    async def typed_line(self, layer: NestedShell) -> int | None:
        """How much is typed at a layer's prompt, by the shell's own word; None if it does not tell."""
        layer.forget_length()
        await self.tmux.input.send_bytes(self.row.id, KEY)
        await self.until(lambda: layer.typed_line is not None or layer.at is Phase.RUNNING, _KEY_S)
        return layer.typed_line

    async def quiet(self) -> None:
        """Until nothing has come for a moment, or for long enough."""
        for _ in range(_QUIET_TRIES):
            known = self.changes
            await self.change(_QUIET_S, since=known)
            if self.changes == known:
                return

    async def caught_up(self) -> None:
        """What tmux had of the pane when it was asked has come."""
        if self.row.far is None:
            await self.tmux.panes.get(self.row.id)

    async def caught_up_with_stream(self) -> None:
        """All that has come is read."""
        if self.stream is not None:
            end = self.stream.end
            await self.until(lambda: self.seen >= end, _CATCH_UP_S)

    async def settled(self) -> None:
        """Some set the terminal up only after they have shown the prompt, and would echo the line again."""
        for _ in range(_SETTLING):
            if self.silence_s() > _SETTLED_S:
                return
            state = await self.state()
            is_between = state.foreground_pid is None and self.row.far is None  # nobody is in front yet
            if state.waiting_for == "shell" or not (state.is_known or is_between):
                return
            await asyncio.sleep(_SETTLED_S / _SETTLING)

    async def clear_line(self, layer: NestedShell) -> None:
        """Press Ctrl-C until the prompt is back: while a key's own work is done, fish takes no other.

        Other shells take each of them, however late: one too many would interrupt the next command.
        """
        times = _CLEARINGS if layer.shell.name == "fish" else 1
        for _ in range(times):
            await self.tmux.input.press(self.row.id, "C-c")
            await self.until(lambda: layer.at is Phase.PROMPT, _CLEARED_S / times)
            if layer.at is Phase.PROMPT:
                return

    def ask_to_look(self) -> None:
        self.looks_asked += 1
        self._changed()

    def layer_of(self, command: Command) -> NestedShell | None:
        return next((layer for layer in self.layers.stack if layer.command is command), None)

    async def change(self, timeout_s: float, *, since: int | None = None) -> None:
        """Until something is printed or told, or until then; at once if `changes` is not `since` any more."""
        if since is not None and since != self.changes:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._change.wait()

    async def until(self, is_so: Callable[[], bool], timeout_s: float) -> None:
        """Until something holds, or the pane has ended, or until then."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        while not is_so() and self.ended is None:
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                return
            await self.change(left_s)

    def stir(self) -> None:
        """Something is to be expected: silence counts from now on."""
        self.last_output = asyncio.get_running_loop().time()

    async def state(self) -> State:
        """What stands in front, by the system's word; asked beside the event loop."""
        return await state_of(self.row)

    def is_in_front(self, layer: NestedShell) -> bool | None:
        """Whether a layer's shell has the terminal to itself; None where the system does not tell."""
        return is_in_front(layer.pid, self.row.pid) if self.row.far is None else None

    def is_replaced(self, layer: NestedShell) -> bool:
        """Whether another program has taken the shell's place, in the same process."""
        image = image_of(layer.pid) if self.row.far is None else None
        return layer.image is not None and image is not None and image != layer.image

    def silence_s(self) -> float:
        return asyncio.get_running_loop().time() - self.last_output

    def end(self, status: int | None, reason: str) -> None:
        """The pane has nothing more to say."""
        if self.ended is None:
            self.ended = reason
            self.layers.end(status, f"The pane has ended: {reason}.")
            for command in self._queue:
                command.lose(f"The pane has ended: {reason}.")
            self._queue.clear()
            self._changed()

    async def _read(self, stream: PaneStream, begin: int) -> None:
        async for event in stream.follow(begin):
            if isinstance(event, Data):
                self._data(event)
            elif isinstance(event, Gap):
                self._gap(event)
            elif isinstance(event, End):
                self.layers.text(self.scanner.rest())
                if event.status is not None:
                    await self.life.recover()
                self.end(event.status, event.reason)
                await self.life.bury()
            self._changed()

    def _data(self, event: Data) -> None:
        self.stir()
        self.seen = event.offset + len(event.data)
        for item in self.scanner.feed(event.data, event.offset):
            if isinstance(item, Mark):
                self.layers.mark(item)
                self._after_mark(item)
            else:
                self.layers.text(item)

    def _after_mark(self, mark: Mark) -> None:
        top = self.layers.top
        if mark.kind == "D":
            self._expect_prompt()
        elif mark.kind == "B" and top is not None and top.is_doubted:
            self._look_into(self._trust(top))
        elif mark.kind == "I" and top is not None and self.row.far is None:
            top.image = image_of(top.pid)

    async def _trust(self, layer: NestedShell) -> None:
        """Nothing follows: the shell waits at its prompt, and has read all that was typed."""
        await asyncio.sleep(_DOUBT_S)
        while layer.is_doubted and layer.at is Phase.TYPED and self.ended is None:
            known = self.seen
            await self._all_read()
            if self.seen == known:
                self.layers.trust(layer)
                self._changed()
                return

    def _gap(self, event: Gap) -> None:
        for layer in self.layers.stack:
            layer.at = Phase.UNKNOWN
            if layer.command is not None:
                layer.command.output.lost += event.lost or 1

    def _expect_prompt(self) -> None:
        """A prompt that lost its mark must not hold back a command that has finished."""
        layer = self.layers.top
        loop = asyncio.get_running_loop()

        def settle() -> None:
            is_late = layer is not None and layer.at is Phase.FINISHED and not layer.lines_left
            if layer is not None and is_late and self.ended is None:
                self._look_into(self._unprompted(layer))

        loop.call_later(_PROMPT_PATIENCE_S, settle)

    async def _unprompted(self, layer: NestedShell) -> None:
        """The prompt takes its time, or has lost its mark: then the shell waits there without."""
        await self._all_read()
        if layer.at is Phase.FINISHED:
            layer.at = Phase.UNKNOWN
            self.layers.finish(layer)
            self._changed()

    async def _all_read(self) -> None:
        """The shell waits, and what it has said has come."""
        with suppress(MuxpilotError):  # who asks for the pane next is told
            await self.settled()
            await self.caught_up()

    def _look_into(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._doubts.add(task)
        task.add_done_callback(self._doubts.discard)

    def _changed(self) -> None:
        self.changes += 1
        self._change.set()
        self._change = asyncio.Event()
        for layer in self.layers.stack:
            if layer.command is not None:
                layer.command.say()

    async def _work(self) -> None:
        while self._queue:
            command = self._queue[0]
            try:
                layer = await Gate(self).open_for(command)
                if layer is not None:
                    self.is_starting = False
                    await self._run(layer, command)
            except MuxpilotError as error:
                if self.row.far is not None and isinstance(error, PaneDead):
                    await self.until(lambda: False, _BURIAL_S)  # its stream tells how it ended
                command.lose(str(error))
            except Exception:  # a mistake of ours must not end the pane's queue
                log.exception("a command in pane %s", self.row.id)
                command.lose("muxpilot failed; its log on stderr tells more.")
            finally:
                self.turn.give()
                self.withdraw(command)

    async def _run(self, layer: NestedShell, command: Command) -> None:
        is_outermost = layer is self.layers.stack[0]
        if is_outermost:
            await self.life.keep()
        await Run(self, layer, command).go()
        if is_outermost and command.status.is_final:
            self.life.let_go_soon()
