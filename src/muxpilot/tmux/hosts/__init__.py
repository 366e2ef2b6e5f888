"""How to reach a tmux server: a local socket, or a route to another host."""
