"""Options that muxpilot sets on a tmux server that it starts, whatever the configuration file says.

Programs in panes may not set the clipboard and buffers, send escape sequences past tmux to the terminal, or
rename windows: an agent runs programs that no person has checked. A person who wants these can turn them on
afterwards with `tmux set-option`.
"""

from __future__ import annotations

from muxpilot.tmux.hosts.endpoint import Command

# `-q`, because an older tmux does not know all of them.
_OFF = (
    "set-option -s -q set-clipboard off",
    "set-option -g -w -q allow-passthrough off",
    "set-option -g -w -q allow-rename off",
)

# Where a session was created before ours, another client started the server first, and it is not ours.
# tmux 3.2 does not tell the id of the next session; there, no session may exist.
_IS_OURS = "#{?#{next_session_id},#{==:#{next_session_id},$0},#{==:#{S:x},}}"
HARDENING: Command = ("if-shell", "-F", _IS_OURS, " ; ".join(_OFF))

# For a session that was created without a client. If the configuration says that sessions without a client
# are destroyed, tmux would destroy it next, and then exit. Without a target the newest session is meant.
KEEP_UNATTACHED: Command = ("set-option", "destroy-unattached", "off")
