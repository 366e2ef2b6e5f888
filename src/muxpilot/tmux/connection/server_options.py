"""What is said to a tmux server that we start, whatever its configuration says.

Programs in panes may not set the clipboard and buffers, speak to the terminal past tmux, or rename windows:
an agent runs programs that nobody has looked at. A person who wants it so says `tmux set-option` afterwards.
"""

from __future__ import annotations

from muxpilot.tmux.hosts.endpoint import Command

# `-q`: an older tmux does not know all of them.
_OFF = (
    "set-option -s -q set-clipboard off",
    "set-option -g -w -q allow-passthrough off",
    "set-option -g -w -q allow-rename off",
)

# Where a session has been made before, somebody was faster than we, and the server is theirs.
GUARD: Command = ("if-shell", "-F", "#{==:#{next_session_id},$0}", " ; ".join(_OFF))

# Of a session that was made without a client: the next thing that tmux does is to destroy it, and itself, if
# the configuration says so of sessions that nobody is attached to. Without a target it is the newest one.
STAY: Command = ("set-option", "destroy-unattached", "off")
