"""What may be a name, a title, a folder or a variable, before tmux sees it."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping

from muxpilot.errors import BadInput
from muxpilot.tmux.version import NAMES_KEEP_COLONS, NAMES_KEEP_DOLLARS, Version

_LONGEST = 256
_LARGEST_SIZE = 10_000


def name(noun: str, text: str) -> str:
    """A name for people: not empty, one line, nothing that steers a terminal."""
    if not text.strip():
        raise BadInput(f"The {noun} is empty.", "Give at least one character.")
    return title(noun, text)


def title(noun: str, text: str) -> str:
    for char in text:
        if unicodedata.category(char) in ("Cc", "Cs"):
            raise BadInput(
                f"The {noun} holds the control character {char!r}.", "Use printable characters only."
            )
    if len(text) > _LONGEST:
        raise BadInput(f"The {noun} is longer than {_LONGEST} characters.", "Use a shorter one.")
    return text


def printable(text: str) -> str:
    return "".join(char for char in text if char.isprintable())[:_LONGEST]


def stored_session_name(text: str, version: Version) -> str:
    """The name that tmux keeps: up to 3.6 it writes `_` for `:` and `.`, and `\\\\` for `\\`."""
    if version >= NAMES_KEEP_COLONS:
        return text
    kept = re.sub("[:.]", "_", text).replace("\\", "\\\\")
    return kept if version >= NAMES_KEEP_DOLLARS else re.sub(r"\$(?=[A-Za-z_{])", r"\\$", kept)


def folder(path: str) -> str:
    """A folder that is there; tmux would start in HOME instead, and say nothing."""
    full = os.path.abspath(os.path.expanduser(path))
    if "\0" in path or not os.path.isdir(full):
        raise BadInput(f"The folder cwd {path!r} is not there.", "Give a folder that exists.")
    return full


def far_folder(path: str) -> str:
    """A folder of another host, where tmux would start in HOME instead if it is not there."""
    if not path.startswith("/") or "\0" in path:
        raise BadInput(f"The folder cwd {path!r} is not absolute.", "Give a full path on that host.")
    return path


def environment(variables: Mapping[str, str]) -> tuple[str, ...]:
    """`-e NAME=value` for each variable."""
    flags: list[str] = []
    for key, value in variables.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key, re.ASCII):
            raise BadInput(f"{key!r} is not a variable's name.", "Use letters, digits and _.")
        flags += ["-e", f"{key}={value}"]
    return tuple(flags)


def size(noun: str, cells: int) -> int:
    if not 1 <= cells <= _LARGEST_SIZE:
        raise BadInput(f"The {noun} {cells} is out of range.", f"Use 1 to {_LARGEST_SIZE}.")
    return cells
