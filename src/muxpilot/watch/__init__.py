"""Waiting until something happens in a pane, told on the event."""
