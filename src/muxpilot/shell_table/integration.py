"""The text that a shell reads to print our marks: when it starts, and at a prompt that is there already."""

from __future__ import annotations

import re
from functools import cache

from muxpilot.shell_table.kind import ShellKind
from muxpilot.shell_table.rows import SHELLS

_VERSIONS = tuple(
    dict.fromkeys(shell.version_variable for shell in SHELLS.values() if shell.version_variable)
)

# Every shell with marks understands this line. It prints the version variables in a mark, then reads one
# more line with the terminal's echo off, and runs it. A quoted name is no alias, and `command` passes
# functions by. No form of `eval` passes functions by in every shell. The smallest container has no `stty`:
# there the line that is read is shown.
_ASK_LINE = (
    " 'command' stty -echo 2>/dev/null;'command' printf '\\33]133;S;%s;0.0;@TOKEN@\\7' \"@VERSIONS@\";"
    "'eval' \"$('command' printf %b \"$('command' /bin/sh -c 'IFS= read -r l;printf %s \"$l\"')\")\";"
    "'command' stty echo 2>/dev/null"
).replace("@VERSIONS@", ",".join(f"${name}" for name in _VERSIONS))


def ask_line(token: str) -> str:
    """Return a line to type that makes a shell say which one it is, in a mark with this token."""
    return _ASK_LINE.replace("@TOKEN@", token)


def shell_of_versions(answer: str) -> ShellKind:
    """Return the shell that has answered to `ask_line`; one without a version is treated as sh."""
    versions = dict(zip(_VERSIONS, answer.split(","), strict=False))
    for shell in SHELLS.values():
        version = versions.get(shell.version_variable, "")
        if version and re.search(shell.version_pattern, version):
            return shell
    return SHELLS["sh"]


def start_text(shell: ShellKind, nonce: str) -> str:
    """Return what a shell that we start reads first: the person's start-up files, then our marks."""
    before = _script(shell.start_script) if shell.start_script else ""
    return _fill(shell, before + _script(shell.script) + shell.start_end, nonce)


def prompt_text(shell: ShellKind, nonce: str, *, line_holds: str, wipe: str) -> str:
    """Return what a shell at its prompt reads to print our marks.

    `line_holds` is a text in the typed line that loads this, so that the line can be taken out of the
    history. `wipe` is the text that removes that line from the screen, as `printf` understands it.
    """
    before = _script(shell.typed_script) if shell.typed_script else ""
    text = (
        shell.keep_status_line
        + f"{shell.printf} '{wipe}'\n"
        + before
        + _script(shell.script)
        + shell.load_line
        + shell.restore_status_line
    )
    return _fill(shell, text, nonce).replace("@FILE@", line_holds)


def one_line(text: str) -> str:
    """Return a script as one line that `printf %b` turns back into the script."""
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _fill(shell: ShellKind, text: str, nonce: str) -> str:
    values = {"@NONCE@": nonce, "@SHELL@": shell.name, "@OWN@": shell.own_startup_file}
    for name, value in values.items():
        text = text.replace(name, value)
    return text


@cache
def _script(name: str) -> str:
    """Return a script without comments and indentation: a terminal takes a line of at most 4 kB."""
    from importlib import resources  # a start does without

    text = (resources.files("muxpilot.shell_table") / "scripts" / name).read_text()
    return re.sub(r"(?m)^[ \t]*#.*\n|^[ \t]+", "", text)
