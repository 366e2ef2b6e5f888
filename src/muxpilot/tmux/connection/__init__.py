"""The connection to a tmux server: control-mode protocol, client, hub session and reply safety."""
