"""One command in one shell, from the typing to its end or to a shell that it has opened.

TYPED -> C -> RUNNING -> D: done; B: the next may be typed. What else may come instead:
a continuation prompt (the next line is typed, or the command is unfinished), nothing (fish keeps a line
that it does not understand), silence (perhaps it waits for a person), the end of the pane.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from muxpilot.errors import Refused, Unavailable
from muxpilot.processes.state import State
from muxpilot.shells.command import Command
from muxpilot.shells.loader import Loader
from muxpilot.shells.shell_stack import NestedShell, Phase
from muxpilot.shells.type_command import lines_for, needs_file, type_line
from muxpilot.terminal.prompt_signs import looks_like_a_far_shell, looks_like_a_question
from muxpilot.terminal.text import text_lines

if TYPE_CHECKING:
    from muxpilot.shells.pane_shell import PaneShell

_FIRST_LOOK_S, _RARELY_S = 0.15, 5.0
# How long somebody must have waited where nothing on the screen asks for it.
_UNASKED_S = 0.6
_START_S = 0.3
_BEHIND_S, _LOOKED_AT = 1.0, 4096
_REFUSED_LINE = 127
_WIPED_ROW = b"\r\x1b[2K"

_KINDS = {"line": "a line of input", "password": "a password", "key": "a key"}


class Run:
    def __init__(self, shell: PaneShell, layer: NestedShell, command: Command) -> None:
        self._shell = shell
        self._layer = layer
        self._command = command
        self._typed_at = 0  # in the pane's stream

    async def go(self) -> None:
        """Until the command has ended, or has opened a shell that takes the next."""
        file = self._in_file() if needs_file(self._layer.shell, self._command.text) else None
        text = self._command.text if file is None else f" {self._layer.shell.source} {file}"
        try:
            lines = lines_for(self._layer.shell, text)
            self._command.begin()
            while lines and not self._command.status.is_final:
                line, *lines = lines
                self._layer.lines_left = lines
                await self._type(line)
                if await self._until_next(is_last=not lines):
                    break
            if lines and not self._command.status.is_final:
                self._command.left_over = f"{len(lines)} lines after it were not typed."
        finally:
            self._layer.lines_left = None
            if file is not None:
                os.unlink(file)

    def _in_file(self) -> str:
        """What this shell's prompt cannot take is read from a file."""
        if len(self._shell.layers.stack) > 1 or self._shell.row.far is not None:
            raise Refused(
                f"{self._layer.shell.name} cannot be given this text at its prompt.",
                "Leave out tabs and lines above 4,000 bytes, or put it into a file there.",
            )
        file = str(self._shell.tmux.connection.scratch.file("c"))
        with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as target:
            target.write(self._command.text + "\n")
        return file

    async def _type(self, line: str) -> None:
        async with self._shell.exclusive(self._shell.tmux, self._shell.row.id):
            if self._command.status.is_final or self._command.is_cancelled:
                self._command.lose("It was cancelled before it was typed.")
                return
            self._layer.command = self._command
            self._shell.layers.typed(self._layer, line)
            stream = self._shell.tmux.streams.of(self._shell.row.id)
            self._typed_at = stream.end if stream is not None else 0
            await type_line(
                self._shell.tmux,
                self._shell.row.id,
                self._layer.shell,
                line,
                delay_s=self._command.delay_s,
            )
        self._shell.stir()

    async def _until_next(self, *, is_last: bool) -> bool:
        """True when nothing more is to be done here; False when the next line may be typed."""
        if self._layer.shell.has_key:
            await self._begun()
        pause_s, looked_at, asked = _FIRST_LOOK_S, -1, self._shell.looks_asked
        while not self._command.status.is_final:
            known = self._shell.changes
            if not is_last and self._layer.at in (Phase.CONTINUATION, Phase.PROMPT):
                await self._shell.settled()
                return False
            if self._layer.at is Phase.CONTINUATION:
                self._is_unfinished()
                return True
            if self._shell.seen != looked_at:
                pause_s = _FIRST_LOOK_S
            is_asked, asked = asked != self._shell.looks_asked, self._shell.looks_asked
            if self._shell.silence_s() >= pause_s or is_asked:
                looked_at, pause_s = self._shell.seen, min(2 * pause_s, _RARELY_S)
                if await self._lets_others_in():
                    return True
            await self._shell.change(max(pause_s - self._shell.silence_s(), 0.01), since=known)
        return True

    async def _begun(self) -> None:
        """fish keeps a line in its editor that it finds unfinished or wrong, and tells nobody."""
        layer = self._layer
        await self._shell.until(lambda: layer.at is not Phase.TYPED, _START_S)
        if layer.at is not Phase.TYPED or not await self._shell.typed_line(layer) or not self._is_unbegun():
            return
        _, error, words = layer.said_of_the_line().partition(b"fish: ")
        if not error:
            layer.at = Phase.CONTINUATION
            return
        self._command.output.feed(error + words.partition(b"\x1b[2m")[0])
        layer.at, layer.status = Phase.FINISHED, _REFUSED_LINE
        await self._shell.clear_line(layer)

    def _is_unbegun(self) -> bool:
        return self._layer.at is Phase.TYPED

    def _is_unfinished(self) -> None:
        self._command.waits(
            "rest",
            "The command is not complete: the shell waits for the rest of it, such as a closing quote.",
        )

    async def _lets_others_in(self) -> bool:
        """After a silence: whether it waits for somebody, and whether the next command may go inside it."""
        try:
            state = await self._shell.state()
            line = await self._shell.tmux.capture.cursor_line(self._shell.row.id)
        except Unavailable as error:
            if self._shell.row.far is None:
                raise
            self._command.waits(None, str(error))  # its host may come back
            return False
        if self._shell.row.far is not None and not self._shell.tmux.streams.is_heard(self._shell.row.id):
            return False  # it may have told its end meanwhile; once it is heard again, that is known
        if self._is_behind(line):
            return False
        if self._has_ended_unseen(state):
            self._shell.layers.forget(self._layer, "It has ended, unseen: its output was interrupted.")
            return True
        if self._has_lost_its_marks(state):
            is_quiet = self._shell.silence_s() >= 2 * _FIRST_LOOK_S  # they may be on their way
            return is_quiet and await self._goes_on_without_marks(state, line)
        if self._opened_a_shell(state, line):
            self._command.waits(
                "shell", f"It has opened a shell that stands at its prompt: {line.strip()!r}."
            )
            return True
        waits_for = self._waits_for(state, line)
        if waits_for is None:
            self._command.waits(None, None)
        else:
            self._command.waits(waits_for, f"It waits for {_KINDS[waits_for]}: {line.strip()[-200:]!r}.")
        return False

    def _is_behind(self, line: str) -> bool:
        """What tmux shows already may still be on its way to us, the marks of a prompt among it."""
        stream = self._shell.tmux.streams.of(self._shell.row.id)
        is_ours = self._shell.tmux.streams.is_ours(self._shell.row.id)
        if stream is None or not is_ours or self._shell.silence_s() >= _BEHIND_S:
            return False
        begun = max(stream.line_start(stream.end), stream.end - _LOOKED_AT)
        shown = text_lines(stream.read(begun, stream.end))[-1]
        return stream.end <= self._typed_at or not shown.rstrip().endswith(line.rstrip())

    def _has_ended_unseen(self, state: State) -> bool:
        """After a gap in the stream, in which its end has been told."""
        is_back = state.waiting_for == "shell" and state.foreground_pid == self._layer.pid
        return self._layer.at is Phase.UNKNOWN and self._command.output.lost > 0 and is_back

    def _has_lost_its_marks(self, state: State) -> bool:
        """Where the prompt alone has marks, who sets PS1 anew takes them out."""
        layer = self._layer
        if layer.shell.tells_start or layer.at is not Phase.RUNNING:
            return False
        is_back = state.waiting_for == "shell" and state.foreground_pid == layer.pid
        is_sure = not state.is_ambiguous or "PS1" in self._command.text
        return is_back and is_sure

    async def _goes_on_without_marks(self, state: State, line: str) -> bool:
        """With marks again, the shell tells the status that it still knows. True when that was the end."""
        layers, rest = self._shell.layers, self._layer.lines_left
        self._command.output.feed(_WIPED_ROW)  # the prompt was taken for output
        self._layer.command = None
        layers.forget(self._layer, "")
        loaded = layers.top if await Loader(self._shell).load(state, line) is None else None
        if loaded is None or loaded.status is None:
            self._command.lose("The shell's prompt came back without our marks, and told no status.")
        elif not rest:
            self._command.finish(loaded.status)
        else:
            self._layer, loaded.command, loaded.lines_left = loaded, self._command, rest
        return not rest

    def _opened_a_shell(self, state: State, line: str) -> bool:
        if state.waiting_for == "shell":
            return state.foreground_pid != self._layer.pid or self._shell.is_replaced(self._layer)
        is_quiet = self._shell.silence_s() >= 2 * _FIRST_LOOK_S
        return state.is_remote and not state.is_canonical and is_quiet and looks_like_a_far_shell(line)

    def _waits_for(self, state: State, line: str) -> str | None:
        kind = "line" if state.waiting_for == "shell" else state.waiting_for
        if state.is_remote and not state.is_known:
            asks = looks_like_a_question(line) and not looks_like_a_far_shell(line)
            kind = "line" if asks and not state.is_canonical else None
        if kind is None:
            return None
        is_asked = kind == "password" or looks_like_a_question(line) or bool(line.strip())
        return kind if is_asked or self._shell.silence_s() >= _UNASKED_S else None
