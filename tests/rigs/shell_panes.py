"""Panes with every kind of shell, made by muxpilot and by plain tmux."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path

from tests.rigs.wire import Place, Wire

# A row is a shell, and whether muxpilot creates its pane. bash is what most people use.
TEN_PANES = (
    ("bash", True),
    ("bash", True),
    ("bash", True),
    ("bash", False),
    ("zsh", True),
    ("fish", True),
    ("dash", False),
    ("mksh", True),
    ("ksh93", False),
    ("ash", True),
)
# How a person starts each shell, without start-up files.
_STARTED_BY_PERSON = {"zsh": "zsh -f", "fish": "fish --no-config", "bash": "bash --norc"}
_NAMES = count(1)


def find_shell(place: Place, shell: str) -> str:
    """Return the path of a shell, or of bash where that shell is not installed."""
    found = shutil.which("busybox" if shell == "ash" else shell)
    if found is None:
        return shutil.which("bash") or "/bin/sh"
    if shell != "ash":
        return found
    link = Path(place.socket).with_name("ash")
    if not link.exists():
        link.symlink_to(found)
    return str(link)


async def create_pane(place: Place, wire: Wire, shell: str = "bash") -> str:
    """Create a pane with this shell by muxpilot. Return its id."""
    (place.home / ".zshrc").touch()  # without it, zsh asks questions when it starts
    place.tmux("set-option", "-g", "default-shell", find_shell(place, shell))
    made = await wire.call("create-session", name=f"own{next(_NAMES)}", cwd=str(place.home))
    pane: str = made["paneId"]
    return pane


def create_plain_pane(place: Place, shell: str = "bash") -> str:
    """Create a pane with this shell by tmux alone, as a person does. Return its id."""
    path = find_shell(place, shell)
    command = _STARTED_BY_PERSON.get(shell, path)
    size = ("-x", "120", "-y", "30", "-c", str(place.home))
    return place.tmux("new-session", "-dP", "-F", "#{pane_id}", "-s", f"plain{next(_NAMES)}", *size, command)
