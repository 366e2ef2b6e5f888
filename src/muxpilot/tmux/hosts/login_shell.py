"""The default shell of a tmux server that muxpilot starts."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator

from muxpilot.config import environment

_NO_LOGIN_SHELLS = frozenset({"nologin", "false", "true"})
_FALLBACK_SHELL = "/bin/sh"


def shell_override() -> dict[str, str]:
    """Return a SHELL variable where tmux would choose a program that is not a shell, or nothing.

    Users of services and containers often have `nologin` or `false` as their login shell.
    """
    shell = next((path for path in _default_shell_candidates() if _can_run(path)), _FALLBACK_SHELL)
    return {"SHELL": _FALLBACK_SHELL} if os.path.basename(shell) in _NO_LOGIN_SHELLS else {}


def _default_shell_candidates() -> Iterator[str]:
    """Yield the shells that tmux considers, in tmux's order."""
    yield environment.variable("SHELL")
    try:
        yield pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:  # the user id has no entry in the user database
        return


def _can_run(path: str) -> bool:
    return path.startswith("/") and os.access(path, os.X_OK)
