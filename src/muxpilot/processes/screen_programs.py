"""Pagers and editors, known by their names, and the keys that leave them."""

from __future__ import annotations

from typing import Literal

from muxpilot.records import record


@record
class ScreenProgram:
    """A program that takes keys, not lines: what it is, and the keys that leave it."""

    kind: Literal["pager", "editor"]
    leave_keys: str


_PAGER = ScreenProgram("pager", "q")
_VI = ScreenProgram("editor", "Escape : q ! Enter")

_NAMES = {
    _PAGER: "less more most man pager zless zmore bat batcat info lv moar ov",
    _VI: "vi vim vim.basic vim.tiny vim.nox vim.gtk3 nvim view rvim vimdiff hx helix kak",
    ScreenProgram("editor", "C-x"): "nano rnano pico",
    ScreenProgram("editor", "C-x C-c"): "emacs emacs-nox emacs-gtk emacs-lucid emacsclient mg zile jmacs",
    ScreenProgram("editor", "C-q"): "micro",
    ScreenProgram("editor", "C-c"): "joe jpico jstar",
    ScreenProgram("editor", "F10"): "mcedit",
    ScreenProgram("editor", "Q Enter"): "ed",
    # Debian's name for any of them, where the system does not say which program it is.
    ScreenProgram("editor", "C-x (nano), or Escape : q ! Enter (vi)"): "editor",
}
SCREEN_PROGRAMS = {name: program for program, names in _NAMES.items() for name in names.split()}
# Names of links to a pager or an editor that the system's owner has chosen.
_LINKS = frozenset({"editor", "pager"})


def name_behind_link(name: str, exe: str) -> str:
    """Return the name of the program behind a link such as `editor`; `exe` is the file that runs."""
    return exe if name in _LINKS and exe in SCREEN_PROGRAMS else name


def describe_screen_program(name: str) -> str:
    """Say that a pager or an editor is in front, and which keys leave it."""
    program = SCREEN_PROGRAMS[name]
    return f"The {program.kind} {name} is in front. Leave it with {program.leave_keys}."
