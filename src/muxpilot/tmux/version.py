"""Versions of tmux, and the first version of each behaviour that muxpilot has to know."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import lru_cache

from muxpilot.errors import NoTmux
from muxpilot.terminal.shape import ScreenShape
from muxpilot.terminal.width import EmojiCells

Version = tuple[int, int]

OLDEST: Version = (3, 2)
# `display-message -c CLIENT` works: before, tmux took the name of the client for the message.
MESSAGES_REACH_CLIENTS: Version = (3, 3)
# The row "Pane is dead" of a pane that stays can be left out (remain-on-exit-format).
DEAD_ROW_HAS_FORMAT: Version = (3, 3)
# Before, `capture-pane -J` fills lines with blanks that no program printed.
JOINED_LINES_HAVE_NO_FILLING: Version = (3, 3)
# Before, delete-buffer and set-buffer -n take the newest buffer where none has the name.
MISSING_BUFFERS_ARE_REFUSED: Version = (3, 4)
MIRRORED_LAYOUTS: Version = (3, 5)
NAMES_KEEP_DOLLARS: Version = (3, 5)
# tmux notifies its control clients when a paste buffer changes.
BUFFER_CHANGES_ARE_NOTIFIED: Version = (3, 4)
CONTROL_CHARACTERS_ARE_ESCAPED: Version = (3, 4)
# A skin colour, the second letter of a flag and U+FE0F share the wide cell that they form or follow.
EMOJI_ARE_JOINED: Version = (3, 4)
# `send-keys -K` presses keys in the terminal of a client, and so in the popup that it shows. In 3.4 ASCII
# characters arrive in a popup with -H only.
KEYS_REACH_POPUPS: Version = (3, 4)
# A letter of a flag joins a letter only, and a skin colour what can have one.
EMOJI_ARE_MATCHED: Version = (3, 6)
# Two letters are a flag, and the cursor stays behind an emoji that becomes wide in the last column.
EMOJI_ARE_PAIRED: Version = (3, 7)
# REP also repeats a character that is not ASCII.
ALL_CHARACTERS_ARE_REPEATED: Version = (3, 5)
# tmux pastes `^[` for an escape character unless it is asked to leave the bytes alone.
PASTES_AS_CARETS: Version = (3, 7)
NAMES_KEEP_COLONS: Version = (3, 7)
# tmux closes the pipe of a pane that stays when its program ends, and forgets the program's process id.
PIPES_END_WITH_PROGRAMS: Version = (3, 8)

# Builds without a number, such as OpenBSD's own, count as newer than every release.
_NEWEST: Version = (99, 0)
_VERSION_TIMEOUT_S = 10.0


@lru_cache(maxsize=64)
def screen_shape(columns: int, rows: int, version: str) -> ScreenShape:
    """Return the shape of a screen in a tmux of this version; the newest rules where it is not known."""
    number = parse(version) if version else _NEWEST
    return ScreenShape(columns, rows, emoji_cells(number), number >= ALL_CHARACTERS_ARE_REPEATED)


def emoji_cells(version: Version) -> EmojiCells:
    """Return how a tmux of this version puts emoji into cells."""
    firsts = (EMOJI_ARE_JOINED, EMOJI_ARE_MATCHED, EMOJI_ARE_PAIRED)
    return EmojiCells(sum(version >= first for first in firsts))


def parse(text: str) -> Version:
    """Return the numbers in a version such as `tmux 3.3a`, `3.5a`, `next-3.8` or `openbsd-7.4`."""
    found = re.search(r"(\d+)\.(\d+)", text)
    if not text.strip():
        raise NoTmux("The tmux program does not report its version.")
    if found is None or "openbsd" in text:
        return _NEWEST
    return int(found[1]), int(found[2])


def require_supported(text: str) -> Version:
    """Return the version, or raise NoTmux if it is too old."""
    version = parse(text)
    if version < OLDEST:
        raise NoTmux(f"{text.strip()} is too old: muxpilot needs tmux 3.2 or newer.")
    return version


def require_installed(binary: str = "tmux") -> str:
    """Return what `tmux -V` prints, or raise NoTmux if there is no tmux or it is too old."""
    if shutil.which(binary) is None:
        raise NoTmux(f"There is no program {binary!r} on this machine.")
    try:
        done = subprocess.run(
            [binary, "-V"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or f"no answer within {_VERSION_TIMEOUT_S:g} s"
        raise NoTmux(f"The program {binary!r} does not report its version: {reason}.") from None
    require_supported(done.stdout)
    return done.stdout.strip()
