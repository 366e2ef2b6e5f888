"""Processes and terminals: /proc, termios, ps and stty, and what a foreground program waits for."""
