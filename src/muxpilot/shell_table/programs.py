"""Which programs are shells, and which shells take commands from a person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os.path import basename

from muxpilot.shell_table.kind import ShellKind
from muxpilot.shell_table.rows import SHELLS

_BY_PROGRAM = {name: shell for shell in SHELLS.values() for name in shell.programs}
# A login shell's "-", a restricted shell's "r", a version: -bash, rzsh, ksh93, zsh-5.9, mksh-static.
_PROGRAM = re.compile(rf"-?r?({'|'.join(_BY_PROGRAM)})(?:93|20\d\d)?(?:-static|-[\d.]+)?")

# Programs that hold many others, a shell among them; the first word of argv says which.
_MULTI_CALL = ("busybox", "toybox")
_MULTI_CALL_SHELLS = ("sh", "ash", "hush")
# Long options with a command to run, in fish and nu.
_COMMAND_OPTIONS = frozenset({"--command", "--commands"})


def recognize_shell(names: Sequence[str], argv: Sequence[str]) -> ShellKind | None:
    """Return the shell that a program is, from its names, the most reliable first."""
    for name in names:
        if name in _MULTI_CALL:
            return _recognize_applet(argv)
        if shell := _find(name):
            return shell
    return None


def shell_with_marks(program: str) -> ShellKind | None:
    """Return the shell of this name or path, if we have a script for it."""
    name = basename(program)
    shell = SHELLS["ash"] if name in _MULTI_CALL else _find(name)
    return shell if shell is not None and shell.script else None


def takes_commands(shell: ShellKind, argv: Sequence[str]) -> bool:
    """Return whether a shell was started neither with a script nor with a command to run."""
    words = list(argv[2:] if argv[:1] and basename(argv[0]) in _MULTI_CALL else argv[1:])
    while words and words[0][:1] in ("-", "+"):
        word = words.pop(0)
        if word in ("-", "--"):
            break
        if word.startswith("--"):
            if word.partition("=")[0] in _COMMAND_OPTIONS:
                return False
            if word in shell.long_options_with_value:
                del words[:1]
            continue
        if "i" in word[1:] or "s" in word[1:]:
            return True
        if "c" in word[1:]:
            return "-i" in words
        if word[-1] in shell.short_options_with_value:
            del words[:1]
    return not words


def _find(name: str) -> ShellKind | None:
    found = _PROGRAM.fullmatch(name)
    return _BY_PROGRAM[found[1]] if found is not None else None


def _recognize_applet(argv: Sequence[str]) -> ShellKind | None:
    words = [basename(word).lstrip("-") for word in (*argv[:2], "")]
    applet = words[1] if words[0] in _MULTI_CALL else words[0]
    return SHELLS["ash"] if applet in _MULTI_CALL_SHELLS else None
