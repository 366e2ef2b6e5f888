"""The environment variables of this process. No other module reads `os.environ`.

Every function reads the environment when it is called, so that tests can change it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

# tmux sets these in its panes. A tmux process that sees them believes that it runs inside another tmux.
TMUX_VARIABLES = frozenset({"TMUX", "TMUX_PANE"})


def variables() -> Mapping[str, str]:
    """Return all variables, as a view that follows later changes."""
    return os.environ


def variable(name: str) -> str:
    """Return the value of a variable, or an empty text where it is not set."""
    return os.environ.get(name, "")


def variables_outside_tmux() -> dict[str, str]:
    """Return all variables except those that show a program that it runs inside tmux."""
    return {name: value for name, value in os.environ.items() if name not in TMUX_VARIABLES}


def own_socket(environment: Mapping[str, str] | None = None) -> str:
    """Return the socket of the tmux server that this process runs in, or an empty text outside of tmux."""
    return (os.environ if environment is None else environment).get("TMUX", "").partition(",")[0]


def own_pane_on(socket: str, environment: Mapping[str, str] | None = None) -> str:
    """Return the id of the pane that this process runs in, if it is on this server; otherwise an empty text.

    The same socket may be reached by several paths.
    """
    own = own_socket(environment)
    is_here = bool(own) and os.path.realpath(own) == os.path.realpath(socket)
    return own_pane(environment) if is_here else ""


def own_pane(environment: Mapping[str, str] | None = None) -> str:
    """Return the id of the pane that this process runs in, or an empty text outside of tmux."""
    return (os.environ if environment is None else environment).get("TMUX_PANE", "")
