"""Checks of names, titles, folders, variables and sizes before tmux gets them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from muxpilot.errors import BadInput
from muxpilot.tmux.version import NAMES_KEEP_COLONS, NAMES_KEEP_DOLLARS, Version

_LONGEST_NAME = 256
_LARGEST_SIZE = 10_000
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # control characters and surrogates


def validate_name(noun: str, text: str) -> str:
    """Return a name that is not empty and has no control characters, or raise BadInput."""
    if not text.strip():
        raise BadInput(f"The {noun} is empty.", "Give at least one character.")
    return validate_title(noun, text)


def validate_title(noun: str, text: str) -> str:
    """Return a text without control characters, which may be empty, or raise BadInput."""
    if found := _CONTROL.search(text):
        raise BadInput(
            f"The {noun} holds the control character {found[0]!r}.", "Use printable characters only."
        )
    if len(text) > _LONGEST_NAME:
        raise BadInput(f"The {noun} is longer than {_LONGEST_NAME} characters.", "Use a shorter one.")
    return text


def keep_printable(text: str) -> str:
    return "".join(char for char in text if char.isprintable())[:_LONGEST_NAME]


def stored_session_name(text: str, version: Version) -> str:
    """Return the name that tmux stores: `\\\\` for `\\`, and up to 3.6 `_` for `:` and `.`."""
    kept = text.replace("\\", "\\\\")
    if version >= NAMES_KEEP_COLONS:
        return kept
    kept = re.sub("[:.]", "_", kept)
    return kept if version >= NAMES_KEEP_DOLLARS else re.sub(r"\$(?=[A-Za-z_{])", r"\\$", kept)


def validate_folder(path: str) -> str:
    """Return a folder's full path. Refuse one that does not exist: tmux would silently start in HOME."""
    full = os.path.abspath(os.path.expanduser(path))
    if "\0" in path or not os.path.isdir(full):
        raise BadInput(f"The folder cwd {path!r} does not exist.", "Give a folder that exists.")
    return full


def validate_remote_folder(path: str) -> str:
    """Refuse a relative path of another host: it has no meaning there."""
    if not path.startswith("/") or "\0" in path:
        raise BadInput(f"The folder cwd {path!r} is not absolute.", "Give a full path on that host.")
    return path


def environment_flags(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the flags `-e NAME=value` for each variable."""
    flags: list[str] = []
    for key, value in variables.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key, re.ASCII):
            raise BadInput(f"{key!r} is not the name of a variable.", "Use letters, digits and _.")
        flags += ["-e", f"{key}={value}"]
    return tuple(flags)


def validate_size(noun: str, cells: int) -> int:
    if not 1 <= cells <= _LARGEST_SIZE:
        raise BadInput(f"The {noun} {cells} is out of range.", f"Use 1 to {_LARGEST_SIZE}.")
    return cells
