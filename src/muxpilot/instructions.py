"""What a client's model is told of this server, once."""

from __future__ import annotations

INSTRUCTIONS = """\
muxpilot drives tmux. Every answer carries the ids for the next call: pass them on, look nothing up twice.
- Work in a session of your own: create-session gives a paneId; split-pane and create-window give more.
- read-pane with its cursor returns only what is new; capture-pane looks at the whole screen once.
- send-keys types text (enter: true submits it); literal: false presses keys such as C-c; paste-text for more.
- Targets are ids ($1, @2, %3) or exact names. A person may be in the same tmux: leave their panes alone
  unless asked, and kill only what you made."""
