"""The instructions that a client gets when it connects, for its model."""

from __future__ import annotations

INSTRUCTIONS = """\
muxpilot drives tmux. Answers contain the ids for the next call: use them instead of listing again.
- Work in your own session: create-session returns a paneId; split-pane and create-window return more.
- execute-command runs a command in the pane's shell and returns its whole output and exit code. If it still
  runs or waits for input, answer with send-keys and call get-command-result. Inside ssh, su or docker, the
  next execute-command runs there. For a REPL, use run-in-repl.
- To wait for a server, a build or a prompt, use start-and-watch or watch-pane. Never poll.
- read-pane with its cursor returns only new output; capture-pane returns what the screen shows now.
- send-keys types text (enter: true submits it); with literal: false it presses keys such as C-c.
- Targets are ids ($1, @2, %3) or exact names. People may use the same tmux: leave their panes alone unless
  asked, and kill only what you created."""
