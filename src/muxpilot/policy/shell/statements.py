"""Read the statements of a text, and the reasons why it cannot be judged."""

from __future__ import annotations

import re

from muxpilot.policy.shell import other_shells
from muxpilot.policy.shell.reader import TOO_MUCH, Statement, StatementReader, is_too_much
from muxpilot.records import record

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SINGLE_QUOTED = re.compile(r"'[^']*'")
# Text that an interactive shell replaces by a line of its history.
_HISTORY = re.compile(r"(?<![\\$\[{(])!(?=[\w!?$^*#-])|(?:^|\n)\^")


@record
class ShellReading:
    """The statements of a text.

    `problem` says why the text cannot be judged. `is_shell` is false where the grammar does not match.
    `doubt` says why another shell may read it differently; what that shell would run is in `statements`.
    """

    statements: tuple[Statement, ...]
    problem: str | None = None
    is_shell: bool = True
    doubt: str | None = None


def read_statements(text: str, *, is_at_prompt: bool = False) -> ShellReading:
    """Return the statements of a text. At its prompt, a shell may read it differently than in a script."""
    if is_too_much(text):
        return ShellReading((), TOO_MUCH)
    reader = StatementReader()
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if _CONTROLS.search(plain):
        reader.problems.append("it holds control characters, which edit the line")
    if _HISTORY.search(_SINGLE_QUOTED.sub("''", plain)):
        reader.problems.append("it may recall a line of the shell's history")
    reader.read_text(plain)
    others = [*other_shells.other_readings(plain, is_at_prompt=is_at_prompt)]
    for _, variant in others:
        reader.read_as_other_shell(variant)
    problem = reader.problems[0] if reader.problems else None
    return ShellReading(tuple(reader.statements), problem, reader.is_shell, others[0][0] if others else None)


def read_variable(pair: str) -> ShellReading:
    """Return the statements that NAME=value in the environment makes a shell run."""
    reader = StatementReader()
    reader.read_assignment(pair, is_fixed=True)
    return ShellReading(tuple(reader.statements), reader.problems[0] if reader.problems else None)
