"""Prompts: tasks with instructions that a person can give to an agent."""

from __future__ import annotations

from typing import Any

from muxpilot.errors import BadInput
from muxpilot.records import record


@record
class PromptArgument:
    """A value that the person gives."""

    name: str
    description: str
    is_required: bool


@record
class PromptTemplate:
    """A prompt with places for its arguments."""

    name: str
    description: str
    arguments: tuple[PromptArgument, ...]
    text: str

    @property
    def listing(self) -> dict[str, Any]:
        """Return the prompt as prompts/list shows it."""
        arguments = [
            {"name": row.name, "description": row.description, "required": row.is_required}
            for row in self.arguments
        ]
        return {"name": self.name, "description": self.description, "arguments": arguments}

    def fill(self, given: dict[str, str]) -> str:
        """Return the text with the arguments filled in. Raise BadInput for a missing or unknown one."""
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
        PromptTemplate(
            "debug-service",
            "Start a service in its own pane, watch it, and find out why it misbehaves.",
            (
                PromptArgument("command", "the command that starts the service", is_required=True),
                PromptArgument("symptom", "what goes wrong", is_required=False),
            ),
            "Debug this service with the tmux tools.\n"
            "Command: {command}\nSymptom: {symptom}\n\n"
            "1. Use create-session with a name, so that a person can attach and watch.\n"
            "2. Use start-and-watch to start the command in that pane, until it is ready or fails.\n"
            "3. Provoke the symptom from a second pane (split-pane, execute-command). Read only new output, "
            "with read-pane and its cursor.\n"
            "4. Report the cause with the lines that prove it, and the smallest change that fixes it.\n"
            "Leave the session open, and say how to attach to it.",
        ),
        PromptTemplate(
            "run-and-report",
            "Run a command to its end and report its result, its exit code and the important output.",
            (PromptArgument("command", "the command to run", is_required=True),),
            "Run this command in a tmux pane and report on it: {command}\n\n"
            "Use your own session (create-session) and execute-command. If the command waits for input, say "
            "what it asks for; do not guess. Report the exit code, the time it took, and the important "
            "lines, quoted exactly.",
        ),
        PromptTemplate(
            "drive-tui",
            "Drive a full-screen program, such as an editor or an installer, one step at a time.",
            (
                PromptArgument("program", "the program to drive", is_required=True),
                PromptArgument("goal", "what to do in it", is_required=True),
            ),
            "Drive {program} in a tmux pane until this is done: {goal}\n\n"
            "Start it with create-session or split-pane, and look with capture-pane. Then repeat until "
            "the goal is reached: decide on one step, take it with send-keys (literal: false for keys like "
            "Escape, Up or C-x) and until: quiet:300, and read in the answer what changed and what is "
            "highlighted. Quit the program in its own way.",
        ),
    )
}
