"""What a client's model is told of this server, once."""

from __future__ import annotations

INSTRUCTIONS = """\
muxpilot drives tmux. Every answer carries the ids for the next call: pass them on, look nothing up twice.
- Work in a session of your own: create-session gives a paneId; split-pane and create-window give more.
- execute-command runs a command in the pane's shell and answers with its whole output and exit code. If it
  still runs or waits for input, answer it with send-keys and ask get-command-result; inside ssh, su or
  docker the next execute-command runs there. For a REPL: run-in-repl.
- To wait for a server, a build or a prompt: start-and-watch, watch-pane. Never poll.
- read-pane with its cursor returns only what is new; capture-pane looks at the whole screen once.
- send-keys types text (enter: true submits it); literal: false presses keys such as C-c.
- Targets are ids ($1, @2, %3) or exact names. A person may be in the same tmux: leave their panes alone
  unless asked, and kill only what you made."""
