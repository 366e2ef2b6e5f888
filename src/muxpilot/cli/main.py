"""`muxpilot` and `tmux-mcp`: run a command. Each command is a module of its own, imported when used."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from muxpilot import trace
from muxpilot.cli.arguments import SETTING_FLAGS, build_parser
from muxpilot.cli.import_time import leave_out_openssl, pause_garbage_collection
from muxpilot.config.environment import variables
from muxpilot.config.flags import load_settings
from muxpilot.config.model import Settings
from muxpilot.errors import MuxpilotError

# Hints name tools, for agents. A person at a terminal has commands instead.
_TERMINAL_HINTS = {
    "Use list-panes to see": "Run muxpilot ps to see",
    "Use list-sessions to see": "Run muxpilot ps to see",
    "the commandId that execute-command answered": "one that muxpilot run --detach or muxpilot ps printed",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code. An error that has a message exits with 2."""
    arguments = _parse_arguments(build_parser(), argv)
    try:
        settings = _settings_from(arguments)
        trace.configure(settings.log_level)
        with pause_garbage_collection(), leave_out_openssl():
            command = importlib.import_module(f"muxpilot.cli.{arguments.command or 'serve'}")
        code: int = command.run(settings, arguments)
    except BrokenPipeError:  # the program that reads our output has stopped reading
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MuxpilotError as error:
        print(f"muxpilot: {_name_commands(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return code


def _name_commands(text: str) -> str:
    """Return the text of an error with commands in place of the tools that its hint names."""
    for hint, words in _TERMINAL_HINTS.items():
        text = text.replace(hint, words)
    return text


def _settings_from(arguments: argparse.Namespace) -> Settings:
    """Load the settings. `doctor` reports a bad config file itself, so its error is kept."""
    flags = {name: getattr(arguments, name) for name in SETTING_FLAGS}
    arguments.config_fault = None
    try:
        return load_settings(variables(), **flags)
    except MuxpilotError as fault:
        if arguments.command != "doctor":
            raise
        arguments.config_fault = fault
        return load_settings({**variables(), "TMUX_MCP_CONFIG": ""}, **{**flags, "config": None})


def _parse_arguments(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse, and refuse `--flag=--`: before Python 3.13 argparse makes an empty list of it."""
    arguments = parser.parse_args(argv)
    for name, value in vars(arguments).items():
        if value == [] and name != "server":
            parser.error(f"argument --{name.replace('_', '-')}: expected one argument")
    return arguments
