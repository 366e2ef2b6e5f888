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


def config_folder() -> str:
    """Return the folder for muxpilot's configuration files of this user."""
    home = os.environ.get("XDG_CONFIG_HOME", "")
    return os.path.join(home if os.path.isabs(home) else os.path.expanduser("~/.config"), "muxpilot")


def own_socket(environment: Mapping[str, str] | None = None) -> str:
    """Return the socket of the tmux server that TMUX names, or an empty text where it is not set."""
    return _tmux_variable(environment).rsplit(",", 2)[0]


def own_server_pid(environment: Mapping[str, str] | None = None) -> int:
    """Return the process id of the tmux server that TMUX names, or 0 where it names none."""
    pid = "".join(_tmux_variable(environment).rsplit(",", 2)[1:2])
    return int(pid) if pid.isascii() and pid.isdigit() else 0


def own_pane(environment: Mapping[str, str] | None = None) -> str:
    """Return the id of the pane that TMUX_PANE names, or an empty text where it is not set."""
    return (os.environ if environment is None else environment).get("TMUX_PANE", "")


def _tmux_variable(environment: Mapping[str, str] | None) -> str:
    return (os.environ if environment is None else environment).get("TMUX", "")
