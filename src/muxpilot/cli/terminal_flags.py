"""The arguments of the commands that work in panes: run, wait, logs, ps, send and clean."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable

AddCommand = Callable[[str, str], ArgumentParser]


def add_terminal_commands(add: AddCommand) -> None:
    """Add all six. `add` adds one by its name and its description, with the flags that all have."""
    _add_run(add("run", "run a command in a pane, print its output and exit with its exit code"))
    _add_wait(add("wait", "wait until a command ends or something happens in a pane, and say what"))
    _add_logs(add("logs", "print what a pane or a command has printed"))
    _add_json(add("ps", "list workspaces, panes and running commands, with what each waits for"))
    _add_send(add("send", "type a line into a pane, or press keys"))
    _add_clean(add("clean", "end sessions and panes that agents have left behind"))


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
