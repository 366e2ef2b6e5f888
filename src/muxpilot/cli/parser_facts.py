"""What the parser of the command line offers, as records, for the man page and the completion of shells."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from muxpilot.config.scope import Scope
from muxpilot.records import record

# What a value is, by its name in the help.
FILE, FOLDER = "file", "folder"
_KINDS = {"PATH": FILE, "FILE.cast": FILE, "OUT.gif": FILE, "DIR": FOLDER}


@record
class ArgumentFact:
    """A flag or a positional argument. `kind` is a file, a folder or empty; `choices` are its values."""

    flags: tuple[str, ...]
    metavar: str
    words: str
    choices: tuple[str, ...]
    kind: str
    takes_value: bool


@record
class CommandFact:
    """A subcommand, or with an empty name the program itself."""

    name: str
    words: str
    flags: tuple[ArgumentFact, ...]
    positionals: tuple[ArgumentFact, ...]


def read_parser(parser: argparse.ArgumentParser) -> list[CommandFact]:
    """Return the program and its subcommands, in the order of the help."""
    commands = [_command("", parser.description or "", parser)]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                commands.append(_command(name, inner.description or "", inner))
    return commands


def _command(name: str, words: str, parser: argparse.ArgumentParser) -> CommandFact:
    rows = list(_arguments(parser))
    flags = tuple(row for row in rows if row.flags)
    return CommandFact(name, words, flags, tuple(row for row in rows if not row.flags))


def _arguments(parser: argparse.ArgumentParser) -> Iterator[ArgumentFact]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            continue
        takes_value = action.nargs != 0
        metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
        yield ArgumentFact(
            flags=tuple(action.option_strings),
            metavar=metavar if takes_value else "",
            words=(action.help or "") if action.help != argparse.SUPPRESS else "",
            choices=_choices_of(action, metavar),
            kind=_KINDS.get(metavar, ""),
            takes_value=takes_value,
        )


def _choices_of(action: argparse.Action, metavar: str) -> tuple[str, ...]:
    if action.choices is not None:
        return tuple(str(choice) for choice in action.choices)
    if action.dest == "scope":
        return tuple(scope.value for scope in Scope)
    if metavar == "TOOL":
        from muxpilot.tools import TOOLS

        return tuple(sorted(tool.name for tool in TOOLS if tool.scopes))
    return ()
