"""When a pane takes a command: its innermost shell stands at its prompt, and nothing is typed there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muxpilot.errors import Refused
from muxpilot.processes.state import State
from muxpilot.shells.command import Command
from muxpilot.shells.loader import Loader
from muxpilot.shells.shell_stack import NestedShell, Phase
from muxpilot.terminal.prompt_signs import looks_like_a_far_shell, looks_like_a_shell, typed_after
from muxpilot.terminal.text import text_lines

if TYPE_CHECKING:
    from muxpilot.shells.pane_shell import PaneShell

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0
_QUIET_S = 0.15
# A shell that starts with our marks prints them in its own time.
_STARTING_S = 0.7
_REMOTE_QUIET_S = 0.4
_SOMEBODYS = "A program that somebody started is running."
_SOMEBODY_TYPES = "Somebody has typed at the prompt."
_ANOTHERS = "Another muxpilot runs a command in the pane."
_NOT_OURS = "The shell tells our marks no more."


class Gate:
    def __init__(self, shell: PaneShell) -> None:
        self._shell = shell

    async def open_for(self, command: Command) -> NestedShell | None:
        """The layer at whose prompt the command may be typed now; None if it was withdrawn meanwhile."""
        pause_s = _FIRST_PAUSE_S
        while not command.status.is_final:
            if self._shell.ended is not None:
                raise Refused(f"The pane has ended: {self._shell.ended}.")
            known = self._shell.changes
            obstacle = await self._obstacle() if self._shell.turn.take() else _ANOTHERS
            if obstacle is None and self._shell.layers.top is not None:
                self._shell.turn.claim()
                return self._shell.layers.top
            self._shell.turn.give()
            command.waits(None, obstacle)
            await self._shell.change(pause_s, since=known)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S) if obstacle != _ANOTHERS else _FIRST_PAUSE_S
        return None

    async def _obstacle(self) -> str | None:
        """What keeps a command from being typed, in words; None if nothing does."""
        layer = self._shell.layers.top
        if self._shell.turn.is_after_another and layer is not None and layer.command is None:
            return await self._load_again(layer)
        if layer is None or layer.at in (Phase.UNKNOWN, Phase.RUNNING, Phase.STARTING):
            return await self._enter(layer)
        if layer.at is Phase.CONTINUATION and layer.command is not None:
            return await self._give_up_the_unfinished(layer)
        if layer.at is not Phase.PROMPT:
            return "The shell is not at its prompt."
        return await self._typed_at(layer)

    async def _load_again(self, layer: NestedShell) -> str | None:
        """Another muxpilot has loaded its marks in place of ours, or somebody has taken them out."""
        self._shell.layers.forget(layer, _NOT_OURS)
        return await self._enter(self._shell.layers.top)

    async def _typed_at(self, layer: NestedShell) -> str | None:
        """What a person does at this prompt, or has typed there."""
        stream = self._shell.stream
        assert stream is not None
        if self._shell.is_in_front(layer) is False:
            return _SOMEBODYS
        if not layer.shell.tells_start:
            if layer.is_fresh:
                await self._shell.quiet()
            await self._shell.caught_up()
            await self._shell.settled()
            await self._shell.caught_up()
        if layer.half_line == stream.end:
            return _SOMEBODY_TYPES
        since = stream.read(layer.prompt_offset, stream.end)
        if b"\n" in since and not layer.shell.tells_start:
            if not await self._is_back():
                return _SOMEBODYS
            if looks_like_a_shell(text_lines(since)[-1]):
                return await self._load_again(layer)  # a prompt without our marks
        prompt = stream.read(stream.line_start(layer.prompt_offset), layer.prompt_offset)
        typed = typed_after(prompt, since) if since else ""
        is_empty = not typed
        is_in_doubt = b"\n" in since or layer.half_line is not None or layer.may_have_typeahead
        if layer.shell.has_key and (typed or is_in_doubt):
            await self._shell.settled()  # a key behind an Enter would be shown by the terminal
            is_empty = layer.at is Phase.PROMPT and await self._shell.typed_line(layer) == 0
            if layer.at is not Phase.PROMPT:
                return _SOMEBODYS  # what was typed ahead has begun
            if layer.typed_line is None and not typed:
                return await self._load_again(layer)  # the key means nothing there any more
            layer.may_have_typeahead = False
            if not is_empty:
                await self._shell.quiet()  # the key has drawn the line again
        layer.half_line = None if is_empty else stream.end
        return None if is_empty else _SOMEBODY_TYPES

    async def _is_back(self) -> bool:
        """Where no mark tells a start, a line end behind the prompt means that something was begun."""
        quiet = self._shell.silence_s() >= _QUIET_S
        return quiet and (await self._shell.state()).waiting_for == "shell"

    async def _give_up_the_unfinished(self, layer: NestedShell) -> str | None:
        """A command of ours that the shell waits for the rest of has done nothing yet: the next one goes."""
        if layer.command is not None:
            layer.command.is_cancelled = True
            await self._shell.clear_line(layer)
        if not layer.shell.tells_start:
            await self._shell.settled()
        return None if layer.at is Phase.PROMPT else "The command before it is being given up."

    async def _enter(self, layer: NestedShell | None) -> str | None:
        """Something else is in front. If that is a shell at its prompt, it becomes the innermost layer."""
        shell = self._shell
        if shell.silence_s() < (_STARTING_S if shell.is_starting else _QUIET_S):
            return "The pane is busy."
        state = await self._shell.state()
        line = await shell.tmux.capture.cursor_line(shell.row.id)
        if state.waiting_for == "shell":
            if layer is not None and state.foreground_pid == layer.pid:
                if layer.at is Phase.RUNNING and not shell.is_replaced(layer):
                    return "The shell itself reads a line."
                if await self._tells_by_key(layer):
                    return None
                shell.layers.forget(layer, "The shell was replaced by another, or tells no marks any more.")
        elif not (self._looks_ready(state, line) and shell.silence_s() >= _REMOTE_QUIET_S):
            return f"{state.foreground_cmd or 'Something'} is running in the pane."
        return await Loader(shell).load(state, line)

    async def _tells_by_key(self, layer: NestedShell) -> bool:
        """A prompt that has lost its mark: the key still tells that it is one."""
        shell = self._shell
        if not layer.shell.has_key or shell.is_replaced(layer) or await shell.typed_line(layer) is None:
            return False
        layer.at, layer.prompt_offset = Phase.PROMPT, shell.stream.end if shell.stream is not None else 0
        layer.may_have_typeahead = layer.typed_line != 0
        return not layer.may_have_typeahead

    def _looks_ready(self, state: State, line: str) -> bool:
        """Where the system cannot tell: at a far end, or for somebody who says that a shell is there."""
        is_unseen = state.is_remote or (self._shell.hint is not None and not state.is_known)
        return is_unseen and not state.is_canonical and looks_like_a_far_shell(line)
