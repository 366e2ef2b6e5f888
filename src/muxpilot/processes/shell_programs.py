"""Which programs are shells, and which shells take commands from a person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os.path import basename

_SHELL = re.compile(
    r"-?r?(bash|zsh|fish|dash|ash|ksh|mksh|lksh|oksh|pdksh|yash|tcsh|csh|elvish|nu|sh)"
    r"(?:93|20\d\d)?(?:-static|-[\d.]+)?"
)

# Options that take the next word.
_WITH_VALUE = {"--rcfile", "--init-file", "--init-command", "--emulate", "--profile", "--features", "--debug"}
_SHORT_WITH_VALUE = {"fish": "oCdDfp"}
_MANY = ("busybox", "toybox")  # one program that is many, by its first word
_COMMANDS = {"--command", "--commands"}


def family(names: Sequence[str], argv: Sequence[str]) -> str | None:
    """The kind of shell, from the names of a program in the order in which they are to be believed."""
    for name in names:
        if name in _MANY:
            return _applet(argv)
        if found := _SHELL.fullmatch(name):
            return found[1]
    return None


def _applet(argv: Sequence[str]) -> str | None:
    words = [basename(word).lstrip("-") for word in (*argv[:2], "")]
    applet = words[1] if words[0] in _MANY else words[0]
    return "ash" if applet in ("sh", "ash", "hush") else None


def takes_commands(kind: str, argv: Sequence[str]) -> bool:
    """By how it was started: not with a script, nor with a command to run."""
    words = list(argv[2:] if argv[:1] and basename(argv[0]) in _MANY else argv[1:])
    while words and words[0][:1] in ("-", "+"):
        word = words.pop(0)
        if word in ("-", "--"):
            break
        if word.startswith("--"):
            if word.partition("=")[0] in _COMMANDS:
                return False
            if word in _WITH_VALUE:
                del words[:1]
            continue
        if "i" in word[1:] or "s" in word[1:]:
            return True
        if "c" in word[1:]:
            return "-i" in words
        if word[-1] in _SHORT_WITH_VALUE.get(kind, "oO"):
            del words[:1]
    return not words
