"""Half-typed lines at a shell's prompt: a person's is left alone, an agent's own is not.

A line that stands there is the agent's if the agent typed all of it since its last Enter, or pressed keys
that may have changed it, such as Up for the line before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from muxpilot.processes.state import read_state
from muxpilot.records import mutable_record
from muxpilot.shells.pane_commands import PaneCommands
from muxpilot.shells.shell_phases import Phase
from muxpilot.terminal.prompt_signs import looks_like_shell_prompt, text_after_sign
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.objects.keys import parse_keys

_MOST_PANES = 500
# Keys that end a line or remove it.
_LINE_ENDS = frozenset("Enter KPEnter C-m C-j C-c C-u".split())
_ENTERS = _LINE_ENDS - {"C-c", "C-u"}
_LINE_END = re.compile(r"[\r\n]")


@mutable_record
class _AgentLine:
    """What an agent has typed into a pane since its last Enter."""

    text: str = ""
    has_keys: bool = False  # keys were pressed that may have changed the line in any way


@mutable_record
class AgentLines:
    """The lines that agents have typed and not entered yet, by server and pane."""

    _lines: dict[tuple[str, PaneId], _AgentLine] = field(default_factory=dict)

    def note_text(self, tmux: Tmux, pane: PaneId, text: str) -> None:
        """Note typed text. A line end in it begins a new line."""
        *before, last = _LINE_END.split(text)
        line = self._line(tmux, pane, is_new=bool(before))
        line.text += last

    def note_keys(self, tmux: Tmux, pane: PaneId, keys: Sequence[str]) -> None:
        """Note keys by their names, in the order in which they were pressed."""
        for key in keys:
            line = self._line(tmux, pane, is_new=key in _LINE_ENDS)
            if len(key) == 1:
                line.text += key
            elif key not in _LINE_ENDS:
                line.has_keys = True

    def is_typed_by_agent(self, tmux: Tmux, pane: PaneId, text: str) -> bool:
        """Return whether an agent typed the text that stands at the prompt."""
        line = self._lines.get((tmux.socket, pane))
        return line is not None and (line.has_keys or line.text.split() == text.split())

    def _line(self, tmux: Tmux, pane: PaneId, *, is_new: bool) -> _AgentLine:
        line = self._lines.pop((tmux.socket, pane), None)
        if line is None or is_new:
            line = _AgentLine()
        self._lines[tmux.socket, pane] = line
        while len(self._lines) > _MOST_PANES:
            del self._lines[next(iter(self._lines))]
        return line


def presses_enter(text: str, *, is_literal: bool) -> bool:
    """Return whether a text or a list of keys enters the line at a prompt."""
    return bool(_LINE_END.search(text)) if is_literal else bool(_ENTERS & set(parse_keys(text)))


async def find_half_typed(tmux: Tmux, pane: PaneId, shell: PaneCommands | None) -> str:
    """Return the text that stands at the prompt of a pane's shell; empty if there is none, or no prompt."""
    if shell is not None and shell.end_reason is None and shell.stack.innermost is not None:
        return await _find_by_marks(shell)
    row = await tmux.panes.get(pane)
    if (await read_state(row)).waiting_for != "shell":
        return ""
    line = await tmux.capture.text_before_cursor(pane)
    return "" if looks_like_shell_prompt(line) else text_after_sign(line)


async def _find_by_marks(shell: PaneCommands) -> str:
    pane, innermost = shell.pane, shell.stack.innermost
    assert innermost is not None
    if innermost.phase is not Phase.PROMPT or pane.is_in_foreground(innermost) is False:
        return ""
    await pane.sync_with_tmux()
    text = pane.text_after_prompt(innermost)
    if not innermost.kind.has_key or not pane.may_have_typed_text(innermost):
        return text
    length = await pane.ask_typed_length(innermost)
    if length == 0 or innermost.phase is not Phase.PROMPT:
        return ""  # a hint of the line editor, not typed text; or a person has entered it
    return pane.text_after_prompt(innermost) or text
