"""Programs that open a shell inside a pane, such as ssh, su or docker exec, told by their arguments."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from os.path import basename

from muxpilot.shell_table import recognize_shell, takes_commands

_SEPARATORS = frozenset(";&|()\n{}")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_TERMINAL_OPTION = re.compile(r"-[A-Za-z]*t[A-Za-z]*|--tty(=true)?")
_SSH_VALUES = "BbcDEeFIiJLlmOopQRSWw"
# Programs that run the program after them. These options of theirs take a value.
_WRAPPERS = {
    "sudo": "ugpCDhrtTR",
    "doas": "uC",
    "env": "uCS",
    "exec": "a",
    "time": "fo",
    "nohup": "",
    "command": "",
}

Arguments = Sequence[str]


def find_shell_opener(text: str) -> str | None:
    """Return the program in a command line that opens a shell, or None."""
    return next((basename(words[0]) for words in _split_commands(text) if opens_shell(words)), None)


def opens_shell(argv: Arguments) -> bool:
    """Return whether a program with these arguments opens a shell that takes commands."""
    if not argv:
        return False
    name, rest = basename(argv[0]).lstrip("-"), argv[1:]
    if name in _WRAPPERS:
        return _wraps_shell(rest, _WRAPPERS[name])
    if (rule := _RULES.get(name)) is not None:
        return rule(rest)
    kind = recognize_shell([name], list(argv))
    if kind is not None and takes_commands(kind, list(argv)):
        return True
    # A script, such as /usr/bin/python3 /usr/bin/pipenv shell, is known by its own name.
    script = basename(rest[0]) if rest and "/" in rest[0] else ""
    return script in _RULES and opens_shell([script, *rest[1:]])


def _wraps_shell(arguments: Arguments, values: str) -> bool:
    """Return whether a wrapper such as sudo opens a shell: by an option, or with the program after it."""
    words = list(arguments)
    while words and (words[0].startswith("-") or _ASSIGNMENT.match(words[0])):
        option = words.pop(0)
        if option in ("-i", "-s", "--login", "--shell"):
            return True
        if len(option) == 2 and option[1] in values and words:
            words.pop(0)
    return opens_shell(words)


def _ssh_opens(arguments: Arguments) -> bool:
    """Return whether ssh gets no command, or one that opens a shell, with a terminal."""
    words, has_terminal = list(arguments), False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        has_terminal = has_terminal or bool(re.fullmatch("-[A-Za-z]*t+", word))
        if word[-1] in _SSH_VALUES and len(word) == 2 and words:
            words.pop(0)
    command = " ".join(word for word in words[1:] if not word.startswith("-"))
    return not command or (has_terminal and find_shell_opener(" ".join(words[1:])) is not None)


def _without(*options: str) -> Callable[[Arguments], bool]:
    return lambda arguments: not set(options) & set(arguments)


def _with_word(*verbs: str, without: tuple[str, ...] = ()) -> Callable[[Arguments], bool]:
    return lambda arguments: bool(set(verbs) & set(arguments)) and not set(without) & set(arguments)


def _container_opens(arguments: Arguments) -> bool:
    """Return whether a container's program gets our terminal."""
    if {"attach", "console", "shell", "enter"} & set(arguments[:2]):
        return True
    runs = {"exec", "run", "start"} & set(arguments[:3])
    return bool(runs) and any(_TERMINAL_OPTION.fullmatch(word) for word in arguments)


# From a program's name to whether its arguments open a shell.
_RULES: dict[str, Callable[[Arguments], bool]] = {
    **dict.fromkeys(("ssh", "slogin", "autossh", "mosh", "telnet", "rlogin"), _ssh_opens),
    **dict.fromkeys(("su", "newgrp", "sg", "script"), _without("-c", "--command")),
    **dict.fromkeys(
        ("docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "incus", "crictl", "toolbox", "distrobox"),
        _container_opens,
    ),
    "nix-shell": _without("--run", "--command"),
    "nix": _with_word("shell", "develop", without=("-c", "--command")),
    **dict.fromkeys(("poetry", "pipenv", "devbox", "guix", "flox"), _with_word("shell", "activate")),
    "vagrant": _with_word("ssh", without=("-c", "--command")),
    "gcloud": _with_word("ssh", without=("--command",)),
    "aws": _with_word("start-session"),
    "machinectl": _with_word("shell", "login"),
    **dict.fromkeys(("chroot", "nsenter", "unshare"), lambda arguments: _opens_at_end(arguments)),
}


def _opens_at_end(arguments: Arguments) -> bool:
    """Return whether the words end with a shell, or name no program at all, which means a shell."""
    plain = [word for word in arguments if not word.startswith("-")]
    return len(plain) < 2 or opens_shell(plain[-1:])


def _split_commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command of a line, without the assignments before it."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        for token in lexer:
            if set(token) <= _SEPARATORS:
                yield words
                words = []
            elif words or not _ASSIGNMENT.match(token):
                words.append(token)
    except ValueError:
        return  # a quote is not closed: the command is not complete
    yield words
