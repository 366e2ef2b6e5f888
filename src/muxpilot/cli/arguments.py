"""The arguments of the command line: the flags that are settings, and those of each command."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable, Mapping
from typing import Any

from muxpilot import __version__, trace
from muxpilot.config.model import PRESET_NAMES, SHELL_TYPES
from muxpilot.config.scope import Scope

# A flag, and what argparse needs to know of it.
Flags = Mapping[str, Mapping[str, Any]]
# Adds a command by its name and its description, with the common flags.
AddCommand = Callable[[str, str], ArgumentParser]

# The rows of mcp_clients/table.py, which most commands do not load.
CLIENTS = tuple(
    "claude codex cursor vscode opencode gemini qwen copilot amp droid auggie cline".split()
    + "claude-desktop zed windsurf goose".split()
)

# Flags that may come before or after a command.
_COMMON_FLAGS: Flags = {
    "--scope": {
        "help": f"which tools to offer: {', '.join(scope.value for scope in Scope)} (TMUX_MCP_SCOPE)",
    },
    "--socket": {
        "metavar": "PATH",
        "help": "socket of the tmux server (TMUX_MCP_SOCKET)",
    },
    "--ssh": {
        "metavar": "'OPTIONS DEST'",
        "help": "use the tmux server on another host (TMUX_MCP_SSH)",
    },
    "--exec": {
        "dest": "exec_command",
        "metavar": "COMMAND",
        "help": "use the tmux server in a container: 'docker exec -i web' (TMUX_MCP_EXEC)",
    },
    "--shell-type": {
        "choices": SHELL_TYPES,
        "help": "the shell to assume where muxpilot cannot detect it",
    },
    "--config": {
        "metavar": "PATH",
        "help": "a TOML file (TMUX_MCP_CONFIG)",
    },
    "--audit": {
        "metavar": "PATH",
        "help": "log every call as a line of JSON (TMUX_DEBUG_AUDIT)",
    },
    "--audit-full": {
        "metavar": "DIR",
        "help": "save every capture (TMUX_DEBUG_AUDIT_FULL)",
    },
    "--channel": {
        "action": "store_true",
        "help": "push the results of watches (Claude Code)",
    },
    "--workspace": {
        "metavar": "NAME",
        "help": "the session of named panes (MUXPILOT_WORKSPACE; agent-FOLDER)",
    },
    "--log-level": {
        "metavar": "LEVEL",
        "help": f"log to stderr: {', '.join(trace.LEVELS)}, "
        "or debug:shells,watch for some areas (MUXPILOT_LOG)",
    },
}

# Flags of the server, which has no command.
_SERVER_FLAGS: Flags = {
    "--http": {
        "metavar": "HOST:PORT",
        "help": "serve MCP over Streamable HTTP instead of stdio",
    },
    "--http-token-file": {
        "metavar": "PATH",
        "help": "require the bearer token that is in this file",
    },
    "--http-workers": {
        "metavar": "N",
        "help": "serve --http with N processes (1)",
    },
}

# The names of these flags as arguments of config.load_settings.
SETTING_FLAGS = tuple(
    options.get("dest") or flag.removeprefix("--").replace("-", "_")
    for flag, options in {**_COMMON_FLAGS, **_SERVER_FLAGS}.items()
)

_DESCRIPTION = "Give AI agents tmux. Without a command, muxpilot serves MCP on stdin and stdout."


def build_parser() -> ArgumentParser:
    """Return the parser of the whole command line, with every command."""
    parser = ArgumentParser(prog="muxpilot", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"muxpilot {__version__}")
    _add_flags(parser, _COMMON_FLAGS, default=None)
    _add_flags(parser, _SERVER_FLAGS, default=None)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def add(name: str, words: str) -> ArgumentParser:
        command = commands.add_parser(name, help=words, description=words)
        _add_flags(command, _flags_of_command(name), default=SUPPRESS)  # an absent flag changes nothing
        return command

    _add_terminal_commands(add)
    _add_other_commands(add, parser)
    return parser


def _add_terminal_commands(add: AddCommand) -> None:
    """Add the commands that work in panes."""
    _add_run(add("run", "run a command in a pane, print its output and exit with its exit code"))
    _add_wait(add("wait", "wait until a command ends or something happens in a pane, and say what"))
    _add_logs(add("logs", "print what a pane or a command has printed"))
    _add_json(add("ps", "list workspaces, panes and running commands, with what each waits for"))
    _add_send(add("send", "type a line into a pane, or press keys"))
    _add_clean(add("clean", "end sessions and panes that agents have left behind"))


def _add_other_commands(add: AddCommand, parser: ArgumentParser) -> None:
    """Add the commands that do not work in panes, in the order of the help."""
    add("doctor", "check this machine and the configuration, and say what to fix")
    _add_tools(add("tools", "list the tools of a scope"))
    _add_call(add("call", "call one tool and print its answer"))
    _add_policy(add("policy", "say whether a call is allowed, and which key decides"))
    _add_replay(add("replay", "play a recording of a pane in this terminal"))
    _add_view(add("view", "serve a local web page that shows what agents do, live"))
    _add_sandbox(add("sandbox", "serve from inside bubblewrap: one folder, no network"))
    _add_install(add("install", "add muxpilot to an MCP client's configuration"))
    _add_completion(add("completion", "print the script that completes this command line"), parser)


def _flags_of_command(name: str) -> Flags:
    """Return the common flags. `sandbox` has a flag --workspace of its own, for a folder."""
    left_out = "--workspace" if name == "sandbox" else ""
    return {flag: options for flag, options in _COMMON_FLAGS.items() if flag != left_out}


def _add_flags(parser: ArgumentParser, flags: Flags, *, default: str | None) -> None:
    for flag, options in flags.items():
        parser.add_argument(flag, default=default, **options)


def _add_run(parser: ArgumentParser) -> None:
    parser.add_argument("-p", "--pane", metavar="PANE", help="where to run it (main of the workspace)")
    parser.add_argument("--cwd", metavar="DIR", help="the folder, if a pane has to be opened")
    _add_timeout(parser, "stop waiting after S seconds with exit code 124; the command goes on")
    parser.add_argument("--detach", action="store_true", help="print the commandId, and do not wait")
    _add_json(parser, "print the result as JSON when it is done")
    parser.add_argument(
        "words", metavar="COMMAND", nargs="+", help="one line of shell, or several words, which are quoted"
    )


def _add_wait(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="COMMAND_ID|PANE")
    parser.add_argument("--until", metavar="TRIGGERS", help="such as exit, pattern:REGEX or port:8000")
    _add_timeout(parser, "stop waiting after S seconds with exit code 124")
    _add_json(parser)


def _add_logs(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="PANE|COMMAND_ID")
    parser.add_argument("-f", "--follow", action="store_true", help="also print what comes")
    parser.add_argument(
        "--since", metavar="CURSOR", help="only what is new since a cursor; of a command, bytes to skip"
    )
    parser.add_argument("-n", "--lines", type=int, metavar="N", help="only the last N lines of a pane")
    _add_json(parser)


def _add_send(parser: ArgumentParser) -> None:
    parser.add_argument("pane", metavar="PANE")
    parser.add_argument("text", metavar="TEXT", nargs="*", default=(), help="the line to type, with Enter")
    parser.add_argument("--keys", metavar="KEYS", help="press keys only, such as 'C-c' or 'Up Enter'")
    _add_json(parser)


def _add_clean(parser: ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would be ended")
    parser.add_argument("--running", action="store_true", help="also end sessions in which programs run")
    _add_json(parser)


def _add_timeout(parser: ArgumentParser, words: str) -> None:
    parser.add_argument("--timeout", type=float, metavar="S", help=words)


def _add_json(parser: ArgumentParser, words: str = "print JSON") -> None:
    parser.add_argument("--json", action="store_true", help=words)


def _add_tools(parser: ArgumentParser) -> None:
    _add_json(parser, "print them as an MCP client gets them")


def _add_call(parser: ArgumentParser) -> None:
    parser.add_argument("tool", metavar="TOOL")
    parser.add_argument("arguments", metavar="JSON", nargs="?", default="{}", help="the tool's arguments")


def _add_policy(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("explain",))
    parser.add_argument("tool", metavar="TOOL")
    parser.add_argument(
        "arguments", metavar="JSON", nargs="?", help="the tool's arguments; without them, judge the tool"
    )


def _add_replay(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.cast")
    parser.add_argument("--speed", type=float, default=1.0, metavar="N", help="play N times as fast")
    parser.add_argument(
        "--idle", type=float, default=2.0, metavar="S", help="shorten pauses to S seconds (2)"
    )
    parser.add_argument("--gif", metavar="OUT.gif", help="write an animated GIF instead")
    parser.add_argument(
        "--theme", choices=("dark", "light"), default="dark", help="colours of the GIF (dark)"
    )


def _add_view(parser: ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=0, metavar="N", help="listen on this port (any free one)")


def _add_sandbox(parser: ArgumentParser) -> None:
    folder = "the folder; it is /workspace inside (.)"
    parser.add_argument("--workspace", default=".", dest="folder", metavar="DIR", help=folder)
    parser.add_argument("--net", action="store_true", help="allow network access")
    parser.add_argument("server", metavar="-- ARGS", nargs="*", help="arguments for the server")


def _add_install(parser: ArgumentParser) -> None:
    parser.add_argument("client", choices=CLIENTS, metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument("--user", action="store_true", help="for all your folders, not only this one")
    parser.add_argument(
        "--preset", choices=PRESET_NAMES, help="also write a configuration with this security.preset"
    )
    parser.add_argument("--uninstall", action="store_true", help="take muxpilot out again")
    parser.add_argument(
        "--print", action="store_true", dest="only_print", help="only show what would be written"
    )


def _add_completion(parser: ArgumentParser, whole: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
    parser.set_defaults(parser=whole)
