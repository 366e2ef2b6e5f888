"""Which tmux this is, and from which one on it can do what."""

from __future__ import annotations

import re
import shutil
import subprocess

from muxpilot.errors import NoTmux

Version = tuple[int, int]

OLDEST: Version = (3, 2)
MIRRORED_LAYOUTS: Version = (3, 5)
NAMES_KEEP_DOLLARS: Version = (3, 4)
BUFFERS_ARE_NEWS: Version = (3, 4)
CONTROLS_ARE_ESCAPED: Version = (3, 4)
# From here on a skin colour, a flag's second letter and U+FE0F share the wide cell that they make or follow.
EMOJI_ARE_JOINED: Version = (3, 4)
# From here on tmux pastes `^[` for an escape unless it is told to leave the bytes alone.
PASTES_AS_CARETS: Version = (3, 7)
NAMES_KEEP_COLONS: Version = (3, 7)

_PATIENCE_S = 10.0


def parse(text: str) -> Version:
    """`tmux 3.3a`, `3.5a`, `next-3.8`, `openbsd-7.4`: the numbers; what has none counts as new."""
    found = re.search(r"(\d+)\.(\d+)", text)
    if not text.strip():
        raise NoTmux("The tmux program does not say its version.")
    if found is None or "openbsd" in text:
        return (99, 0)
    return int(found[1]), int(found[2])


def require(text: str) -> Version:
    version = parse(text)
    if version < OLDEST:
        raise NoTmux(f"{text.strip()} is too old: muxpilot needs tmux 3.2 or newer.")
    return version


def installed(binary: str = "tmux") -> str:
    """What `tmux -V` says, where it is new enough."""
    if shutil.which(binary) is None:
        raise NoTmux(f"There is no program {binary!r} on this machine.")
    try:
        done = subprocess.run(
            [binary, "-V"], capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or f"no answer within {_PATIENCE_S:g} s"
        raise NoTmux(f"The program {binary!r} cannot be asked for its version: {reason}.") from None
    require(done.stdout)
    return done.stdout.strip()
