"""The instructions that a client gets when it connects, for its model: ten lines, one for each intent."""

from __future__ import annotations

_LINES = (
    "muxpilot drives tmux. Answers carry the ids for the next call: do not list again.",
    "- paneId is a name that you choose (server, tests; default main): running or typing opens such a pane. "
    "Ids ($1, @2, %3) and exact names of what is there work too.",
    "- execute-command runs a command in a pane's shell and returns its whole output and exit code. "
    "Inside ssh, su or docker the next command runs there.",
    "- If it still runs or waits for input, answer with send-keys, or run-in-repl for REPLs and questions, "
    "or let a person enter a password with ask-person (secret); then get-command-result.",
    "- start-and-watch starts a server or a build and waits until it is ready; watch-pane waits for anything "
    "else. Never poll or sleep.",
    "- A step in a menu or an editor is one call: send-keys with until (quiet:300, prompt, pattern:REGEX) "
    "answers what changed and what is highlighted.",
    "- send-keys types text (enter: true submits it); literal: false presses keys such as Down, C-c or q. "
    "waitingFor pager or editor: the reason says which keys leave it.",
    "- read-pane with its cursor returns only new output; capture-pane what the screen shows now.",
    "- Every tool also takes socket: the path of a tmux socket, or the name of a configured server.",
    "- People may use the same tmux: leave their panes alone unless asked, and kill only what you created.",
)
INSTRUCTIONS = "\n".join(_LINES)
