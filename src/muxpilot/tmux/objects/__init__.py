"""Sessions, windows, panes, buffers and clients of a tmux server, and the actions on them."""
