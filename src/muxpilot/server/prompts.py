"""Prompts: ways of working that a person can ask an agent to take."""

from __future__ import annotations

from muxpilot.errors import BadInput
from muxpilot.records import record


@record
class PromptArgument:
    name: str
    description: str
    is_required: bool


@record
class Prompt:
    name: str
    description: str
    arguments: tuple[PromptArgument, ...]
    text: str

    def filled(self, given: dict[str, str]) -> str:
        names = [argument.name for argument in self.arguments]
        for name in given:
            if name not in names:
                raise BadInput(f"There is no argument {name!r}.", f"The arguments are: {', '.join(names)}.")
        for argument in self.arguments:
            if argument.is_required and not given.get(argument.name, "").strip():
                raise BadInput(f"The argument {argument.name!r} is missing.", f"Give {argument.description}.")
        values = {argument.name: given.get(argument.name, "") or "(not given)" for argument in self.arguments}
        return self.text.format(**values)


PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "debug-service",
            "Start a service in a pane of its own, watch it, and find out why it misbehaves.",
            (
                PromptArgument("command", "the command that starts the service", is_required=True),
                PromptArgument("symptom", "what goes wrong", is_required=False),
            ),
            "Debug this service with the tmux tools.\n"
            "Command: {command}\nSymptom: {symptom}\n\n"
            "1. create-session with a name for it, so that a person can attach and look on.\n"
            "2. start-and-watch the command in its pane until it is ready or fails.\n"
            "3. Provoke the symptom from a second pane (split-pane, execute-command); read only what is new "
            "with read-pane and its cursor.\n"
            "4. Tell the cause with the lines that prove it, then the smallest change that mends it.\n"
            "Leave the session open, and say how to attach to it.",
        ),
        Prompt(
            "run-and-report",
            "Run a command to its end and report its result, its exit code and what matters of its output.",
            (PromptArgument("command", "the command to run", is_required=True),),
            "Run this command in a tmux pane and report on it: {command}\n\n"
            "Use a session of your own (create-session) and execute-command. If it waits for input, say what "
            "it asks for instead of guessing. Report the exit code, how long it took, and the lines that "
            "matter, quoted exactly.",
        ),
        Prompt(
            "drive-tui",
            "Drive a full-screen program, such as an editor or an installer, one look and one act at a time.",
            (
                PromptArgument("program", "the program to drive", is_required=True),
                PromptArgument("goal", "what shall be done in it", is_required=True),
            ),
            "Drive {program} in a tmux pane until this is done: {goal}\n\n"
            "Start it with create-session or split-pane. Then, until the goal is reached: capture-pane to "
            "look, decide on one step, send-keys to take it (literal: false for keys such as Escape, Up or "
            "C-x), and look again before the next. Never send keys blindly. Leave the program as it asks to "
            "be left.",
        ),
    )
}
