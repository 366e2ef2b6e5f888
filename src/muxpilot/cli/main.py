"""`muxpilot` and `tmux-mcp`: arguments only. What a command does is in its own file, loaded when asked."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from muxpilot import __version__
from muxpilot.config import SHELL_TYPES, Settings, settings
from muxpilot.config.scope import Scope
from muxpilot.errors import MuxpilotError

CLIENTS = ("claude", "codex", "cursor", "vscode", "opencode")

# Flags that are settings; each is an argument of config.settings.
_SETTINGS = (
    "scope",
    "socket",
    "ssh",
    "shell_type",
    "config",
    "audit",
    "audit_full",
    "channel",
    "http",
    "http_token_file",
)

_DESCRIPTION = "The tmux server for AI agents. Without a command it serves MCP on stdin and stdout."


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parsed(_parser(), argv)
    try:
        chosen = _settings(arguments)
        command = importlib.import_module(f"muxpilot.cli.{arguments.command or 'serve'}")
        code: int = command.run(chosen, arguments)
    except BrokenPipeError:  # whoever read us has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MuxpilotError as error:
        print(f"muxpilot: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return code


def _settings(arguments: argparse.Namespace) -> Settings:
    """For the doctor, what there is besides a config that is not good: that is what it is asked about."""
    flags = {name: getattr(arguments, name) for name in _SETTINGS}
    arguments.config_fault = None
    try:
        return settings(os.environ, **flags)
    except MuxpilotError as fault:
        if arguments.command != "doctor":
            raise
        arguments.config_fault = fault
        return settings({**os.environ, "TMUX_MCP_CONFIG": ""}, **{**flags, "config": None})


def _parsed(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """`--flag=--` is an empty list to argparse (before Python 3.13), and would pass for a value."""
    arguments = parser.parse_args(argv)
    for name, value in vars(arguments).items():
        if value == [] and name != "server":
            parser.error(f"argument --{name.replace('_', '-')}: expected one argument")
    return arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="muxpilot", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"muxpilot {__version__}")
    _common(parser)
    parser.add_argument("--http", metavar="HOST:PORT", help="serve MCP by Streamable HTTP instead of stdio")
    parser.add_argument("--http-token-file", metavar="PATH", help="ask for the bearer token in this file")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _command(commands, "doctor", "say whether everything is in place, and what to do where it is not")
    listing = _command(commands, "tools", "list the tools of a scope")
    listing.add_argument("--json", action="store_true", help="as an MCP client gets them")
    call = _command(commands, "call", "call one tool and print its answer")
    call.add_argument("tool", metavar="TOOL")
    call.add_argument("arguments", metavar="JSON", nargs="?", default="{}", help="its arguments")
    policy = _command(commands, "policy", "say whether a call is allowed, and which key decides")
    policy.add_argument("action", choices=("explain",))
    policy.add_argument("tool", metavar="TOOL")
    policy.add_argument(
        "arguments", metavar="JSON", nargs="?", help="its arguments; without, the tool itself"
    )
    replay = _command(commands, "replay", "show a recording of a pane in this terminal")
    replay.add_argument("file", metavar="FILE.cast")
    replay.add_argument("--speed", type=float, default=1.0, metavar="N", help="so many times as fast")
    replay.add_argument("--idle", type=float, default=2.0, metavar="S", help="no pause is longer (2)")
    replay.add_argument("--gif", metavar="OUT.gif", help="make a moving picture of it instead")
    replay.add_argument("--theme", choices=("dark", "light"), default="dark", help="its colours (dark)")
    view = _command(commands, "view", "serve a page on this machine that shows what agents do, live")
    view.add_argument("--port", type=int, default=0, metavar="N", help="on this port (any that is free)")
    sandbox = _command(commands, "sandbox", "serve from inside bubblewrap: one folder, no network")
    sandbox.add_argument("--workspace", default=".", metavar="DIR", help="the folder, inside /workspace (.)")
    sandbox.add_argument("--net", action="store_true", help="let it reach the network")
    sandbox.add_argument("server", metavar="-- ARGS", nargs="*", help="the server's own arguments")
    install = _command(commands, "install", "enter muxpilot into an MCP client's configuration")
    install.add_argument("client", choices=CLIENTS)
    install.add_argument(
        "--print", action="store_true", dest="only_print", help="only show what would be written"
    )
    return parser


def _common(parser: argparse.ArgumentParser, *, is_main: bool = True) -> None:
    """Flags that stand before a command or after it; after it, one that is not given changes nothing."""
    missing = None if is_main else argparse.SUPPRESS
    scopes = ", ".join(scope.value for scope in Scope)
    parser.add_argument(
        "--scope", default=missing, help=f"which tools are offered: {scopes} (TMUX_MCP_SCOPE)"
    )
    parser.add_argument("--socket", default=missing, metavar="PATH", help="the tmux server (TMUX_MCP_SOCKET)")
    parser.add_argument(
        "--ssh",
        default=missing,
        metavar="'OPTIONS DEST'",
        help="the tmux server is on another host (TMUX_MCP_SSH)",
    )
    parser.add_argument(
        "--shell-type",
        default=missing,
        choices=SHELL_TYPES,
        help="a hint for panes whose shell is not detected",
    )
    parser.add_argument("--config", default=missing, metavar="PATH", help="a TOML file (TMUX_MCP_CONFIG)")
    parser.add_argument(
        "--audit", default=missing, metavar="PATH", help="log every call as a line of JSON (TMUX_DEBUG_AUDIT)"
    )
    parser.add_argument(
        "--audit-full", default=missing, metavar="DIR", help="keep every capture (TMUX_DEBUG_AUDIT_FULL)"
    )
    parser.add_argument(
        "--channel", default=missing, action="store_true", help="push what watches come to (Claude Code)"
    )


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, words: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=words, description=words)
    _common(parser, is_main=False)
    return parser
