"""What keeps a command from being typed: in words, with what to do about it."""

from __future__ import annotations

from muxpilot.errors import Refused
from muxpilot.processes.decide import NESTED_TERMINALS, ForegroundState
from muxpilot.processes.repl_prompts import is_known_prompt
from muxpilot.processes.screen_programs import SCREEN_PROGRAMS, describe_screen_program
from muxpilot.records import record
from muxpilot.shells.command import Command
from muxpilot.terminal.prompt_signs import looks_like_line_prompt, looks_like_remote_shell_prompt
from muxpilot.tmux import PaneId

INPUT_WORDS = {"line": "a line of input", "password": "a password", "key": "a key"}
_SHOWN = 200
_OR_ELSE = "use another pane, or set queue to true to wait"

_USE_REPL = "Talk to it with run-in-repl"
_ANSWER = "Answer with send-keys"
_PRESS = "Press keys with send-keys"
_ASK_PERSON = "Let a person enter it (ask-person with secret), or answer with send-keys"
# Which tool answers each kind of input.
_ADVICE = {"key": _PRESS, "pager": _PRESS, "editor": _PRESS, "password": _ASK_PERSON}


@record
class Obstacle:
    """Why a command cannot be typed now.

    An occupant does not go away by itself; `advice` says what to do. Everything else, such as a shell that is
    starting, is waited for.
    """

    text: str
    advice: str = ""
    is_occupant: bool = False

    def to_refusal(self, pane: PaneId) -> Refused:
        """Return the error for a caller that does not want to wait."""
        return Refused(f"Pane {pane!r} is occupied. {self.text} Nothing was typed.", f"{self.advice}.")


PERSON_TYPED = Obstacle(
    "There is text that a person typed at the prompt.",
    f"Press C-u with send-keys (literal: false) to remove it, {_OR_ELSE}",
    is_occupant=True,
)
PERSON_CONTINUES = Obstacle(
    "A person's command at the prompt is not complete.",
    f"Press C-c with send-keys (literal: false) to give it up, {_OR_ELSE}",
    is_occupant=True,
)


def is_remote_shell_prompt(state: ForegroundState, line: str) -> bool:
    """Return whether the line before the cursor is a shell's prompt, where only the screen can show that.

    A terminal inside the pane, or a REPL behind ssh, is never taken for a shell.
    """
    if state.foreground_cmd in NESTED_TERMINALS or is_known_prompt(line, state.foreground_cmd):
        return False
    return looks_like_remote_shell_prompt(line)


def find_input_kind(state: ForegroundState, line: str, *, is_cursor_shown: bool = True) -> str | None:
    """Return what a program waits for. A line editor reads keys, but wants a line, and shows its cursor."""
    if state.waiting_for == "shell":
        return "line"
    looks_like_prompt = is_cursor_shown and looks_like_line_prompt(line)
    wants_line = is_known_prompt(line, state.foreground_cmd) or looks_like_prompt
    if state.waiting_for == "key" and not state.has_echo and wants_line:
        return "line"
    return state.waiting_for


def describe_input(kind: str, state: ForegroundState, line: str) -> str:
    """Say what a command of ours waits for, and which tool answers it."""
    shown = line.strip()[-_SHOWN:]
    program = SCREEN_PROGRAMS.get(state.foreground_cmd)
    if program is not None and program.kind == kind:
        return describe_screen_program(state.foreground_cmd)
    if is_known_prompt(line, state.foreground_cmd):
        return f"It is at its prompt: {shown!r}. {_USE_REPL}."
    if kind == "key" and not shown:
        return f"{state.foreground_cmd or 'A full-screen program'} waits for a key. {_PRESS}."
    return f"It waits for {_name_input(kind, shown)}."


def _name_input(kind: str, shown: str) -> str:
    """Return what a program waits for, with the text before the cursor if there is any.

    Redaction takes what stands after "password:" for a secret, so the prompt for one stands after "at".
    """
    word = INPUT_WORDS.get(kind, kind)
    sign = " at" if kind == "password" else ":"
    return f"{word}{sign} {shown!r}" if shown else word


def describe_full_screen(state: ForegroundState) -> str:
    """Say that a full-screen program is in front, which cannot be seen but on the screen."""
    if state.foreground_cmd in NESTED_TERMINALS:
        return f"{state.foreground_cmd} is in front, a terminal inside the pane. {_PRESS}."
    return f"A full-screen program is in front, behind {state.foreground_cmd}. {_PRESS}."


def describe_program(state: ForegroundState, line: str, *, is_alternate: bool) -> Obstacle:
    """Return the obstacle that a program in front is."""
    name, shown = state.foreground_cmd or "A program", line.strip()[-_SHOWN:]
    screen_program, kind = SCREEN_PROGRAMS.get(state.foreground_cmd), find_input_kind(state, line)
    if screen_program is not None:
        text = f"The {screen_program.kind} {name} is in front."
        advice = f"Leave it with {screen_program.leave_keys} (send-keys, literal: false)"
    elif is_alternate or name in NESTED_TERMINALS:
        text = describe_full_screen(state) if state.is_remote else f"{name} is in front, full-screen."
        advice = _PRESS
    elif is_known_prompt(line, name):
        text, advice = f"{name} is in front, at its prompt: {shown!r}.", _USE_REPL
    elif kind is not None:
        text = f"{name} is in front and waits for {_name_input(kind, shown)}."
        advice = _ADVICE.get(kind, _ANSWER)
    elif state.is_remote and not state.is_known:
        text = f"{name} is in front, and no shell is known to be at its prompt behind it: {shown!r}."
        advice = "Use run-in-repl for a REPL there, send-keys for anything else"
    else:
        text, advice = f"{name} is running in the pane.", "Wait for it with watch-pane"
    return Obstacle(text, f"{advice}, {_OR_ELSE}", is_occupant=True)


def describe_waiting_command(command: Command) -> Obstacle:
    """Return the obstacle that a command of ours is which waits for input."""
    advice = _ADVICE.get(command.waiting_for or "", _ANSWER)
    if _USE_REPL in (command.reason or ""):
        advice = _USE_REPL
    reason = (command.reason or "").removesuffix(f" {advice}.")
    text = f"The command {command.text[:80]!r} runs there. {reason}".rstrip()
    return Obstacle(text, f"{advice}, {_OR_ELSE}", is_occupant=True)
