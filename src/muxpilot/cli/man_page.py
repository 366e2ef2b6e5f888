"""Write the man page, docs/muxpilot.1, from the parser of the command line. `./dev docs` does that."""

from __future__ import annotations

from muxpilot import __version__
from muxpilot.cli.parser_facts import ArgumentFact, CommandFact

_DESCRIPTION = """\
.B muxpilot
gives AI agents tmux. Without a command it serves MCP on stdin and stdout; stdout carries the protocol only,
logs go to stderr. It needs tmux 3.2 or newer.
.B tmux\\-mcp
is the same program.
"""
_EXIT = """\
.SH EXIT STATUS
0 if all went well, 2 if an argument or the configuration is wrong.
.B run
exits with the exit code of its command, with 124 at the timeout, and with 125 if the command waits for input;
.B wait
exits with 1 if the command failed.
.SH SEE ALSO
.BR tmux (1)
"""


def man_page(commands: list[CommandFact]) -> str:
    """Return the page as roff."""
    main, *others = commands
    parts = [
        f'.TH MUXPILOT 1 "" "muxpilot {__version__}" "User Commands"\n',
        ".SH NAME\nmuxpilot, tmux\\-mcp \\- give AI agents tmux\n",
        ".SH SYNOPSIS\n.B muxpilot\n[OPTIONS]\n.br\n.B muxpilot\nCOMMAND [OPTIONS] [ARGUMENTS]\n",
        ".SH DESCRIPTION\n" + _DESCRIPTION,
        ".SH OPTIONS\nThese may also stand behind a command, except those of HTTP.\n",
        *(_argument(row) for row in main.flags),
        ".SH COMMANDS\n",
    ]
    shared = {row.flags for row in main.flags}
    for command in others:
        names = " ".join(_roff(row.metavar) for row in command.positionals)
        parts.append(f'.SS "muxpilot {_roff(command.name)}{" " + names if names else ""}"\n')
        parts.append(_sentence(command.words))
        own = [row for row in command.flags if row.flags not in shared or _differs(row, main)]
        parts += [_argument(row) for row in (*command.positionals, *own) if row.words]
    return "".join(parts) + _EXIT


def _differs(row: ArgumentFact, main: CommandFact) -> bool:
    return row not in main.flags


def _argument(row: ArgumentFact) -> str:
    names = ", ".join(f"\\fB{_roff(flag)}\\fR" for flag in row.flags) or f"\\fI{_roff(row.metavar)}\\fR"
    value = f" \\fI{_roff(row.metavar)}\\fR" if row.flags and row.metavar else ""
    return f".TP\n{names}{value}\n{_sentence(row.words)}"


def _sentence(words: str) -> str:
    return _roff(words[:1].upper() + words[1:]).rstrip(".") + ".\n"


def _roff(text: str) -> str:
    """Escape a text: backslashes, hyphens, and a dot or quote that would begin a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return "\\&" + escaped if escaped[:1] in (".", "'") else escaped
