"""What a text would make a shell run, and what keeps it from being judged."""

from __future__ import annotations

import re

from muxpilot.policy.shell import other_shells
from muxpilot.policy.shell.reader import TOO_MUCH, Reader, Statement, is_too_much
from muxpilot.records import record

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SINGLE_QUOTED = re.compile(r"'[^']*'")
# What an interactive shell replaces by a line of its history.
_HISTORY = re.compile(r"(?<![\\$\[{(])!(?=[\w!?$^*#-])|(?:^|\n)\^")


@record
class Reading:
    """`problem` says why the text cannot be judged; `is_shell` is false where the grammar does not fit.

    `doubt` says why some shell may read it otherwise: what it might run then is among the statements.
    """

    statements: tuple[Statement, ...]
    problem: str | None = None
    is_shell: bool = True
    doubt: str | None = None


def read(text: str, *, is_at_prompt: bool = False) -> Reading:
    """The statements of a text that somebody wants a shell to run; at its prompt it may read it otherwise."""
    if is_too_much(text):
        return Reading((), TOO_MUCH)
    reader = Reader()
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if _CONTROLS.search(plain):
        reader.problems.append("it holds control characters, which edit the line")
    if _HISTORY.search(_SINGLE_QUOTED.sub("''", plain)):
        reader.problems.append("it may recall a line of the shell's history")
    reader.text(plain)
    others = [*other_shells.readings(plain, is_at_prompt=is_at_prompt)]
    for _, variant in others:
        reader.otherwise(variant)
    problem = reader.problems[0] if reader.problems else None
    return Reading(tuple(reader.statements), problem, reader.is_shell, others[0][0] if others else None)


def read_variable(pair: str) -> Reading:
    """What NAME=value in the environment of a shell would make it run."""
    reader = Reader()
    reader.assigned(pair, is_fixed=True)
    return Reading(tuple(reader.statements), reader.problems[0] if reader.problems else None)
