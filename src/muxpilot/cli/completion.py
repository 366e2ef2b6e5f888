"""`muxpilot completion SHELL`: print the script that lets bash, zsh or fish complete our command line."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable, Iterable

from muxpilot.cli.parser_facts import FILE, FOLDER, ArgumentFact, CommandFact, read_parser
from muxpilot.config.model import Settings

PROGRAMS = ("muxpilot", "tmux-mcp")
_NO_COMMAND = '""'


def run(settings: Settings, arguments: Namespace) -> int:
    """Print the script for a shell."""
    print(SCRIPTS[arguments.shell](read_parser(arguments.parser)), end="")
    return 0


def bash_script(commands: list[CommandFact]) -> str:
    """Return the script for bash. It needs nothing of the package bash-completion."""
    others = commands[1:]
    names = " ".join(command.name for command in others)
    with_value = "|".join(
        _unique(flag for c in commands for row in c.flags if row.takes_value for flag in row.flags)
    )
    rows = [row for command in commands for row in command.flags if row.takes_value]
    values = _unique(f"        {'|'.join(row.flags)}) {_bash_value(row)}; return ;;" for row in rows)
    words = [
        f"        {command.name or _NO_COMMAND}) words={_quote(' '.join(_bash_words(command, names)))} ;;"
        for command in commands
    ]
    files = "|".join(c.name for c in others if any(row.kind == FILE for row in c.positionals))
    return _BASH.format(
        names=names.replace(" ", "|"),
        with_value=with_value,
        values="\n".join(values),
        words="\n".join(words),
        files=files,
        programs=" ".join(PROGRAMS),
    )


_BASH = """\
# Completion of muxpilot for bash. Written by `muxpilot completion bash`; load it with:
#   source <(muxpilot completion bash)
_muxpilot() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command= words= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${{COMP_WORDS[i]}} in
            --) COMPREPLY=($(compgen -c -f -- "$word")); return ;;
            {with_value}) i=$((i + 1)) ;;
            {names}) command=${{command:-${{COMP_WORDS[i]}}}} ;;
        esac
    done
    case $before in
{values}
    esac
    case $command in
        {files}) [[ $word == -* ]] || {{ COMPREPLY=($(compgen -f -- "$word")); return; }} ;;
    esac
    case $command in
{words}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o filenames -F _muxpilot {programs}
"""


def _bash_words(command: CommandFact, names: str) -> list[str]:
    flags = [flag for row in command.flags for flag in row.flags]
    choices = [choice for row in command.positionals for choice in row.choices]
    return [*choices, *([names] if not command.name else []), *flags]


def _bash_value(row: ArgumentFact) -> str:
    if row.choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(row.choices)}" -- "$word"))'
    kinds = {FILE: "-f", FOLDER: "-d"}
    return f'COMPREPLY=($(compgen {kinds[row.kind]} -- "$word"))' if row.kind else ":"


def zsh_script(commands: list[CommandFact]) -> str:
    """Return the script for zsh. It works from a folder of `fpath`, and when it is sourced."""
    main, *others = commands
    names = " ".join(_quote(f"{command.name}:{_zsh_text(command.words)}") for command in others)
    cases = "\n".join(
        f"                {command.name})\n                    _arguments -S {_zsh_rows(command, ' ' * 24)}\n"
        "                    ;;"
        for command in others
    )
    return _ZSH.format(programs=" ".join(PROGRAMS), main=_zsh_rows(main, " " * 8), names=names, cases=cases)


_ZSH = """\
#compdef {programs}
# Completion of muxpilot for zsh. Written by `muxpilot completion zsh`. Put it into a folder of fpath as
# _muxpilot, or load it after compinit with: source <(muxpilot completion zsh)
_muxpilot() {{
    local curcontext=$curcontext state line
    typeset -A opt_args
    _arguments -C {main} \\
        '1:command:->command' '*::argument:->argument'
    case $state in
        command)
            local -a commands=({names})
            _describe command commands
            ;;
        argument)
            case $line[1] in
{cases}
            esac
            ;;
    esac
}}
if [[ $funcstack[1] == _muxpilot ]]; then _muxpilot "$@"; else compdef _muxpilot {programs}; fi
"""


def _zsh_rows(command: CommandFact, indent: str) -> str:
    rows = [_zsh_flag(flag, row) for row in command.flags for flag in row.flags]
    rows += [
        _quote(f"{'*' if row is command.positionals[-1] else ''}:{_zsh_value(row)}")
        for row in command.positionals
    ]
    return "".join(f"\\\n{indent}{row} " for row in rows).rstrip()


def _zsh_flag(flag: str, row: ArgumentFact) -> str:
    value = f":{_zsh_value(row)}" if row.takes_value else ""
    return _quote(f"{flag}[{_zsh_text(row.words)}]{value}")


def _zsh_value(row: ArgumentFact) -> str:
    actions = {FILE: "_files", FOLDER: "_files -/"}
    action = f"({' '.join(row.choices)})" if row.choices else actions.get(row.kind, " ")
    return f"{_zsh_text(row.metavar)}:{action}"


def _zsh_text(text: str) -> str:
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def fish_script(commands: list[CommandFact]) -> str:
    """Return the script for fish."""
    main, *others = commands
    names = " ".join(command.name for command in others)
    before = f"not __fish_seen_subcommand_from {names}"
    lines = [f"complete -c muxpilot -f -n {_quote(before)} -a {c.name} -d {_quote(c.words)}" for c in others]
    lines += [_fish_flag(row, before) for row in main.flags]
    for command in others:
        condition = f"__fish_seen_subcommand_from {command.name}"
        lines += [_fish_flag(row, condition) for row in command.flags]
        for row in command.positionals:
            given = "-F" if row.kind else f"-f -a {_quote(' '.join(row.choices))}" if row.choices else ""
            lines += [f"complete -c muxpilot {given} -n {_quote(condition)}"] if given else []
    return _FISH + "\n".join([*lines, *(f"complete -c {name} -w muxpilot" for name in PROGRAMS[1:])]) + "\n"


_FISH = """\
# Completion of muxpilot for fish. Written by `muxpilot completion fish`; load it with:
#   muxpilot completion fish > ~/.config/fish/completions/muxpilot.fish
"""


def _fish_flag(row: ArgumentFact, condition: str) -> str:
    words = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in row.flags]
    if row.takes_value:
        given = f"-f -a {_quote(' '.join(row.choices))}" if row.choices else "-F" if row.kind else "-f"
        words += ["-r", given]
    return f"complete -c muxpilot {' '.join(words)} -n {_quote(condition)} -d {_quote(row.words)}"


def _unique(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


SCRIPTS: dict[str, Callable[[list[CommandFact]], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}
