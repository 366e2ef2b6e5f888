"""`muxpilot` and `tmux-mcp`: parse the arguments. Each command is a module of its own, imported when used."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from muxpilot import __version__, trace
from muxpilot.cli.import_time import leave_out_openssl, pause_garbage_collection
from muxpilot.cli.terminal_flags import add_terminal_commands
from muxpilot.config.environment import variables
from muxpilot.config.flags import load_settings
from muxpilot.config.model import PRESET_NAMES, SHELL_TYPES, Settings
from muxpilot.config.scope import Scope
from muxpilot.errors import MuxpilotError

# The rows of mcp_clients/table.py, which most commands do not load.
CLIENTS = tuple(
    "claude codex cursor vscode opencode gemini qwen copilot amp droid auggie cline".split()
    + "claude-desktop zed windsurf goose".split()
)

# Flags that are settings. Each is an argument of config.load_settings.
_SETTING_FLAGS = (
    "scope",
    "socket",
    "ssh",
    "exec_command",
    "shell_type",
    "config",
    "audit",
    "audit_full",
    "channel",
    "http",
    "http_token_file",
    "http_workers",
    "log_level",
    "workspace",
)

# Hints name tools, for agents. A person at a terminal has commands instead.
_TERMINAL_HINTS = {
    "Use list-panes to see": "Run muxpilot ps to see",
    "Use list-sessions to see": "Run muxpilot ps to see",
    "the commandId that execute-command answered": "one that muxpilot run --detach or muxpilot ps printed",
}

_DESCRIPTION = "Give AI agents tmux. Without a command, muxpilot serves MCP on stdin and stdout."


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code. An error that has a message exits with 2."""
    arguments = _parse_arguments(_build_parser(), argv)
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
    flags = {name: getattr(arguments, name) for name in _SETTING_FLAGS}
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


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="muxpilot", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"muxpilot {__version__}")
    _add_common_flags(parser)
    parser.add_argument("--http", metavar="HOST:PORT", help="serve MCP over Streamable HTTP instead of stdio")
    parser.add_argument(
        "--http-token-file", metavar="PATH", help="require the bearer token that is in this file"
    )
    parser.add_argument("--http-workers", metavar="N", help="serve --http with N processes (1)")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    add_terminal_commands(lambda name, words: _add_command(commands, name, words))
    _add_command(commands, "doctor", "check this machine and the configuration, and say what to fix")
    listing = _add_command(commands, "tools", "list the tools of a scope")
    listing.add_argument("--json", action="store_true", help="print them as an MCP client gets them")
    call = _add_command(commands, "call", "call one tool and print its answer")
    call.add_argument("tool", metavar="TOOL")
    call.add_argument("arguments", metavar="JSON", nargs="?", default="{}", help="the tool's arguments")
    policy = _add_command(commands, "policy", "say whether a call is allowed, and which key decides")
    policy.add_argument("action", choices=("explain",))
    policy.add_argument("tool", metavar="TOOL")
    policy.add_argument(
        "arguments", metavar="JSON", nargs="?", help="the tool's arguments; without them, judge the tool"
    )
    replay = _add_command(commands, "replay", "play a recording of a pane in this terminal")
    replay.add_argument("file", metavar="FILE.cast")
    replay.add_argument("--speed", type=float, default=1.0, metavar="N", help="play N times as fast")
    replay.add_argument(
        "--idle", type=float, default=2.0, metavar="S", help="shorten pauses to S seconds (2)"
    )
    replay.add_argument("--gif", metavar="OUT.gif", help="write an animated GIF instead")
    replay.add_argument(
        "--theme", choices=("dark", "light"), default="dark", help="colours of the GIF (dark)"
    )
    view = _add_command(commands, "view", "serve a local web page that shows what agents do, live")
    view.add_argument("--port", type=int, default=0, metavar="N", help="listen on this port (any free one)")
    sandbox = _add_command(commands, "sandbox", "serve from inside bubblewrap: one folder, no network")
    sandbox.add_argument(
        "--workspace",
        default=".",
        dest="folder",
        metavar="DIR",
        help="the folder; it is /workspace inside (.)",
    )
    sandbox.add_argument("--net", action="store_true", help="allow network access")
    sandbox.add_argument("server", metavar="-- ARGS", nargs="*", help="arguments for the server")
    install = _add_command(commands, "install", "add muxpilot to an MCP client's configuration")
    _add_install_flags(install)
    completion = _add_command(commands, "completion", "print the script that completes this command line")
    completion.add_argument(
        "shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish"
    )
    completion.set_defaults(parser=parser)
    return parser


def _add_install_flags(install: argparse.ArgumentParser) -> None:
    install.add_argument("client", choices=CLIENTS, metavar="CLIENT", help=", ".join(CLIENTS))
    install.add_argument("--user", action="store_true", help="for all your folders, not only this one")
    install.add_argument(
        "--preset", choices=PRESET_NAMES, help="also write a configuration with this security.preset"
    )
    install.add_argument("--uninstall", action="store_true", help="take muxpilot out again")
    install.add_argument(
        "--print", action="store_true", dest="only_print", help="only show what would be written"
    )


def _add_common_flags(
    parser: argparse.ArgumentParser, *, is_main: bool = True, has_folder: bool = False
) -> None:
    """Add the flags that may come before or after a command. After it, an absent flag changes nothing.

    The command `sandbox` has a flag `--workspace` of its own, for a folder (`has_folder`).
    """
    missing = None if is_main else argparse.SUPPRESS
    scopes = ", ".join(scope.value for scope in Scope)
    parser.add_argument("--scope", default=missing, help=f"which tools to offer: {scopes} (TMUX_MCP_SCOPE)")
    parser.add_argument(
        "--socket", default=missing, metavar="PATH", help="socket of the tmux server (TMUX_MCP_SOCKET)"
    )
    parser.add_argument(
        "--ssh",
        default=missing,
        metavar="'OPTIONS DEST'",
        help="use the tmux server on another host (TMUX_MCP_SSH)",
    )
    parser.add_argument(
        "--exec",
        default=missing,
        dest="exec_command",
        metavar="COMMAND",
        help="use the tmux server in a container: 'docker exec -i web' (TMUX_MCP_EXEC)",
    )
    parser.add_argument(
        "--shell-type",
        default=missing,
        choices=SHELL_TYPES,
        help="the shell to assume where muxpilot cannot detect it",
    )
    parser.add_argument("--config", default=missing, metavar="PATH", help="a TOML file (TMUX_MCP_CONFIG)")
    parser.add_argument(
        "--audit", default=missing, metavar="PATH", help="log every call as a line of JSON (TMUX_DEBUG_AUDIT)"
    )
    parser.add_argument(
        "--audit-full", default=missing, metavar="DIR", help="save every capture (TMUX_DEBUG_AUDIT_FULL)"
    )
    parser.add_argument(
        "--channel", default=missing, action="store_true", help="push the results of watches (Claude Code)"
    )
    if not has_folder:
        parser.add_argument(
            "--workspace",
            default=missing,
            metavar="NAME",
            help="the session of named panes (MUXPILOT_WORKSPACE; agent-FOLDER)",
        )
    parser.add_argument(
        "--log-level",
        default=missing,
        metavar="LEVEL",
        help=f"log to stderr: {', '.join(trace.LEVELS)}, or debug:shells,watch for some areas (MUXPILOT_LOG)",
    )


def _add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, words: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=words, description=words)
    _add_common_flags(parser, is_main=False, has_folder=name == "sandbox")
    return parser
