"""Make a shell that we start print our marks from its first prompt on.

Each shell has one way to read our file that leaves everything else unchanged: `ENV` in bash's POSIX
mode and for sh, ksh and mksh, `ZDOTDIR` for zsh, `-C` for fish. The files remove themselves once they are
read.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from muxpilot.shell_table.integration import start_text
from muxpilot.shell_table.rows import SHELLS

# Lets the next shell find its file by ENV, and the person's own ENV by another name.
_SET_ENV = 'muxpilot_env() { [ -z "${ENV+x}" ] || export MUXPILOT_ENV="$ENV"; export ENV="$1"; }; '


class ShellStart:
    """The start-up files for one new shell, whichever that is, and the nonce of its marks."""

    def __init__(self, folder: Path) -> None:
        self.nonce = secrets.token_hex(16)
        self.folder = folder
        folder.mkdir(0o700)
        for shell in SHELLS.values():
            if shell.start_file:
                file = folder / shell.start_file
                file.parent.mkdir(0o700, exist_ok=True)
                file.write_text(start_text(shell, self.nonce))


def start_with_marks() -> str:
    """Return the /bin/sh text that becomes "$SHELL" with the files in "$3", if that shell has a way to."""
    shells = [shell for shell in SHELLS.values() if shell.start_line]
    cases = "".join(f"{shell.start_pattern}) {shell.start_line};; " for shell in shells)
    return f"{_SET_ENV}case ${{SHELL##*/}} in {cases}esac; "


def start_without_marks() -> str:
    """Return the /bin/sh text that becomes "$SHELL", as a login shell if it knows `-l`."""
    patterns = "|".join(shell.start_pattern for shell in SHELLS.values() if shell.start_pattern)
    return f'case ${{SHELL##*/}} in {patterns}) exec "$SHELL" -l;; *) exec "$SHELL";; esac'
