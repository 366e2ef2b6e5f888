"""What a shell that we start is given to read first: its own start-up files as ever, then our marks.

Each shell has one door that leaves everything else as it is: `ENV` in bash's POSIX mode and for sh, ksh and
mksh, `ZDOTDIR` for zsh, `-C` for fish. The files take themselves away when they are read.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path

from muxpilot.shells.shell_table import SHELLS, start_script

_BASH = """\
muxpilot_folder=${ENV%/*}
if [ -n "${MUXPILOT_ENV+x}" ]; then ENV=$MUXPILOT_ENV; export ENV; unset MUXPILOT_ENV; else unset ENV; fi
set +o posix
shopt -u inherit_errexit 2>/dev/null
[ "${HISTFILE-}" != ~/.sh_history ] || HISTFILE=~/.bash_history
command rm -rf -- "$muxpilot_folder"
unset muxpilot_folder
if shopt -q login_shell; then
[ ! -r /etc/profile ] || . /etc/profile
for muxpilot_file in ~/.bash_profile ~/.bash_login ~/.profile; do
if [ -r "$muxpilot_file" ]; then . "$muxpilot_file"; break; fi
done
unset muxpilot_file
else
[ ! -r /etc/bash.bashrc ] || . /etc/bash.bashrc
[ ! -r ~/.bashrc ] || . ~/.bashrc
fi
"""

_ZSH = """\
() { command rm -rf -- "${ZDOTDIR:h}" }
if [[ -n ${MUXPILOT_ZDOTDIR+x} ]]; then ZDOTDIR=$MUXPILOT_ZDOTDIR; else unset ZDOTDIR; fi
unset MUXPILOT_ZDOTDIR
[[ ! -r ${ZDOTDIR:-$HOME}/.zshenv ]] || . ${ZDOTDIR:-$HOME}/.zshenv
"""
_ZSH_LATER = "typeset -ga precmd_functions\nprecmd_functions=(__muxpilot_load $precmd_functions)\n"

# The person's own file, by the name that the environment or the shell's habit gives it.
_POSIX = """\
muxpilot_folder=${ENV%/*}
if [ -n "${MUXPILOT_ENV+x}" ]; then ENV=$MUXPILOT_ENV; export ENV; unset MUXPILOT_ENV; else unset ENV; fi
command rm -rf -- "$muxpilot_folder"
unset muxpilot_folder
if [ -n "${ENV-}" ]; then [ ! -r "$ENV" ] || . "$ENV"
elif [ -r ~/RC ]; then . ~/RC; fi
"""


class ShellStart:
    """The files for one new shell, and the nonce that its marks will have."""

    def __init__(self, folder: Path) -> None:
        self.nonce = secrets.token_hex(16)
        self.folder = folder
        folder.mkdir(0o700)
        (folder / "zsh").mkdir(0o700)
        for name, text in _files(self.nonce).items():
            (folder / name).write_text(text)


def _files(nonce: str) -> Mapping[str, str]:
    marks = {name: start_script(SHELLS[name], nonce) for name in SHELLS}
    ksh = _POSIX.replace("RC", ".kshrc") + marks["sh"]
    return {
        "bash": _BASH + marks["bash"],
        "zsh/.zshenv": _ZSH + marks["zsh"] + _ZSH_LATER,
        "fish": marks["fish"] + "command rm -rf -- (status dirname)\n",
        "sh": _POSIX.replace("elif [ -r ~/RC ]; then . ~/RC; fi", "fi") + marks["sh"],
        "ash": _POSIX.replace("elif [ -r ~/RC ]; then . ~/RC; fi", "fi") + marks["ash"],
        "ksh": ksh,
        "mksh": _POSIX.replace("RC", ".mkshrc") + marks["mksh"],
    }
