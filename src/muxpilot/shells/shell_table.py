"""The shells that we know, and how each is spoken to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from muxpilot.records import record


@record
class Shell:
    """One kind of shell.

    `tells_start`: a mark says where a command's output begins; else it follows the echoed line.
    `pastes`: several lines, and tabs, are one edit; else they are typed line by line.
    `has_key`: a private key tells how much is typed at the prompt.
    `draws`: its editor draws a line with colours and proposals.
    """

    name: str
    script: str
    tells_start: bool = False
    pastes: bool = False
    pastes_tabs: bool = False
    has_key: bool = False
    draws: bool = False
    special: str = ""  # characters that mean something only to an interactive shell: the key takes it away
    source: str = "."
    typed_script: str = ""  # what comes before the script where it is typed
    loads: str = ""  # what the script is begun with, where it only defines
    keeps_status: str = "__muxpilot_status=$?\n"
    gives_status: str = 'eval "unset __muxpilot_status; (exit $__muxpilot_status)"\n'


SHELLS: Mapping[str, Shell] = {
    shell.name: shell
    for shell in (
        Shell(
            "bash",
            "bash.sh",
            tells_start=True,
            pastes=True,
            pastes_tabs=True,
            has_key=True,
            special="!",
            typed_script="bash-typed.sh",
        ),
        Shell("oldbash", "bash.sh"),
        Shell(
            "zsh",
            "zsh.zsh",
            tells_start=True,
            pastes=True,
            pastes_tabs=True,
            has_key=True,
            draws=True,
            special="!#^",
            typed_script="zsh-typed.zsh",
            loads="__muxpilot_load\n",
        ),
        Shell(
            "fish",
            "fish.fish",
            tells_start=True,
            pastes=True,
            has_key=True,
            draws=True,
            source="source",
            typed_script="fish-typed.fish",
            keeps_status="",
            gives_status="",
        ),
        Shell("sh", "sh.sh"),
        Shell("ash", "ash.sh"),
        Shell("mksh", "mksh.sh"),
    )
}

# The program's name, as the system tells it, to the kind of shell that it is.
_PROGRAMS = {
    "bash": "bash",
    "rbash": "bash",
    "zsh": "zsh",
    "fish": "fish",
    "mksh": "mksh",
    "lksh": "mksh",
    "ash": "ash",
    "busybox": "ash",
    **dict.fromkeys(("sh", "dash", "ksh", "ksh93", "rksh", "rksh93", "ksh2020"), "sh"),
}

# ksh93 tells a signal as 256 and its number.
_KSH_SIGNAL = 256

KEY = b"\x1b[7717~"


def shell_of(program: str) -> Shell | None:
    name = _PROGRAMS.get(program.rpartition("/")[2].lstrip("-"))
    return SHELLS[name] if name is not None else None


def shell_of_versions(versions: str) -> Shell:
    """By `$BASH_VERSION,$ZSH_VERSION,$KSH_VERSION,$FISH_VERSION`: a shell at the far end tells no more."""
    bash, zsh, ksh, fish = [*versions.split(","), "", "", "", ""][:4]
    told = (("bash", bash), ("zsh", zsh), ("fish", fish), ("mksh", "MIRBSD" in ksh or "LEGACY" in ksh))
    return SHELLS[next((name for name, is_it in told if is_it), "sh")]


def exit_code(status: int) -> int:
    return status - _KSH_SIGNAL + 128 if status > _KSH_SIGNAL else status


def start_script(shell: Shell, nonce: str) -> str:
    """The integration for a shell that starts with it."""
    return _filled(shell, _script(shell.script), nonce)


def typed_script(shell: Shell, nonce: str, *, line_holds: str, wipe: str) -> str:
    """The integration for a shell that stands at its prompt; a line that holds this text has loaded it."""
    before = _script(shell.typed_script) if shell.typed_script else ""
    text = shell.keeps_status + wipe + before + _script(shell.script) + shell.loads + shell.gives_status
    return _filled(shell, text, nonce).replace("@FILE@", line_holds)


def _filled(shell: Shell, text: str, nonce: str) -> str:
    return text.replace("@NONCE@", nonce).replace("@SHELL@", shell.name)


def one_line(text: str) -> str:
    """A script as one line that `printf %b` makes whole again."""
    return text.replace("\\", "\\\\").replace("\n", "\\n")


@cache
def _script(name: str) -> str:
    """Without comments and indentation: a terminal takes a line of 4 kB at most."""
    text = (resources.files("muxpilot.shells") / "scripts" / name).read_text()
    return re.sub(r"(?m)^[ \t]+|^#.*\n", "", text)
