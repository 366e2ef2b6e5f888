"""How to reach a tmux server: a local socket, or ssh to another host."""
