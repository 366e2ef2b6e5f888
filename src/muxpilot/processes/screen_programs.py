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
}
SCREEN_PROGRAMS = {name: program for program, names in _NAMES.items() for name in names.split()}
