#!/bin/sh
# An agent that has a shell and no MCP: the demonstration of demo.py with four commands of muxpilot.
# Usage: demo.sh [PANE]. The home folder has a file build.log.
pane=${1:-main}

run() { muxpilot run -p "$pane" "$@"; }
show() { "$@" || echo "exit code $?"; }

echo "== One line runs a command on the real terminal: its output and its exit code. cd lasts."
show run 'grep --color=auto -n error ~/build.log'
show run 'cd /usr/lib; grep fatal ~/build.log'
show run pwd

echo "== A command that asks for a password is told at once: exit code 125."
id=$(run --detach 'read -rsp "Password: " secret; echo; echo "${#secret} characters"')
show muxpilot wait "$id"
muxpilot send "$pane" open sesame
show muxpilot wait "$id"
muxpilot logs "$id"

echo "== Shells in shells (ssh, su, docker exec) work alike: the next command runs inside."
shell=$(run --detach 'bash --norc')
show muxpilot wait "$shell"
show run 'echo "depth $SHLVL"'
show run 'exit 3'
show muxpilot wait "$shell"

echo "== A server is watched until it is ready."
server=$(run --detach 'python -m http.server 0 --bind 127.0.0.1')
show muxpilot wait "$server" --until 'pattern:Serving HTTP'
muxpilot send "$pane" --keys C-c
show muxpilot wait "$server"

echo "== What you would have seen in that pane."
muxpilot logs "$pane"
